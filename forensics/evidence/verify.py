"""Recompute every hash and count of a folder, and name what does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from forensics.errors import Exit
from forensics.evidence import counts, files, inputs, lineagecheck
from forensics.evidence.faults import Fault, Recheck
from forensics.evidence.folder import Sealed, opened
from forensics.evidence.inputs import Located
from forensics.evidence.lineagecheck import Lineage
from forensics.evidence.madeby import same_build
from forensics.wording import count


class Verification(Struct, frozen=True):
    """What was checked, what does not hold, and what cannot be checked."""

    folder: str
    kind: str | None
    files: int
    inputs: int
    counts: int
    packets: int
    """Of notices: packets that were searched again for what is another tenant's."""
    lineage: Lineage
    mismatches: list[Fault]
    unchecked: list[Fault]

    @property
    def exit_code(self) -> Exit:
        """The exit code of ``verify``: a mismatch beats what cannot be checked."""
        if self.mismatches:
            return Exit.MISMATCH
        return Exit.INCOMPLETE if self.unchecked else Exit.COMPLETE

    def __str__(self) -> str:
        done = f"{count(self.files, 'file')}, {count(self.inputs, 'input')}, "
        done += count(self.counts, "count")
        done += f", {count(self.packets, 'packet')} searched" if self.packets else ""
        if self.kind == "report":
            done += f", {self.lineage}"
        if self.mismatches:
            return f"{self.folder}: {count(len(self.mismatches), 'fault')} in {done}"
        rest = f"; not checked: {len(self.unchecked)}" if self.unchecked else ""
        return f"{self.folder}: holds: {done}{rest}"


def verify(folder: Path, logs: Sequence[str] = ()) -> Verification:
    """Check a folder against its manifest, its inputs and its own numbers.

    Args:
        folder: written by ``report``, ``ingest`` or ``notify``.
        logs: where inputs may lie by now, if not where they lay.

    Raises:
        NoInputError: there is no such folder, or nothing to check it by.
    """
    sealed = opened(folder)
    record = sealed.record
    found = inputs.locate(record.given if record is not None else [], logs)
    # Read from a set, a log may be gone by now; one that is there must be what the set holds.
    beside = inputs.locate(record.beside_sets if record is not None else [], logs)
    counted = counts.check(sealed)
    searched = _searched(sealed)
    misplaced, lineage = lineagecheck.check(sealed, found)
    return Verification(
        folder=str(folder),
        kind=record.kind if record is not None else None,
        files=len(sealed.files),
        inputs=sum(item.state in ("same", "changed") for item in found),
        counts=len(counted),
        packets=searched.packets,
        lineage=lineage,
        mismatches=[
            *files.check(sealed),
            *_changed([*found, *beside]),
            *misplaced,
            *searched.faults,
            *(found for found in counted if not found.holds),
        ],
        unchecked=[
            *(
                Fault(item.source.name, f"cannot be checked: {item.what}")
                for item in found
                if item.state in ("gone", "no hash")
            ),
            *_by_another_build(sealed),
            *searched.unchecked,
        ],
    )


def _searched(sealed: Sealed) -> Recheck:
    if sealed.record is None or sealed.record.kind != "notices":
        return Recheck([], 0, [])
    from forensics.notices.recheck import recheck  # it reads a report, as few folders need it

    return recheck(sealed)


def _by_another_build(sealed: Sealed) -> list[Fault]:
    """Say that renderings were not made again: another build words and draws them otherwise."""
    record = sealed.record
    if record is None or record.kind != "report" or same_build(record):
        return []
    what = "written by another build: that it is what report.json says cannot be checked here"
    return [Fault(name, what) for name in ("report.html", "report.md") if name in sealed.files]


def _changed(found: list[Located]) -> list[Fault]:
    return [Fault(item.source.name, item.what) for item in found if item.state == "changed"]
