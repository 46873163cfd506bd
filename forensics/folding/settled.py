"""Hand-offs whose records are known: one row of each, and what later stages ask of the records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import arrivals, failures, fields, guard, joins, requests, schema, skew
from forensics.attribution import hopclocks, places
from forensics.fields import Field
from forensics.folding.held import NUMBERED, Held
from forensics.folding.slim import slim
from forensics.joins.attempts import answered, on_one_clock
from forensics.sources.reading import Progress, nothing
from forensics.spill import spill

_TIMES = ("handed_off_at", arrivals.EARLIEST)
_COUNTS = ("completion_seen", requests.LONGEST_SAID.name)
_FLAGS = (
    failures.NAME,
    "inferred",
    "tenant_inferred",
    "assumed",
    "tenants_differ",
    "models_differ",
)
_DOUBTS = ("sizes_differ", "delivery_disputed", schema.TIMED_LATE, arrivals.BEFORE_LOGGED)
_LOGGED = [fields.of(column) for column in (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS)]
ROWS = guard.table(
    "rows of requests",
    [one for one in _LOGGED if one.name not in _DOUBTS],
    Field("handoff", pl.UInt32()),
    fields.text("disagreement", fields.column),
    fields.count(*_TIMES, *_COUNTS),
    fields.flag(*_FLAGS, *_DOUBTS),
)


@dataclass(frozen=True)
class Settled:
    """Records of some hand-offs, and what all records told.

    ``clocks`` says how far clocks are apart where a client's answer is for several hand-offs, None
    where that is of no matter; ``left`` are hand-offs that prefill alone logged, of
    :func:`forensics.joins.remnants`. With ``named``, records keep their ids.
    """

    number: int
    held: Held
    clocks: pl.DataFrame | None
    left: pl.DataFrame
    named: bool
    folder: Path

    @property
    def name(self) -> str:
        """What an error calls it."""
        return "records of requests"

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.stat().st_size for file in self.held.files)


@dataclass(frozen=True)
class Folded:
    """Files of the rows and of the records, and what is still to be put together.

    ``within`` are the hand-offs of ``left`` that a client's record of these may be of; ``others``
    of :func:`forensics.attribution.places.others`, ``unsure`` of
    :func:`forensics.attribution.hopclocks.unsure`; ``times`` and ``apart`` of
    :func:`forensics.joins.attempts.on_one_clock` and :func:`forensics.skew.apart`, where clocks
    are off.
    """

    rows: Path
    records: Path
    within: pl.Series
    others: pl.DataFrame
    unsure: pl.Series
    times: pl.DataFrame | None
    apart: pl.DataFrame | None


def settle(settled: Settled, progress: Progress = nothing) -> Folded:
    """Return the rows of some hand-offs."""
    joined = settled.held.read()
    if "attached" not in joined.columns:
        nobody = pl.lit(value=False)
        joined = joined.with_columns(attached=nobody, agreed=nobody)
    within = joins.within(joined, settled.left)
    times = None if settled.clocks is None else on_one_clock(joined, settled.clocks)
    joined = joins.untold(answered(joined, times), settled.left)
    rows = requests.folded(joined)
    own, records = (
        settled.folder / f"{name}-{settled.number:06d}.parquet" for name in ("rows", "records")
    )
    spill(own, rows, ROWS)
    spill(records, slim(joined, named=settled.named), NUMBERED)
    progress(0, rows.height)
    return Folded(
        rows=own,
        records=records,
        within=within,
        others=places.others(rows, joined),
        unsure=hopclocks.unsure(joined),
        times=times,
        apart=None if times is None else skew.apart(joined),
    )
