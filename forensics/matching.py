"""Which requests fit nameless lines, and how many of the lines they explain.

One line is one request: rows with evidence of their own take their lines first. Of the
rest, whoever fits a line that is left may be its request, since nothing tells them apart;
but no more lines are explained than there are requests to explain them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from forensics.boots import BEGINNING, END
from forensics.capacity import server_of
from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure
from forensics.findings import FINDINGS
from forensics.findings.base import prepared
from forensics.schema import ENGINE_COLUMNS, REQUEST_COLUMNS

NEAR = 120_000_000
"""How far a line may be from the start of its request, microseconds; or within its run."""
_TOKENS = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
"""The prompt as the engine counted it, else as the client was told."""
_CLASS = ["low", "high", "tokens_kept", "assumed"]
"""Lines that agree on these allow the same requests, but for node and moment."""


class _Line(NamedTuple):
    at: int
    node: str
    number: int


class _Row(NamedTuple):
    """A request; their order is the one in which they take lines."""

    open: bool
    loose: int
    until: int
    since: int
    node: str
    name: str
    shown: bool
    handoff: int


@dataclass
class Assigned:
    """Numbers of the lines that are explained; requests that took one; requests that fit one."""

    explained: set[int] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    fits: set[int] = field(default_factory=set)


def candidates(requests: pl.DataFrame, ranges: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return the requests that some line allows by size, with the time that they span.

    Args:
        requests: one row per request, with limits attached.
        ranges: ``low`` and ``high`` of prompts, tokens.
        kept: what was left of prompts that were shortened, tokens.
    """
    known = [column.name for column in (*REQUEST_COLUMNS, *ENGINE_COLUMNS)]
    rows = ensure(requests, known)
    sizes = rows.select(tokens=_TOKENS).drop_nulls().unique()
    allowed = _within(sizes, ranges.unique())["tokens"].unique()
    single = _TOKENS.is_null() & (pl.col("prefill_prompt_tokens") == 1)
    rows = rows.filter(
        _TOKENS.is_in(allowed.implode())
        | pl.col("decode_prompt_tokens").is_in(kept.unique().implode())
        | single
    )
    rows = prepared(rows, owners_are_tenants=False)
    direct = pl.any_horizontal(_fired("direct"))
    zone = pl.when(pl.col("assumed")).then(ZONE_UNCERTAINTY).otherwise(0)
    last = pl.max_horizontal(pl.col("received_at") + NEAR, "finished_at")
    timed = pl.col("received_at").is_not_null()
    return rows.select(
        "handoff",
        "decode_prompt_tokens",
        tokens=_TOKENS,
        asked="prompt_tokens",
        node=pl.col("prefill_node").fill_null(""),
        name=pl.concat_str(
            pl.col(n).fill_null("") for n in ("request_id", "tenant_id", "transfer_id")
        ),
        since=pl.when(timed).then(pl.col("received_at") - NEAR - zone).otherwise(BEGINNING),
        until=pl.when(timed).then(last + zone).otherwise(END),
        direct=direct,
        complete=pl.any_horizontal(_fired("clears")) & ~direct,
    )


def shown(requests: pl.DataFrame) -> pl.DataFrame:
    """Return ``node`` and ``at`` of requests with evidence of their own: engines, and the end."""
    pieces = requests.iter_slices(_AT_A_TIME) if requests.height else [requests]
    return pl.concat([_shown(piece) for piece in pieces])


_AT_A_TIME = 131_072
"""Rows looked at together: columns that no log filled exist for so many rows only."""


def _shown(requests: pl.DataFrame) -> pl.DataFrame:
    known = [column.name for column in (*REQUEST_COLUMNS, *ENGINE_COLUMNS)]
    rows = prepared(ensure(requests, known), owners_are_tenants=False)
    direct = rows.filter(pl.any_horizontal(_fired("direct")))
    at = pl.coalesce("finished_at", "received_at", pl.lit(0))
    return direct.select(node=pl.coalesce("decode_node", "prefill_node"), at=at).drop_nulls()


def _fired(weight: str) -> list[pl.Expr]:
    return [f.expression.fill_null(value=False) for f in FINDINGS if f.weight == weight]


