"""Stays: what ran on one decode rank from a start to the next, and whether it can be replayed.

A rank is replayed only where every hold since its start is logged and the figures can be true
together. Otherwise the reasons are named, and co-residency is all that is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from forensics import enginesettings
from forensics.attribution import allocators, hops, moments
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.holds import ONE_OR_ALL, UNKNOWN, Holds, Ints
from forensics.attribution.refusals import refused
from forensics.boots import BEGINNING
from forensics.capacity import Capacity, server_of
from forensics.columns import ensure
from forensics.limits import epoch_nodes, in_force
from forensics.schema import AFFECTED_TIERS

_NEEDED = (
    *("reserved_at", "released_at", "reserved_pages", "reserved_tokens", "transferred_pages"),
    *("completion_tokens", "decode_prompt_tokens", "prefill_ms", "http_status", "finished_at"),
    "finish_reason",
)


_SETTINGS = (
    *("pool_tokens", "page_tokens", "engine", "engine_version", "disaggregated", "allocator"),
    "config",
)
_HELD = (
    *("_row", "request_id", "tenant_id", "tier", "prompt_tokens", "decode_node", "since"),
    *("first", "last", "received_at", "handed_off_at", "may_have_held", "hold_unsure"),
    "own_clock",
)
"""Of a request, besides what is needed: a stay keeps no other column of it."""


@dataclass
class Stay:
    """One rank from a start to the next: what the logs say of it, and why it is not replayed.

    ``rows`` are its requests, ``holds`` what they held, ``readers`` which of these read pages
    that they had not written. ``stated`` names what the incident alone tells of engine and pool.
    """

    node: str
    since: int
    rows: pl.DataFrame
    pool_pages: int = 0
    page_tokens: int = 0
    allocator: str | None = None
    reasons: set[str] = field(default_factory=set)
    holds: Holds | None = None
    hours: int = 0
    hours_fitting: int = 0
    replays: int = 0
    stated: tuple[str, ...] = ()

    @cached_property
    def affected(self) -> pl.DataFrame:
        """Its rows of affected responses."""
        return self.rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))

    @property
    def readers(self) -> Ints:
        """Numbers of the holds of affected responses."""
        if self.holds is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.isin(self.holds.row, self.affected["_row"].to_numpy()))

    @property
    def responses(self) -> int:
        """Affected responses of the rank."""
        return self.affected.height

    @property
    def last_read(self) -> int:
        """When the last affected response took its pages, at the latest."""
        return int(self.affected["last"].max())  # type: ignore[arg-type]


def collect(requests: pl.DataFrame, capacity: Capacity, probed: pl.DataFrame) -> list[Stay]:
    """Return the stays with affected responses, in order of rank and start.

    Args:
        requests: judged requests with ``decode_since``; their order numbers them.
        capacity: for pools, pages and allocators.
        probed: records of health checks and warm-ups, which hold pages too.
    """
    rows = ensure(requests.with_row_index("_row"), _NEEDED)
    rows = rows.with_columns(
        pl.col("_row").cast(pl.Int64),
        since=pl.col("decode_since").fill_null(BEGINNING),
        first=moments.first(rows.columns),
        last=moments.last(rows.columns),
        may_have_held=_may_have_held(),
        hold_unsure=moments.hold_unsure(rows.columns),
        own_clock=moments.sure(rows.columns),
    )
    rows = rows.select(*_HELD, *_NEEDED).drop_nulls("decode_node")
    affected = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))
    wanted = affected.select("decode_node", "since").unique().sort("decode_node", "since")
    ranks = rows.join(wanted, on="decode_node", how="semi").partition_by(
        "decode_node", as_dict=True
    )
    checks = _checks(probed)
    found = [
        Stay(node, since, ranks[(node,)].filter(pl.col("since") == since))
        for node, since in wanted.iter_rows()
    ]
    homes = epoch_nodes(wanted["decode_node"], capacity.epochs)
    for stay, facts in zip(found, _facts(found, capacity), strict=True):
        own = ((homes.get(stay.node), name) for name in _SETTINGS)
        stay.stated = tuple(name for node, name in own if (node, name) in capacity.stated)
        _describe(stay, facts)
        _hold(stay, checks)
        _astray(stay, ranks[(stay.node,)])
    return found


def _astray(stay: Stay, every: pl.DataFrame) -> None:
    """Note that requests of the rank may have run since this start, or since another."""
    before = pl.col("first").is_between(stay.since - START_OFF, stay.since, closed="left")
    if every.select(before.any()).item():
        stay.reasons.add("start_unsure")
    inside = (pl.col("last") > stay.since + START_OFF) & (pl.col("first") <= stay.last_read)
    other = (pl.col("since") != stay.since) & inside & pl.col("may_have_held")
    if every.select(other.any()).item():
        stay.reasons.add("holds_not_logged")


def _may_have_held() -> pl.Expr:
    """Say that a request may have held pages: all but those refused without any figure of pages.

    Decode too refuses what is over its limit, and then takes no page for it.
    """
    signs = ("completion_tokens", "reserved_at", "released_at", "reserved_pages")
    held = [pl.col(name) > 0 for name in (*signs, "transferred_pages")]
    ran = [*held, pl.col("tier").is_in(AFFECTED_TIERS)]
    return ~refused(_NEEDED) | pl.any_horizontal(sign.fill_null(value=False) for sign in ran)


def _checks(probed: pl.DataFrame) -> pl.DataFrame:
    """Return health checks of decode ranks, with the span in which each may have taken pages."""
    rows = ensure(probed, ["decode_node", *_NEEDED])
    rows = rows.with_columns(tier=pl.lit(None, dtype=pl.String))  # a check is not judged
    spans = {"first": moments.first(rows.columns), "last": moments.last(rows.columns)}
    spans["may_have_held"] = _may_have_held()
    return (
        rows.with_columns(**spans)
        .select("decode_node", "first", "last", "may_have_held", *_NEEDED)
        .drop_nulls("decode_node")
    )


def _facts(found: list[Stay], capacity: Capacity) -> list[dict[str, Any]]:
    """Return what was in force at the last read of each stay; each value null where unknown."""
    asked = pl.DataFrame(
        {
            "_row": np.arange(len(found), dtype=np.uint32),
            "decode_node": pl.Series([stay.node for stay in found], dtype=pl.String),
            "received_at": [stay.affected["first"].max() for stay in found],
        },
        schema_overrides={"received_at": pl.Int64},
    )
    wanted = {name: name for name in _SETTINGS}
    told = in_force(asked, capacity.epochs, "decode_node", wanted)
    return asked.select("_row").join(told, on="_row", how="left", maintain_order="left").to_dicts()


def _describe(stay: Stay, facts: dict[str, Any]) -> None:
    """Note pool, page and allocator that were in force, and what they forbid."""
    pool, page = facts["pool_tokens"], facts["page_tokens"]
    if pool and page:
        stay.pool_pages, stay.page_tokens = pool // page, page
    else:
        stay.reasons.add("no_pool")
    if stay.since == BEGINNING:
        stay.reasons.add("no_start")
    stay.allocator = allocators.chosen(facts)
    reason = allocators.against(facts)
    if reason:
        stay.reasons.add(reason)
    if enginesettings.keeps_prefixes(facts["config"]):
        stay.reasons.add("prefix_cache")
    if enginesettings.guesses(facts["config"]):
        stay.reasons.add("speculation")


def _hold(stay: Stay, checks: pl.DataFrame) -> None:
    """Note what was held up to the last read, and what about it cannot be true.

    The stamp of the read may be in whole seconds among finer ones.
    """
    if not stay.page_tokens:
        return
    until = int(stay.affected.select(moments.until("last").max()).item())
    rows = _sized(stay, checks)
    needed = ("reserved_at", "released_at", "pages", "prompt", "completion_tokens")
    unknown = pl.any_horizontal(pl.col(name).is_null() for name in needed)
    unknown |= pl.col("hold_unsure").fill_null(value=False)
    came = pl.col("first") <= until
    if rows.select((came & pl.col("may_have_held") & unknown).any()).item():
        stay.reasons.add("holds_not_logged")
    if hops.contradicted(stay.rows):
        stay.reasons.add("times_differ")
    known = rows.filter(came & ~unknown).sort(
        "reserved_at", "first", "released_at", "pages", "prompt", "name", nulls_last=False
    )
    stay.holds = _holds(known, stay.page_tokens)
    stay.reasons |= set(_impossible(stay.holds, stay.pool_pages))


def _sized(stay: Stay, checks: pl.DataFrame) -> pl.DataFrame:
    """Return requests and health checks of a stay with pages and tokens, under one set of names."""
    own = stay.rows.with_columns(name=pl.col("request_id"))
    span = (pl.col("last") >= stay.since) & (pl.col("first") <= stay.last_read)
    here = pl.col("decode_node").is_in([stay.node, server_of(stay.node)])
    every = pl.concat([own, checks.filter(here & span)], how="diagonal_relaxed").with_columns(
        _row=pl.col("_row").fill_null(UNKNOWN)
    )
    whole = (pl.col("reserved_tokens") + stay.page_tokens - 1) // stay.page_tokens
    prompt = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
    # A health check is new each time: no prefix of it was kept.
    check = pl.when(pl.col("_row") == UNKNOWN).then(
        (prompt + stay.page_tokens - 1) // stay.page_tokens
    )
    return every.with_columns(
        pages=pl.coalesce("reserved_pages", whole, check),
        prompt=prompt,
        completion_tokens=pl.col("completion_tokens").fill_null(
            pl.when(pl.col("_row") == UNKNOWN).then(1)
        ),
    )


def _holds(rows: pl.DataFrame, page_tokens: int) -> Holds:
    columns = rows.select(
        row="_row",
        reserved="reserved_at",
        released="released_at",
        pages="pages",
        prompt="prompt",
        tokens="completion_tokens",
        written=_arrived(),
        prefill=(pl.col("prefill_ms") * 1_000).round().cast(pl.Int64).fill_null(UNKNOWN),
    )
    arrays: dict[str, Ints] = {
        name: columns[name].to_numpy().astype(np.int64) for name in columns.columns
    }
    return Holds(page_tokens=page_tokens, **arrays)


def _arrived() -> pl.Expr:
    """Return the pages of a prompt that arrived, or what stands for it where no log counts them.

    An answer that nothing speaks against was computed whole; of one that is affected for certain
    one page came, and where that is open, one or all. A transfer that failed may have brought any.
    """
    answered = pl.col("completion_tokens") > 0
    check = pl.col("_row") == UNKNOWN
    whole = answered & (check | (pl.col("tier") == "ruled_out"))
    stub = pl.col("tier").is_in(AFFECTED_TIERS[:2])
    either = answered | pl.col("tier").is_in(AFFECTED_TIERS)
    guessed = pl.when(whole.fill_null(value=False)).then("pages").when(stub).then(1)
    return pl.coalesce(
        "transferred_pages", guessed.when(either).then(ONE_OR_ALL).otherwise(UNKNOWN)
    )


def _impossible(holds: Holds, pool: int) -> Iterator[str]:
    """Yield what about some holds cannot be true."""
    if (holds.released < holds.reserved).any():
        yield "ends_before_it_begins"
        return
    more = holds.pages - -(-holds.prompt // holds.page_tokens)
    if ((more < 0) | (more > 1)).any():  # a hop before counts a few tokens less
        yield "pages_differ"
    if len(holds) and _most_held(holds) > pool:
        yield "more_than_the_pool"


def _most_held(holds: Holds) -> int:
    """Return the most pages held at once, each as short as its stamps allow, growth left out."""
    late = holds.reserved + holds.coarse[0] - 1
    long = holds.released > late
    times = np.concatenate([late[long], holds.released[long]])
    change = np.concatenate([holds.pages[long], -holds.pages[long]])
    held = np.cumsum(change[np.lexsort((change, times))])
    return int(held.max()) if len(held) else 0
