"""Recompute every hash and count of a folder, and name what does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from forensics.errors import Exit
from forensics.evidence import counts, files, inputs
from forensics.evidence.faults import Fault
from forensics.evidence.folder import opened
from forensics.evidence.inputs import Located
from forensics.wording import count


class Verification(Struct, frozen=True):
    """What was checked, what does not hold, and what cannot be checked."""

    folder: str
    kind: str | None
    files: int
    inputs: int
    counts: int
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
        if self.mismatches:
            return f"{self.folder}: {count(len(self.mismatches), 'fault')} in {done}"
        rest = f"; {count(len(self.unchecked), 'input')} not checked" if self.unchecked else ""
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
    found = inputs.locate(sealed.record.given if sealed.record is not None else [], logs)
    counted = counts.check(sealed)
    return Verification(
        folder=str(folder),
        kind=sealed.record.kind if sealed.record is not None else None,
        files=len(sealed.files),
        inputs=sum(item.state in ("same", "changed") for item in found),
        counts=len(counted),
        mismatches=[
            *files.check(sealed),
            *_changed(found),
            *(found for found in counted if not found.holds),
        ],
        unchecked=[
            Fault(item.source.name, f"cannot be checked: {item.what}")
            for item in found
            if item.state in ("gone", "no hash")
        ],
    )


def _changed(found: list[Located]) -> list[Fault]:
    return [Fault(item.source.name, item.what) for item in found if item.state == "changed"]
