"""Judging what has come to rest: when it is due, and of which records."""

from __future__ import annotations

import time
from math import inf
from pathlib import Path

import polars as pl

from forensics.analysis import analyse
from forensics.incident import Incident
from forensics.live.watch.known import Finding, Record
from forensics.live.watch.ring import Ring
from forensics.live.watch.signs import IDS
from forensics.live.watch.told import findings
from forensics.schema import AFFECTED_TIERS

_REST = 2.0
"""How many times as long as the last judging took nothing is judged."""


class Judge:
    """Judges the requests of a ring.

    Args:
        ring: what was read of late.
        incident: what is asked.
        folder: private, for rows.
        settle: seconds without a further record after which a request is at rest.
    """

    def __init__(self, ring: Ring, incident: Incident, folder: Path, settle: float) -> None:
        self._ring, self._incident, self._folder = ring, incident, folder
        self._settle = settle
        self._moving = True
        self._from = 0.0
        self._since, self._told = -inf, 0
        self._floor: int | None = None

    def moved(self) -> None:
        """Say that something was read, so that not all is at rest."""
        self._moving = True

    def floor(self) -> int | None:
        """Return from how many tokens on a prompt may be too long for some engine.

        By the limits of the last judging: what they follow from is a report's to know.
        """
        return self._floor

    def findings(self, now: float, *, last: bool) -> list[Finding]:
        """Judge what is at rest, but leave the more time for reading the longer that takes."""
        if now < self._from and not last:
            return []
        found = self._judged(now, last=last)
        ended = time.monotonic()
        self._from = ended + _REST * (ended - now)
        return found

    def _judged(self, now: float, *, last: bool) -> list[Finding]:
        """Return judged requests of the affected tiers that no record was added to of late."""
        if not (self._moving or last):
            return []  # all is at rest, and was judged so
        told = self._ring.told()
        if told != self._told:  # a limit or a marker may be about what came long before it
            self._since, self._told = -inf, told
        self._moving = False
        found: dict[tuple[str, str, tuple[Record, ...]], Finding] = {}
        for rows in self._ring.due(self._since):
            self._moving |= bool((rows["_at"] > now - self._settle).any())
            for one in self._judge(rows, now, last=last):
                found.setdefault((one.id, one.tier, one.records), one)
        self._since = now - self._settle
        return list(found.values())

    def _judge(self, rows: pl.DataFrame, now: float, *, last: bool) -> list[Finding]:
        if not rows.height:
            return []
        reading = self._ring.reading(rows, self._folder / "due.parquet")
        analysis = analyse(reading, self._incident)
        lowest = analysis.capacity.epochs["limit_low"].min()
        if lowest is not None:
            self._floor = max(0, int(str(lowest)) - self._incident.trigger.slack_tokens)
        judged = analysis.requests.filter(pl.col("tier").is_in(AFFECTED_TIERS))
        if not last:
            moving = rows.filter(pl.col("_at") > now - self._settle)
            judged = _at_rest(judged, analysis.observations, moving)
        return findings(judged, analysis.observations)


def _at_rest(judged: pl.DataFrame, records: pl.DataFrame, moving: pl.DataFrame) -> pl.DataFrame:
    """Return the requests to which no record was added of late, by ids or by the record itself."""
    restless = pl.concat([moving[name] for name in IDS]).drop_nulls().unique().implode()
    places = moving.select("file", "line").unique()
    theirs = records.join(places, on=["file", "line"], how="semi")["handoff"].unique().implode()
    moves = [
        pl.col(name).is_in(restless).fill_null(value=False)
        for name in IDS
        if name in judged.columns
    ]
    return judged.filter(~pl.any_horizontal(*moves, pl.col("handoff").is_in(theirs)))
