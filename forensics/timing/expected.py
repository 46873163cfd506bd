"""What times are expected of each node, how wide, and how far each request is from it.

Made in passes over parts of the rows, of which only counts are kept: what comes out is the same
however the rows are split. A whole table is one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.timing import baseline, sketch, spread
from forensics.timing.bins import bin_of
from forensics.timing.fit import Array
from forensics.timing.spread import FACTOR, OCTAVES
from forensics.timing.work import GROUP, POOL, groups_of

Parts = Callable[[], Iterable[pl.DataFrame]]
_CURVE = ("fixed", "token", "pair")
_PER_OCTAVE = 0.25
"""How much wider the expectation is for each octave beyond the lengths that were seen."""
_UNSEEN = 20.0
"""Octaves beyond what was seen, where nothing was."""


@dataclass(frozen=True)
class Expectation:
    """``curves`` of each node; and by node and octave of work ``limits``.

    These are the widths ``low`` and ``high`` in natural logarithms, the ``longest`` prompt seen,
    and the ``fastest`` rate to be held against, in tokens a millisecond.
    """

    curves: pl.DataFrame
    limits: pl.DataFrame


def expectation(parts: Parts) -> Expectation:
    """Return what is expected of rows with known work.

    Args:
        parts: called once for each pass; parts of :func:`forensics.timing.work.timed`.
    """
    curves = baseline.curves(sketch.merge([sketch.sketch(part) for part in parts()]))
    counts = spread.merge([spread.residuals(expected(part, curves)) for part in parts()])
    return Expectation(curves, _limits(counts, curves))


def expected(rows: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    """Add ``expected`` milliseconds; rows without a curve are left out."""
    own = groups_of(rows).join(curves, on=GROUP, how="left", nulls_equal=True)
    group = rows["group"].to_numpy()
    fixed, token, pair = (_at(own, name, group) for name in _CURVE)
    work, cached = (rows[name].cast(pl.Float64).to_numpy() for name in ("uncached", "cached"))
    ms = fixed + token * work + pair * work * (cached + work / 2)
    found = rows.with_columns(expected=pl.Series(ms, dtype=pl.Float64).round_sig_figs(6))
    return found.filter(pl.col("expected") > 0)


def _at(own: pl.DataFrame, name: str, group: Array) -> Array:
    """Return each row's part of its group's curve, 0 where there is none."""
    places = own["group"].to_numpy()
    by_group = np.zeros(int(places.max(initial=0)) + 1)
    by_group[places] = own[name].fill_null(0.0).to_numpy()
    found: Array = by_group[group]
    return found


def _limits(counts: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    groups = counts.select(*GROUP, "octave").unique()
    tables = (
        (spread.of_pools(counts), POOL),
        (spread.of_groups(counts), GROUP),
        (spread.of_octaves(counts), (*POOL, "octave")),
        (curves.select(*GROUP, "token"), GROUP),
    )
    for table, key in tables:
        groups = groups.join(table, on=key, how="left", nulls_equal=True)
    off = pl.col("off").fill_null(0.0)
    seen = pl.coalesce("node_rate", "pool_rate", 0.0)
    return groups.select(
        *GROUP,
        "octave",
        "longest",
        low=pl.coalesce("octave_low", "pool_low") + off,
        high=pl.coalesce("octave_high", "pool_high") + off,
        # The curve's own pace far out: a node that saw short prompts only saw no such rate.
        fastest=pl.max_horizontal(seen, pl.when(pl.col("token") > 0).then(1 / pl.col("token"))),
    )


def tests(rows: pl.DataFrame, model: Expectation) -> pl.DataFrame:
    """Return rows with ``expected``, widths, and how many widths off they are to both sides.

    ``fast_z`` and ``slow_z`` are these; ``low`` and ``high`` are the widths, which are wider
    where no such length was seen. ``beyond`` says that the time is by the factor faster than
    expected, and than any rate seen.

    Times of short prompts are wide upwards, since they wait for their batch: they say nothing
    of long ones, so each length has a width of its own.
    """
    known = expected(rows, model.curves)
    table = groups_of(known).join(model.limits, on=GROUP, nulls_equal=True)
    table = table.select(pl.all().exclude(GROUP), at=_place("group", pl.col("octave"))).sort("at")
    place = known.select(_place("group", bin_of(pl.col("uncached"), 0))).to_series().to_numpy()
    row = np.searchsorted(table["at"].to_numpy(), place)
    low, high, longest, fastest = (
        table[name].cast(pl.Float64).to_numpy()[row]
        for name in ("low", "high", "longest", "fastest")
    )
    work, ms = (known[name].cast(pl.Float64).to_numpy() for name in ("uncached", "ms"))
    reach = _beyond(work, longest)
    low, high = np.sqrt(low**2 + reach), np.sqrt(high**2 + reach)
    curve = known["expected"].to_numpy()
    off = np.log(ms / curve)
    beyond = (ms * FACTOR < curve) & (work > FACTOR * fastest * ms)
    columns = {"low": low, "high": high, "fast_z": -off / low, "slow_z": off / high}
    return known.with_columns(
        **{name: pl.Series(values) for name, values in columns.items()}, beyond=pl.Series(beyond)
    )


def _place(group: str, octave: pl.Expr) -> pl.Expr:
    return pl.col(group).cast(pl.Int64) * OCTAVES + octave


def _beyond(work: Array, longest: Array) -> Array:
    """Return the square of what is added for lengths that were not seen."""
    octaves = np.log2(work / np.where(longest > 0, longest, np.nan)).clip(min=0)
    found: Array = (_PER_OCTAVE * np.where(np.isnan(octaves), _UNSEEN, octaves)) ** 2
    return found
