"""Per node and day: which sides and values are there, and whether its limit is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

import msgspec
import polars as pl

from forensics.capacity import server_of
from forensics.checking.document import Day, NodeDay
from forensics.checking.inventory import COUNTED, Stock, kinds, node_of
from forensics.checking.survey import Survey
from forensics.observations import ensure
from forensics.schema import ENGINE_HOP

HOPS = {"gateway", "prefill", "decode"}
DAY = 86_400_000_000
MOST_DAYS = 400
"""A file that seems to span more has a stamp that is none; its ends alone are taken."""

_OUTCOME = ("completion_tokens", "http_status")
_PAGES = ("reserved_pages", "transferred_pages", "reserved_tokens", "transferred_tokens")
_NEEDED = (
    *("hop", "prefill_node", "decode_node", "received_at", "transfer_id", "tenant_id"),
    *("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"),
    *_OUTCOME,
    *_PAGES,
)


def day_of(at: int) -> Day:
    """Return the day of a moment in microseconds."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).date().isoformat()


def days_between(first: int, last: int) -> list[int]:
    """Return the numbers of the days from one moment to another, both included."""
    start, end = first // DAY, last // DAY
    return list(range(start, end + 1)) if end - start < MOST_DAYS else [start, end]


def presence(survey: Survey, stock: Stock) -> list[NodeDay]:
    """Return one row per node and day that any file holds or spans."""
    rows = {(row.node, row.day): row for row in _of_requests(survey, stock)}
    for row in (*_of_lines(survey, stock), *_not_sampled(survey, stock, list(rows.values()))):
        rows.setdefault((row.node, row.day), row)
    return [rows[key] for key in sorted(rows)]


def _of_requests(survey: Survey, stock: Stock) -> list[NodeDay]:
    rows = ensure(survey.records, _NEEDED).filter(pl.col("received_at").is_not_null())
    if not rows.height:
        return []
    # A rejection alone has a count too, but not one of a prompt that was handed on.
    count = (
        pl.when(pl.col("hop") == "prefill")
        .then(COUNTED["prefill"])
        .when(pl.col("hop").is_null() | (pl.col("hop") != ENGINE_HOP))
        .then(COUNTED["decode"])
        .is_not_null()
    )
    found = (
        rows.with_columns(node=node_of(), day=pl.col("received_at") // DAY)
        .group_by("node", "day")
        .agg(
            pl.len().alias("records"),
            pl.col("hop").drop_nulls().unique().sort().alias("sides"),
            count.mean().alias("counts"),
            pl.col("transfer_id").is_not_null().mean().alias("ids"),
            pl.any_horizontal(pl.col(n).is_not_null() for n in _OUTCOME).mean().alias("outcome"),
            pl.col("tenant_id").is_not_null().mean().alias("tenants"),
            pl.any_horizontal(pl.col(n).is_not_null() for n in _PAGES).mean().alias("pages"),
        )
        .sort("node", "day")
    )
    lines, roles = _lines_by_node(survey), _roles_by_node(stock)
    shares = ("counts", "ids", "outcome", "tenants", "pages")
    return [
        NodeDay(
            node=row["node"],
            day=day_of(row["day"] * DAY),
            sides=sorted(({*row["sides"]} & HOPS) | roles.get(row["node"], set())),
            records=row["records"],
            seen=True,
            **{name: round(row[name], 3) for name in shares},
            limit=_limit(survey, row["node"], row["day"], row["sides"]),
            lines=sorted(lines[row["node"]]),
        )
        for row in found.iter_rows(named=True)
    ]


def _lines_by_node(survey: Survey) -> dict[str, set[str]]:
    """Return what else the files of a node hold, by the node that their names tell."""
    lines: dict[str, set[str]] = defaultdict(set)
    for seen in survey.looks:
        lines[seen.facts.node] |= kinds(seen)
    return lines


def _roles_by_node(stock: Stock) -> dict[str, set[str]]:
    roles: dict[str, set[str]] = defaultdict(set)
    for entry in stock.files:
        roles[entry.node] |= set(entry.sides)
    return roles


def _of_lines(survey: Survey, stock: Stock) -> Iterator[NodeDay]:
    """Yield the days of files that hold no request: start-up logs, batch lines, access lines."""
    with_requests = {entry.name for entry in stock.files if entry.requests}
    for seen, entry in zip(survey.looks, stock.files, strict=True):
        span = stock.spans.get(seen.source.number)
        if entry.format is None or entry.name in with_requests or span is None:
            continue
        for day in days_between(*span):
            yield NodeDay(
                node=entry.node,
                day=day_of(day * DAY),
                sides=entry.sides,
                limit=_limit(survey, entry.node, day, entry.sides),
                lines=sorted(kinds(seen)),
            )


def _not_sampled(survey: Survey, stock: Stock, rows: list[NodeDay]) -> Iterator[NodeDay]:
    """Yield the days that lie within a file which was read in part, as other days of the node."""
    spans = {
        seen.source.number: stock.asked[seen.source.number]
        for seen in survey.looks
        if not seen.whole and seen.source.number in stock.asked
    }
    if not spans:
        return
    first_of = {row.node: row for row in reversed(rows)}
    named = ensure(survey.records, _NEEDED).select("file", node=node_of()).unique()
    for file, node in named.filter(pl.col("file").is_in(list(spans))).sort("file", "node").rows():
        like = first_of.get(node)
        if like is None:
            continue
        for day in days_between(*spans[file]):
            yield msgspec.structs.replace(like, day=day_of(day * DAY), records=0, seen=False)


def _limit(survey: Survey, node: str, day: int, sides: list[str]) -> str:
    """Say whether the node's limit was known on a day; ``-`` where nothing hangs on it."""
    if sides and "prefill" not in sides:
        return "-"
    if survey.incident.trigger.threshold_tokens is not None:
        return "stated"
    epochs = survey.analysis.capacity.epochs.filter(pl.col("limit").is_not_null())
    start, end = day * DAY, (day + 1) * DAY
    begun = pl.coalesce("shown_from", "effective_at")
    for name, since, until in epochs.select("node", begun, "until").iter_rows():
        if _same(name, node) and since < end and until > start:
            return "known"
    return "unknown"


def _same(name: str | None, node: str) -> bool:
    return name is not None and (fnmatchcase(node, name) or fnmatchcase(node, server_of(name)))
