"""Request logs: JSON at level 1, and the text form at level 2, which holds content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from forensics.lab.clock import HOUR, Micros
from forensics.lab.records import Handoff, LabRun, NodeHistory
from forensics.lab.surfaces.answers import CANARY, Record, meta_info, parameters
from forensics.lab.surfaces.default import answered, default_lines, log_bytes


def json_log(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
    """Return the node's log with JSON request records among its lines."""
    lines = list(default_lines(run, node))
    for at, handoff in answered(run, node):
        lines.append((at, "", json.dumps(_record(run, node, at, handoff))))
    return {f"{node.name}.log": log_bytes(run, lines)}


def _record(run: LabRun, node: NodeHistory, at: Micros, handoff: Handoff) -> Record:
    asked = parameters(handoff, node.role, content=False)
    meta = meta_info(handoff, node.role) | {"output_token_logprobs": [[-0.1, 9, f"{CANARY} tok"]]}
    return {
        "timestamp": _local(at, run.config.zone_offset_hours),
        "event": "request.finished",
        "rid": asked["rid"],
        "obj": asked,
        "headers": {"x-smg-routing-key": asked["routing_key"]},
        "out": {"meta_info": meta},
    }


def _local(at: Micros, offset_hours: float) -> str:
    """Return naive local time as the engine's isoformat() writes it."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at + offset_hours * HOUR)
    return moment.replace(tzinfo=None).isoformat()


def text_log(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
    """Return the node's log with requests in the form of a Python repr."""
    lines = list(default_lines(run, node))
    for at, handoff in answered(run, node):
        asked = parameters(handoff, node.role, content=True)
        fields = ", ".join(f"{name}={value!r}" for name, value in asked.items())
        out: Record = {
            "text": f"{CANARY} said 'prompt_tokens': 3",
            "output_ids": [0],
            "meta_info": meta_info(handoff, node.role),
        }
        lines.append((at, "", f"Finish: obj=GenerateReqInput({fields}), out={out!r}"))
    return {f"{node.name}.log": log_bytes(run, lines)}
