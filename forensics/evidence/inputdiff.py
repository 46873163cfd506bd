"""Inputs of one report as another has them: the same, changed, or not among its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from forensics.evidence.documentdiff import Change
from forensics.evidence.record import Record, Source
from forensics.wording import count

State = Literal["same", "changed", "gone"]


class Elsewhere:
    """Looks inputs of one report up among those of another: by their bytes, then by name."""

    def __init__(self, other: Record) -> None:
        self._digests = {source.digest for source in other.inputs if source.sha256}
        self._names = {source.name for source in other.inputs}

    def state(self, source: Source) -> State:
        """Say what became of an input; a renamed or moved file is the same."""
        if source.digest in self._digests:
            return "same"
        return "changed" if source.name in self._names else "gone"


def states(record: Record, other: Record) -> dict[str, State]:
    """Return what became of each input of a report in another one, by name."""
    elsewhere = Elsewhere(other)
    return {source.name: elsewhere.state(source) for source in record.inputs}


def input_changes(old: Record, new: Record) -> Iterator[Change]:
    """Yield inputs that were added, removed or changed, with their records read."""
    before = {source.name: source for source in old.inputs}
    after = {source.name: source for source in new.inputs}
    for name, state in sorted(states(old, new).items()):
        if state == "gone":
            yield Change("input", "removed", name, _read(before[name]), None)
        elif state == "changed":
            yield Change("input", "changed", name, _read(before[name]), _read(after[name]))
    for name, state in sorted(states(new, old).items()):
        if state == "gone":
            yield Change("input", "added", name, None, _read(after[name]))


def _read(source: Source) -> str:
    return "not read" if source.format is None else count(source.read or 0, "record")
