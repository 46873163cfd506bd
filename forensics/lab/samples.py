"""Samples by name: each is one seeded run with its logs, incident file and truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from forensics.lab.casefile import incident_toml
from forensics.lab.clock import micros
from forensics.lab.dirtyfiles import write_dirty
from forensics.lab.plain import write_plain
from forensics.lab.presets import incident
from forensics.lab.records import LabRun
from forensics.lab.simulation import simulate
from forensics.lab.slots import write_slots
from forensics.lab.truth import write_truth

_DETECTED = micros("2026-09-09T09:00:00Z")
_CASE_ID = "INC-2026-0827"
_TITLE = "GLM-5.3 responses over the prefill pool"
_DIRTY_REQUESTS = 6_500


def _glm53(out: Path) -> None:
    """The incident as a complete set of clean logs."""
    run = simulate(incident())
    write_plain(run, out)
    _write_case(run, out, zone="UTC")


def _glm53_dirty(out: Path) -> None:
    """The same long prompts with less background, in logs as one really gets them.

    No log zone is stated, so plain records with a naive time cannot be read.
    """
    run = simulate(incident(requests=_DIRTY_REQUESTS))
    write_dirty(run, out, run.config.seed)
    _write_case(run, out, zone=None)


def _write_case(run: LabRun, out: Path, zone: str | None) -> None:
    write_truth(run, out)
    text = incident_toml(run, _CASE_ID, _TITLE, _DETECTED, zone)
    (out / "incident.toml").write_text(text, encoding="utf-8", newline="\n")


SAMPLES: Mapping[str, Callable[[Path], None]] = MappingProxyType(
    {"glm53": _glm53, "glm53-dirty": _glm53_dirty, "session-slots": write_slots}
)
"""Every sample by name, as a function that writes it into a folder."""


def write_sample(name: str, out: Path) -> None:
    """Write the sample `name` into `out`; KeyError when there is no such sample."""
    writer = SAMPLES[name]
    out.mkdir(parents=True, exist_ok=True)
    writer(out)
