"""Which findings were told: a finding is known by the records behind it.

What a request is called, whose it was and when it came may be learnt from a record that comes
later: by those it would be told twice. A finding of the same tier that rests on a record of
one that was told is that one. Several requests may share a record, as tries do a gateway's:
then one of them is the one that was told.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from forensics.live.watch.state import Told

Record = tuple[int, int]
"""Generation and line."""


@dataclass(frozen=True)
class Finding:
    """A judged request as it is told, and the records behind it."""

    told: dict[str, Any]
    records: tuple[Record, ...]

    @property
    def id(self) -> str:
        """What it is told under."""
        return str(self.told["finding_id"])

    @property
    def tier(self) -> str:
        """How sure it is."""
        return str(self.told["tier"])

    @property
    def entry(self) -> Told:
        """What is kept of it."""
        return Told(self.id, self.tier, list(self.records))

    def apart(self) -> Finding:
        """Return it under another id: its own is that of one beside it."""
        digest = told_id([self.id, *map(list, self.records)])
        return replace(self, told=self.told | {"finding_id": digest})


def told_id(identity: list[Any]) -> str:
    """Return what something is told under, by what it is."""
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


class Known:
    """The findings that were told.

    Args:
        told: those of earlier runs.
        ids: further ones, of which only the id is known.
    """

    def __init__(self, told: Iterable[Told], ids: Iterable[str]) -> None:
        self._told: dict[str, Told] = {}
        self._by: dict[tuple[str, Record], str] = {}
        self._ids = set(ids)
        for one in told:
            self.add(one)

    @property
    def told(self) -> list[Told]:
        """What is kept of each, in the order in which they were told."""
        return list(self._told.values())

    def is_told(self, name: str) -> bool:
        """Say whether something was told under an id."""
        return name in self._ids

    def add(self, one: Told) -> None:
        """Take one for told."""
        records = self._told[one.id].records if one.id in self._told else []
        both = sorted({*records, *one.records})
        self._told[one.id] = Told(one.id, one.tier, both)
        self._ids.add(one.id)
        for record in both:
            self._by.setdefault((one.tier, record), one.id)

    def new(self, found: list[Finding]) -> list[Finding]:
        """Return those of which no record was told of, and remember more records of the others.

        Of some the id may be known all the same (:meth:`is_told`): a run told them of which
        nothing else is remembered.
        """
        times = Counter(record for one in found for record in one.records)
        taken: set[str] = set()
        left = found
        for own in (True, False):  # what is another's as well decides last
            left = [one for one in left if not self._was_told(one, taken, times, own=own)]
        apart = [one.apart() if one.id in taken else one for one in left]
        return [one for one in apart if one.id not in self._told]

    def _was_told(
        self, one: Finding, taken: set[str], times: Counter[Record], *, own: bool
    ) -> bool:
        records = [record for record in one.records if not own or times[record] == 1]
        ids = {self._by.get((one.tier, record)) for record in records} - taken - {None}
        if not ids:
            return False
        known = min(str(name) for name in ids)
        taken.add(known)
        if not {*one.records} <= {*self._told[known].records}:
            self.add(Told(known, one.tier, list(one.records)))
        return True
