"""Limits after a hole: what was lost may be a start, and the pool another one since.

The log of a prefill server tells its pool where it starts. Where records of it are known to be
missing, and it wrote nothing for long enough to start anew, a start may be among them; what its
limit is then is not known until a log tells a pool again. Shown is that much: a prompt that
the server was given since, and computed, was below the limit, and so was each that is shorter.
Others clear nobody by their length; at or over the smallest limit that is in force on any prefill
server then they are possible. What the incident states holds all the same, and a silence from
which no record is known to be missing is none of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import limits
from forensics.boots import BEGINNING
from forensics.capacity import Capacity
from forensics.columns import ensure, pieces
from forensics.coverage.doubted import Logged, spans, writers
from forensics.findings.over_limit import COUNTS, most
from forensics.limits import OWN_REFUSAL, STATED, epoch_nodes, parted, steps

__all__ = ["ADDED", "attach"]

ADDED = limits.ADDED


def attach(requests: pl.DataFrame, logged: Logged, threshold: int | None) -> pl.DataFrame:
    """Add :data:`ADDED` to the requests: the limits in force, wider where they follow a hole.

    Args:
        requests: folded, without the columns of limits.
        logged: what is known of the logs of prefill.
        threshold: as in :func:`forensics.limits.attach`.

    Returns:
        The same rows. ``start_unseen`` says of whom the length shows nothing since a start may
        have been lost, or is not known.
    """
    limited = limits.attach(requests, logged.capacity.epochs, threshold)
    found = spans(logged)
    # What was stated holds through any silence, whoever is asked about.
    found = found.filter(~_stated(found, logged.capacity))
    return _widened(limited, found, logged) if found.height else limited


def _stated(rows: pl.DataFrame, capacity: Capacity) -> pl.Expr:
    """Say whose rank is of a server whose limit the incident alone states."""
    homes = epoch_nodes(rows["prefill_node"], capacity.epochs)
    stated = [name for name, home in homes.items() if home in capacity.limited_by_statement]
    return pl.col("prefill_node").is_in(stated).fill_null(value=False)


def _widened(requests: pl.DataFrame, found: pl.DataFrame, logged: Logged) -> pl.DataFrame:
    """Widen the limits of requests in and after the silences that were found."""
    timed, places = _timed(requests, logged.own), _Places.of(found, logged)
    # Twice: what a span shows is known only from all who came in it.
    shown = pl.concat([_computed(places.placed(piece)) for piece in pieces(timed)])
    shown = shown.group_by("span").agg(pl.col("shown").max())
    lowest = _lowest(logged.capacity.epochs)
    told = [_told(places.placed(piece), shown, lowest) for piece in pieces(timed)]
    return requests.with_columns(pl.concat(told))


def _told(rows: pl.DataFrame, shown: pl.DataFrame, lowest: pl.DataFrame) -> pl.DataFrame:
    """Return the limits of some requests, in their order, as wide as they may have been."""
    rows = rows.join(shown, on="span", how="left").sort("at")
    rows = rows.join_asof(lowest, left_on="at", right_on="since", strategy="backward").sort("_row")
    sure = pl.col("limit_basis").is_in([STATED, OWN_REFUSAL]).fill_null(value=False)
    doubt = pl.col("silent").is_not_null() & ~sure
    unseen = doubt & (most >= pl.col("shown")).fill_null(value=True)
    # Whom the limit from before does not clear, it need not be kept from clearing.
    unseen &= (most < pl.col("limit_low")).fill_null(value=False)
    least = pl.when(unseen).then(pl.min_horizontal("limit_low", "least"))
    return rows.select(
        limit_low=least.otherwise("limit_low"),
        limit_unseen=pl.col("limit_unseen") | unseen,
        start_unseen=pl.col("start_unseen") | unseen,
    )


_PAGES = ("reserved_pages", "transferred_pages")


def _timed(requests: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Return the requests with the time at which the server's own log has them, if it has."""
    names = ("prefill_node", "inferred")
    limited = ("limit_low", "limit_basis", "limit_unseen", "start_unseen")
    logged = requests.select("handoff").join(own, on="handoff", how="left", maintain_order="left")
    at = pl.coalesce(logged["own"], "handed_off_at", "received_at")
    rows = ensure(requests, [*COUNTS, *_PAGES])
    return rows.select(*names, *limited, *COUNTS, *_PAGES, at=at)


@dataclass(frozen=True)
class _Places:
    """Spans of ranks, each with its number, and those ``of_any`` as one."""

    spans: pl.DataFrame
    of_any: pl.DataFrame
    writers: list[str]
    capacity: Capacity

    @classmethod
    def of(cls, found: pl.DataFrame, logged: Logged) -> _Places:
        spans = found.with_row_index("span")
        return cls(spans, _any(spans), writers(logged), logged.capacity)

    def placed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add ``_row`` and the ``span`` of each: of its rank, or of any where that is not known."""
        rows, node = rows.with_row_index("_row"), pl.col("prefill_node")
        homes = epoch_nodes(rows["prefill_node"], self.capacity.epochs)
        rest = rows.filter(~_stated(rows, self.capacity))
        known = node.is_in(self.writers) & node.is_in(list(homes))
        known = known.fill_null(value=False)
        found = [
            _within(rest.filter(known), self.spans, ["prefill_node"]),
            _within(rest.filter(~known), self.of_any, []),
        ]
        return rows.join(pl.concat(found), on="_row", how="left")


def _within(rows: pl.DataFrame, silent: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Return ``_row``, ``span`` and ``silent`` of the rows in some spans that do not overlap."""
    joined = (
        rows.drop_nulls("at")
        .sort("at")
        .join_asof(
            silent.sort("begin"),
            left_on="at",
            right_on="begin",
            by=by or None,
            strategy="backward",
            check_sortedness=False,
        )
    )
    return joined.filter(pl.col("at") < pl.col("until")).select("_row", "span", "silent")


def _any(silent: pl.DataFrame) -> pl.DataFrame:
    """Return the spans of all ranks as one: where a row is of none that is known."""
    rows = silent.sort("begin", "until")
    before = pl.col("until").cum_max().shift(1, fill_value=BEGINNING)
    group = (pl.col("begin") > before).cum_sum()
    whole = rows.group_by(group=group).agg(pl.col("begin").min(), pl.col("until").max())
    return whole.select("begin", "until", span=pl.lit(None, pl.UInt32), silent=pl.lit(value=True))


def _computed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what is longer than all that was computed in each span, as ``shown``."""
    same = pl.col("prefill_prompt_tokens") == pl.col("decode_prompt_tokens")
    whole = pl.col("transferred_pages") == pl.col("reserved_pages")
    sure = rows.filter((same | whole) & ~pl.col("inferred") & ~pl.col("silent"))
    least = pl.min_horizontal(*COUNTS)
    return sure.group_by("span").agg(shown=least.max() + 1)


def _lowest(epochs: pl.DataFrame) -> pl.DataFrame:
    """Return the smallest limit in force on any server of prefill, as ``least``, and ``since``."""
    of_prefill = pl.col("role").is_null() | (pl.col("role") == "prefill")
    known = steps(parted(epochs.filter(of_prefill & pl.col("limit_low").is_not_null())))
    return known.select(since="at", least="low")
