"""Is what a replay of a rank rests on what every record of that start says?

Records of a rank and of its server stand beside each other: a start line, a snapshot that was
taken after the read, a person's note. What no engine changes while it runs, and several of them
tell otherwise, is not known: whether the one in force was, or the other, or both of two starts of
which the later was never logged.
"""

from __future__ import annotations

import polars as pl

from forensics import enginesettings
from forensics.attribution import allocators
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.running import Told
from forensics.attribution.starts import Starts
from forensics.attribution.stay import Stay
from forensics.boots import BEGINNING, END
from forensics.capacity import server_of
from forensics.inputlimit import derived

_FIXED = ("engine", "disaggregated", "role")
"""What is the same from a start to the next; of the others records tell more or less."""


def doubts(stay: Stay, home: str, epochs: pl.DataFrame, starts: Starts) -> set[str]:
    """Return the reasons why what a replay of a rank rests on is not settled.

    Args:
        stay: of the rank.
        home: the name that the rank's records stand under.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.
        starts: of all ranks.
    """
    later = [one.at for one in starts.known.get(stay.node, []) if one.at > stay.since]
    # What cannot be of the same run and was told after the read is of another.
    later += [at for at in starts.against.get(stay.node, []) if at > stay.last_read]
    rows = _of_one_start(epochs, home, stay, min(later, default=END))
    return _against(rows, home, stay.allocator)


def _of_one_start(epochs: pl.DataFrame, home: str, stay: Stay, until: int) -> pl.DataFrame:
    """Return the records of a rank and of its server from one start to the next.

    The first is the one in force as it began. What stands under another name then is of the start
    before, unless it is of always.
    """
    names = {home, stay.node, server_of(home), server_of(stay.node)}
    own = epochs.filter(pl.col("node").is_in(names)).sort("node", "effective_at")
    at = pl.col("effective_at")
    begun = own.filter(at <= stay.since + START_OFF)
    begun = begun.unique("node", keep="last", maintain_order=True)
    here = (pl.col("node") == home) | (at >= stay.since - START_OFF) | (at == BEGINNING)
    inside = own.filter((at > stay.since + START_OFF) & (at < until - START_OFF))
    return pl.concat([begun.filter(here), inside])


def _against(rows: pl.DataFrame, node: str, allocator: str | None) -> set[str]:
    found = set[str]()
    if rows["page_tokens"].drop_nulls().n_unique() > 1:
        found.add("page_size_differs")
    stated = rows.drop_nulls("allocator").iter_rows(named=True)
    other = any(allocators.chosen(row) != allocator for row in stated)
    if other or _differ(rows) or _other_figures(rows, node):
        found.add("settings_differ")
    return found


def _differ(rows: pl.DataFrame) -> bool:
    """Say whether records tell of different engines, roles or ways to use pages."""
    if any(rows[name].drop_nulls().n_unique() > 1 for name in _FIXED):
        return True
    # Who plays decode's part alone runs apart.
    if rows.select(((pl.col("role") == "decode") & ~pl.col("disaggregated")).any()).item():
        return True
    asked = (enginesettings.keeps_prefixes, enginesettings.guesses)
    return any(len({bool(on(config)) for config in rows["config"]}) > 1 for on in asked)


def _other_figures(rows: pl.DataFrame, node: str) -> bool:
    """Say whether figures of the rank's records and its server's cannot be of one run.

    Two records under one name are of two starts then.
    """
    named = pl.col("node") == node
    own, others = rows.filter(named), rows.filter(~named)
    if (own if own.height else others).select(_unsettled().any()).item():
        return True
    of_server = _every(others.filter(pl.col("pool_most").is_null()))
    return any(one.contradicts(other) for one in _every(own) for other in of_server)


def _every(rows: pl.DataFrame) -> list[Told]:
    """Return what records say, each once: a scrape repeats it."""
    found = list[Told]()
    for one in map(Told.of, rows.iter_rows(named=True)):
        if one not in found:
            found.append(one)
    return found


def _unsettled() -> pl.Expr:
    """Say where readings of one pool differ, or a snapshot that may be of this run has another."""
    own = pl.coalesce("input_limit_tokens", derived("pool_tokens"))
    stray = pl.any_horizontal(pl.col(name) != own for name in ("stray_least", "stray_most"))
    return (stray | pl.col("pool_most").is_not_null()).fill_null(value=False)
