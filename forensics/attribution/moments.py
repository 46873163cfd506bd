"""When a request may have taken pages: one moment where that was logged, a span where it was not.

Decode logs when it took pages. Where it did not, or where that is against another time of the
same request, nobody knows which of its times is right: it may have been at any moment from
the first of them to the last, and as much before and after as a clock of another hop may be off
(:mod:`forensics.attribution.hopclocks`). A request of which no log has a time may have run at any
time.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from forensics.attribution import places
from forensics.attribution.holds import BETWEEN, STEPS
from forensics.boots import BEGINNING, END

SECOND, MILLISECOND = STEPS
OTHER_CLOCK = SECOND
"""Microseconds by which a stamp of another clock may be off beside what was measured."""
_SLACK = 2 * OTHER_CLOCK
"""Stamps of two clocks, one of them in whole seconds, may be so far apart."""
_UP = sorted((*STEPS, *(step for step in BETWEEN if step < SECOND)))
_MANY = 20
"""Requests whose single times are no chance where all are whole in a step."""
TIMES = ("reserved_at", "handed_off_at", "received_at", "released_at", "finished_at")


def first(columns: Collection[str], side: str = "decode") -> pl.Expr:
    """Return the first moment at which a request may have taken pages of one side.

    Args:
        columns: of the frame; times that are not among them are not known.
        side: ``decode`` or ``prefill``.
    """
    earliest = pl.min_horizontal(_known(columns, side)) - _off(columns, f"{side}_behind")
    earliest = earliest.fill_null(BEGINNING)
    return pl.when(sure(columns, side)).then("reserved_at").otherwise(earliest).cast(pl.Int64)


def last(columns: Collection[str], side: str = "decode") -> pl.Expr:
    """Return the last moment at which a request may have taken pages; see :func:`first`."""
    known, own = _known(columns, side), _own(columns)
    latest = pl.max_horizontal(known) + _off(columns, f"{side}_ahead")
    latest = (latest + _beyond(known, _apart(known))).fill_null(END)
    both = own[-1].is_not_null() if len(own) > 1 else pl.lit(value=False)
    logged = own[0] + _beyond(own, both) if own else pl.lit(None)
    return pl.when(sure(columns, side)).then(logged).otherwise(latest).cast(pl.Int64)


def _own(columns: Collection[str]) -> list[pl.Expr]:
    """Return the stamps of a hold by the rank itself, if it has any."""
    names = [name for name in ("reserved_at", "released_at") if name in columns]
    return [pl.col(name) for name in names] if "reserved_at" in columns else []


def _apart(times: list[pl.Expr]) -> pl.Expr:
    """Say where two times are known: an equal one may be the same."""
    return (pl.max_horizontal(times) > pl.min_horizontal(times)).fill_null(value=False)


def _beyond(times: list[pl.Expr], several: pl.Expr) -> pl.Expr:
    """Return by how much more than a second stamps may be rounded down.

    ``several`` stamps of one request that are all whole in a coarser step are no chance, nor is a
    single one where those of all requests are.
    """
    known = pl.any_horizontal(time.is_not_null() for time in times)
    found = pl.lit(0, dtype=pl.Int64)
    for step in sorted(step for step in BETWEEN if step > SECOND):
        whole = pl.all_horizontal((time % step == 0).fill_null(value=True) for time in times)
        every = whole.all() & (known.sum() >= _MANY)
        found = pl.when(whole & (several | every)).then(step - SECOND).otherwise(found)
    return found


def sure(columns: Collection[str], side: str = "decode") -> pl.Expr:
    """Say where the moment was logged by the rank, and no other time of the request is against it.

    A time that only another hop logged is by its clock; several of one hop are of several tries.
    """
    if side != "decode" or "reserved_at" not in columns:
        return pl.lit(value=False)
    taken = pl.col("reserved_at")
    against = [taken < pl.col(name) - _SLACK for name in ("received_at",) if name in columns]
    against += [taken > pl.col(name) for name in ("released_at",) if name in columns]
    against += [taken > pl.col(name) + _SLACK for name in ("finished_at",) if name in columns]
    against.append(hold_unsure(columns))
    wrong = pl.any_horizontal(value.fill_null(value=False) for value in against)
    return taken.is_not_null() & ~wrong


def _off(columns: Collection[str], measured: str) -> pl.Expr:
    """Return by how much the clock of another hop may be off, microseconds."""
    off = pl.lit(OTHER_CLOCK, dtype=pl.Int64)
    return off + pl.col(measured) if measured in columns else off


def until(name: str) -> pl.Expr:
    """Return the last stamp that may still be of a moment before a read, of :func:`last`.

    Args:
        name: column of the read's own stamp, beside ``own_clock``: see :func:`sure`.
    """
    own = pl.col("own_clock")
    return pl.col(name) + pl.when(own).then(coarse(name)).otherwise(SECOND) - 1


def coarse(name: str) -> pl.Expr:
    """Return how coarse each stamp is by itself, microseconds: the largest step that it is of."""
    found = pl.lit(1, dtype=pl.Int64)
    for step in _UP:
        found = pl.when(pl.col(name) % step == 0).then(step).otherwise(found)
    return found


def hold_unsure(columns: Collection[str]) -> pl.Expr:
    """Say of which requests the rank did not log once when they took pages and gave them back."""
    unsure = pl.col("hold_unsure") if "hold_unsure" in columns else pl.lit(value=False)
    return unsure | places.several(columns)


def timeless(columns: Collection[str], side: str = "decode") -> pl.Expr:
    """Say where no log has any time of a request."""
    return pl.all_horizontal(time.is_null() for time in _known(columns, side))


def _known(columns: Collection[str], side: str) -> list[pl.Expr]:
    """Return the times that bound the moment: prefill does not know when decode took pages."""
    names = TIMES if side == "decode" else ("handed_off_at", "received_at", "finished_at")
    never = pl.lit(None, dtype=pl.Int64)
    return [never, *(pl.col(name) for name in names if name in columns)]
