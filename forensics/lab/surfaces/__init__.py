"""The same run as different fleets would have logged it: one surface a file, each side its own.

Every node also writes what SGLang writes by default (start-up, batches, access, rejections,
state warnings). A surface is what was switched on besides; ``default`` is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from forensics.lab.plain import encode
from forensics.lab.plainrows import gateway_row
from forensics.lab.records import LabRun, NodeHistory
from forensics.lab.surfaces.default import default_log
from forensics.lab.surfaces.exporter import exporter_files
from forensics.lab.surfaces.request_log import json_log, text_log
from forensics.lab.surfaces.spans import span_file
from forensics.lab.surfaces.time_stats import STYLES, stats_log

Files = Mapping[str, bytes]
"""Path below the logs' folder to content."""
Surface = Callable[[LabRun, NodeHistory], Files]

SURFACES: Mapping[str, Surface] = MappingProxyType(
    {
        "default": default_log,
        **{f"time-stats-{style}": stats_log(style) for style in STYLES},
        "request-log-json": json_log,
        "request-log-text": text_log,
        "exporter": exporter_files,
        "spans": span_file,
    }
)
"""Every surface by name: what one node leaves behind with it."""


def write_fleet(run: LabRun, out: Path, prefill: str, decode: str, *, gateway: bool = True) -> None:
    """Write the logs of a fleet whose sides have the named surfaces into ``out``.

    Args:
        run: the run to write.
        out: folder of the logs.
        prefill: surface of the prefill nodes; KeyError where there is none of that name.
        decode: surface of the decode nodes.
        gateway: write the gateway's records too, which alone name the tenants.
    """
    surfaces = {"prefill": SURFACES[prefill], "decode": SURFACES[decode]}
    files: dict[str, bytes] = {}
    for node in run.nodes:
        files |= surfaces[node.role](run, node)
    if gateway:
        rows = [gateway_row(entry, run.config.model) for entry in run.gateway]
        files["gateway.ndjson"] = encode(rows)
    for name, content in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
