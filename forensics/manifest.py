"""The manifest: facts of one run, hashes of what went in and came out."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from forensics._version import __version__
from forensics.build import build
from forensics.evidence.hashes import digest
from forensics.incident import Incident, profile_files
from forensics.objects import place_from
from forensics.sources.evidence_set import Stored
from forensics.sources.files import STDIN, as_shown
from forensics.sources.overlap import LeftOut
from forensics.sources.reading import FileFacts

if TYPE_CHECKING:  # whoever makes a set has no use for the analysis, a process of its pool least
    from forensics.analysis import Analysis
    from forensics.exposure import Exposure

DEPENDENCIES = ("polars", "pyarrow", "msgspec", "zstandard", "jinja2", "plotly", "click", "pyyaml")


@dataclass
class Run:
    """When and how a run was made: arguments with their defaults, and seconds per stage."""

    arguments: dict[str, Any] = field(default_factory=dict)
    started_at: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    incident_file: dict[str, Any] | None = None
    verdicts_file: dict[str, Any] | None = None
    held: dict[int, Stored] = field(default_factory=dict)
    """Inputs that an evidence set holds, by their number."""
    left_out: list[LeftOut] = field(default_factory=list)


def arguments(
    logs: Iterable[str | os.PathLike[str]],
    incident: Incident | str | Path | None,
    format_name: str | None,
    workers: int | None,
) -> dict[str, Any]:
    """Return what a reading was asked to do: enough to ask for it again from anywhere."""
    return {
        "logs": [as_shown(os.fspath(log)) for log in logs],
        "incident": as_shown(str(incident)) if isinstance(incident, str | Path) else None,
        "format": format_name,
        "workers": workers,
        "cwd": as_shown(str(Path.cwd())),
    }


def incident_file(incident: Incident | str | Path | None) -> dict[str, Any] | None:
    """Return name, place and hash of the incident file and of the profiles that it names."""
    if incident is None or isinstance(incident, Incident):
        return None
    path = Path(incident)
    profiles = [_own_file(str(item), item) for item in profile_files(path)]
    return {**_own_file(str(incident), path), "profiles": profiles}


def own_file(path: str | Path) -> dict[str, Any]:
    """Return name, place and hash of a file that was given beside the logs."""
    return _own_file(str(path), Path(path))


def _own_file(name: str, path: Path) -> dict[str, Any]:
    facts = msgspec.to_builtins(digest(path))
    return {"name": as_shown(name), "path": as_shown(str(path.resolve())), **facts}


def manifest(analysis: Analysis, exposure: Exposure, run: Run) -> dict[str, Any]:
    """Return the manifest of a report, without its outputs."""
    return {
        "kind": "report",
        **made_by(),
        "started_at": run.started_at,
        "seconds": {stage: round(spent, 3) for stage, spent in run.seconds.items()},
        "arguments": run.arguments,
        "incident": msgspec.to_builtins(analysis.incident),
        "incident_file": run.incident_file,
        "verdicts_file": run.verdicts_file,
        "inputs": [_input(facts, analysis) | _place(facts, run) for facts in analysis.files],
        "left_out": [asdict(item) for item in run.left_out],
        "counts": [msgspec.to_builtins(count) for count in exposure.read],
        "clock_offsets_us": dict(sorted(analysis.clocks.offsets.items())),
        "clock_pairs": analysis.clock_pairs.to_dicts(),
    }


def made_by() -> dict[str, Any]:
    """Return what made a folder: the tool, the interpreter, the packages it works with."""
    return {
        "tool": {"name": "forensics", "version": __version__, "build": build()},
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "dependencies": {name: _version(name) for name in DEPENDENCIES},
    }


@cache
def _version(name: str) -> str:
    """Return the version of a package, which is looked for on disk."""
    return metadata.version(name)


def _place(facts: FileFacts, run: Run) -> dict[str, Any]:
    """Return where an input was read: its path, or the evidence set that holds it."""
    stored = run.held.get(facts.number)
    if stored is not None:
        return {
            "path": None,
            "evidence_set": as_shown(str(stored.folder.resolve())),
            "key": stored.key,
        }
    if facts.name == STDIN:
        return {"path": None}
    return {"path": as_shown(str(place_from(run.arguments.get("cwd", ""), facts.name).resolve()))}


def _input(facts: FileFacts, analysis: Analysis) -> dict[str, Any]:
    """Return an input: its hash, and where each of its records went."""
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
