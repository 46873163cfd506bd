"""The manifest: facts of one run, hashes of what went in and came out."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import msgspec

from forensics._version import __version__
from forensics.analysis import Analysis
from forensics.exposure import Exposure
from forensics.sources.reading import FileFacts

DEPENDENCIES = ("polars", "pyarrow", "msgspec", "zstandard", "jinja2", "plotly", "click")


@dataclass
class Run:
    """When and how a run was made: arguments with their defaults, and seconds per stage."""

    arguments: dict[str, Any] = field(default_factory=dict)
    started_at: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


def manifest(
    analysis: Analysis, exposure: Exposure, outputs: Mapping[str, bytes], run: Run
) -> bytes:
    """Return the manifest as JSON."""
    document = {
        "tool": {"name": "forensics", "version": __version__},
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "dependencies": {name: metadata.version(name) for name in DEPENDENCIES},
        "started_at": run.started_at,
        "seconds": {stage: round(spent, 3) for stage, spent in run.seconds.items()},
        "arguments": run.arguments,
        "incident": msgspec.to_builtins(analysis.incident),
        "inputs": [_input(facts, analysis) for facts in analysis.files],
        "counts": [msgspec.to_builtins(count) for count in exposure.read],
        "clock_offsets_us": dict(sorted(analysis.clocks.offsets.items())),
        "outputs": [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in sorted(outputs.items())
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _input(facts: FileFacts, analysis: Analysis) -> dict[str, Any]:
    duplicate = analysis.duplicates.get(facts.number, 0)
    probes = analysis.probes.get(facts.number, 0)
    ignored = facts.ignored + Counter({"probe or warm-up": probes})
    return {
        "name": facts.name,
        "bytes": facts.size,
        "sha256": facts.sha256,
        "format": facts.format,
        "detected_by": facts.detected_by,
        "node": facts.node,
        "read": facts.read,
        "kept": facts.kept - duplicate - probes,
        "ignored": dict(sorted(ignored.items())),
        "duplicate": duplicate,
        "unreadable": len(facts.unread),
        "bad_values": dict(sorted(facts.bad_values.items())),
    }