def _within(sizes: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    low, high = pl.col("tokens") >= pl.col("low"), pl.col("tokens") <= pl.col("high")
    return sizes.join_where(ranges, low, high)


def assign(lines: pl.DataFrame, rows: pl.DataFrame) -> Assigned:
    """Give lines of known size to the candidates that fit them in size, node and moment."""
    classes = lines.select(_CLASS).unique().sort(_CLASS, nulls_last=False).with_row_index("class")
    timed = lines.join(classes, on=_CLASS, nulls_equal=True).drop_nulls("at")
    near = _near(_pairs(rows, classes), timed)
    by_class = near.partition_by("class", as_dict=True)
    result = Assigned()
    for key, own in timed.sort("class", "at").partition_by("class", as_dict=True).items():
        if key in by_class:
            _take(_free(own), _rows(by_class[key]), result)
    return result


def assign_single(lines: pl.DataFrame, rows: pl.DataFrame) -> Assigned:
    """Give lines to requests of which only prefill's count is left, and that is one token.

    A prompt of one token and the placeholder of a longer one leave the same record on prefill.
    Without decode's or a client's count nothing tells them apart, and whoever may be meant
    stays; with one, or with all reserved pages sent, the request is none of these.
    """
    single = rows.filter(pl.col("tokens").is_null() & (pl.col("node") != "") & ~pl.col("complete"))
    timed = lines.drop_nulls("at").with_columns(pl.lit(0).alias("class"))
    near = _near(single.with_columns(pl.lit(0).alias("class"), settled=False, assumed=False), timed)
    result = Assigned()
    _take(_free(timed), _rows(near), result)
    return result


def _pairs(rows: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """Return each request with each class of lines whose size it has.

    ``settled``: decode shortened the prompt as prefill did, so that nothing was lacking.
    """
    sizes = rows.select("tokens").drop_nulls().unique()
    of_size = _within(sizes, classes.select("class", "low", "high")).select("tokens", "class")
    open_rows = rows.filter(~pl.col("complete")).join(of_size, on="tokens")
    cut = classes.drop_nulls("tokens_kept").select("class", "low", "tokens_kept")
    settled = rows.join(cut, left_on="decode_prompt_tokens", right_on="tokens_kept").filter(
        (pl.col("asked") == pl.col("low")) | (pl.col("asked") == pl.col("decode_prompt_tokens"))
    )
    pairs = pl.concat(
        [open_rows.with_columns(settled=False), settled.drop("low").with_columns(settled=True)],
        how="diagonal_relaxed",
    )
    return pairs.join(classes.select("class", "assumed"), on="class")


def _near(pairs: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Leave out requests that no line of their class is near in time."""
    zone = pl.when(pl.col("assumed")).then(ZONE_UNCERTAINTY).otherwise(0)
    pairs = pairs.with_columns(since=pl.col("since") - zone, until=pl.col("until") + zone)
    following = lines.select("class", "at").sort("at")
    found = pairs.sort("since").join_asof(
        following,
        left_on="since",
        right_on="at",
        by="class",
        strategy="forward",
        check_sortedness=False,
    )
    return found.filter(pl.col("at") <= pl.col("until"))


def _free(lines: pl.DataFrame) -> list[_Line]:
    picked = lines.select("at", pl.col("node").fill_null(""), "line_number")
    return sorted(_Line(*row) for row in picked.iter_rows())


def _rows(near: pl.DataFrame) -> list[_Row]:
    names = ("node", "until", "since", "name", "direct", "settled", "handoff")
    found = []
    for node, until, since, name, direct, settled, handoff in near.select(names).iter_rows():
        loose = 2 if not node else int(server_of(node) == node)
        waits, shown = not (direct or settled), not settled
        found.append(_Row(waits, loose, until, since, node, name, shown, handoff))
    return sorted(found)


def _take(free: list[_Line], rows: list[_Row], result: Assigned) -> None:
    """Let rows take lines: those with evidence first, then those that fit what is left."""
    for row in rows:
        if not row.open and row.handoff not in result.taken:
            _give(free, row, result)
            if row.shown and row.handoff in result.taken:
                result.fits.add(row.handoff)
    waiting = [row for row in rows if row.open and row.handoff not in result.taken]
    fitting = [row for row in waiting if _first(free, row) is not None]
    result.fits |= {row.handoff for row in fitting}
    for row in fitting:
        _give(free, row, result)


def _give(free: list[_Line], row: _Row, result: Assigned) -> None:
    place = _first(free, row)
    if place is not None:
        result.taken.add(row.handoff)
        result.explained.add(free.pop(place).number)


def _first(free: list[_Line], row: _Row) -> int | None:
    """Return the place of the first line that the request fits."""
    for place in range(bisect_left(free, (row.since,)), len(free)):
        if free[place].at > row.until:
            return None
        if _same(free[place].node, row.node):
            return place
    return None


def _same(line: str, node: str) -> bool:
    """Say whether a line can be of a request's node; an unknown rank contradicts none."""
    unknown = not line or not node
    return unknown or node in (line, server_of(line)) or line == server_of(node)
