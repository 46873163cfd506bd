"""The metrics exporter with request logging off: it then writes whole prompts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from forensics.lab.records import LabRun, NodeHistory
from forensics.lab.surfaces.answers import meta_info, parameters
from forensics.lab.surfaces.default import answered, default_log


def exporter_files(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
    """Return the node's log, and one file an hour in a folder of the node's name."""
    hours: dict[str, list[str]] = defaultdict(list)
    for at, handoff in answered(run, node):
        asked = json.dumps(parameters(handoff, node.role, content=True))
        record = {"request_parameters": asked, **meta_info(handoff, node.role)}
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
        hours[moment.strftime("%Y%m%d_%H")].append(json.dumps(record) + "\n")
    files = {
        f"{node.name}/sglang-request-metrics-{hour}.log": "".join(records).encode()
        for hour, records in hours.items()
    }
    return {**default_log(run, node), **files}
