"""Hand-offs that identifiers alone do not settle: held against each other by size and time.

A client's record without an engine's may be of an engine's request without a client's: where
there are both, all of these are looked at together. So are a rejection that names nobody and the
hand-off that it may be of; and all hand-offs, where a caller's span has no id but its trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forensics import joins
from forensics.folding.held import CALL, KINDS, NUMBERED, OWN, Held, numbered
from forensics.folding.linked import Linked
from forensics.joins import Around, unsettled
from forensics.spill import spill


@dataclass(frozen=True)
class Opened:
    """What was settled together.

    Of ``kinds`` all hand-offs are, of others those of ``apart``, by key. ``held`` has the records
    as they are then, ``aside``, ``beside`` and ``unsettled`` are of
    :class:`forensics.joins.Paired`, ``left`` of :func:`forensics.joins.remnants`, of all hand-offs.
    ``earlier`` says that some record speaks for several hand-offs.
    """

    kinds: frozenset[str]
    apart: pl.Series
    held: tuple[Held, ...]
    aside: pl.DataFrame
    beside: pl.DataFrame
    unsettled: pl.DataFrame
    left: pl.DataFrame
    earlier: bool


def opened(linked: Sequence[Linked], numbers: pl.DataFrame, folder: Path) -> Opened:
    """Settle what identifiers do not.

    Args:
        linked: of all buckets.
        numbers: ``handoff`` and ``number`` of all hand-offs.
        folder: the private folder of the run.
    """
    kinds = _kinds(linked)
    moved = joins.by_size(*(_sized(linked, name) for name in ("refused", "served")))
    apart = pl.concat([moved["refused"], moved["to"].rename("refused")]).unique()
    rows = list(_rows(linked, kinds, apart))
    earlier = any(one.earlier for one in linked)
    left = _left([one.remnants for one in linked if OWN not in kinds], numbers)
    decode = any(one.decode for one in linked)
    if not rows:
        nothing = pl.DataFrame(schema={"handoff": pl.UInt32, "hop": pl.String})
        left = left if decode else left.clear()
        return Opened(kinds, apart, (), nothing, nothing, unsettled.nothing(), left, earlier)
    joined = numbered(joins.moved_by_size(pl.concat(rows, how="diagonal_relaxed"), moved), numbers)
    models = frozenset().union(*(one.models for one in linked))
    around = Around(decode, models, tuple(one.apart for one in linked))
    paired = joins.pair_gateway(joined, around)
    left = pl.concat([left, joins.remnants(paired.joined)]).sort("at", "handoff")
    path = folder / "opened.parquet"
    spill(path, paired.joined, NUMBERED)
    return Opened(
        kinds=kinds,
        apart=apart,
        held=(Held((path,), None),),
        aside=paired.aside,
        beside=paired.beside,
        unsettled=paired.unsettled,
        left=left if decode else left.clear(),
        earlier=earlier or bool(paired.joined["earlier"].any()),
    )


def _kinds(linked: Sequence[Linked]) -> frozenset[str]:
    """Return the kinds of hand-offs that are looked at together."""
    if any(one.callers for one in linked):
        return frozenset(KINDS)
    here = {kind for one in linked for kind in one.files}
    return frozenset((CALL, OWN)) if {CALL, OWN} <= here else frozenset()


def _sized(linked: Sequence[Linked], name: str) -> pl.DataFrame:
    return pl.concat([one.sized[name] for one in linked])


def _rows(
    linked: Sequence[Linked], kinds: frozenset[str], apart: pl.Series
) -> Iterator[pl.DataFrame]:
    for one in linked:
        for kind, path in one.files.items():
            if kind in kinds:
                yield pl.read_parquet(path)
            elif apart.len():
                rows = pl.read_parquet(path)
                yield rows.filter(pl.col("handoff").is_in(apart.implode()))


def _left(found: Sequence[pl.DataFrame], numbers: pl.DataFrame) -> pl.DataFrame:
    """Return remnants with the numbers of their hand-offs."""
    schema = {"handoff": pl.String, "at": pl.Int64, "size": pl.Int64}
    rows = pl.concat([pl.DataFrame(schema=schema), *found]).join(numbers, on="handoff")
    return (
        rows.select("at", "size", handoff="number")
        .select("handoff", "at", "size")
        .sort("at", "handoff")
    )
