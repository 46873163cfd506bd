"""Stays: what ran on one decode rank from a start to the next, and whether it can be replayed.

A rank is replayed only where every hold since its start is logged and the figures can be true
together. Otherwise the reasons are named, and co-residency is all that is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from forensics import enginesettings
from forensics.attribution import allocators, holding, moments, places
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.holding import NEEDED
from forensics.attribution.stay import Stay
from forensics.boots import BEGINNING
from forensics.capacity import Capacity
from forensics.columns import ensure
from forensics.limits import epoch_nodes, in_force
from forensics.schema import AFFECTED_TIERS

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


def collect(requests: pl.DataFrame, capacity: Capacity, probed: pl.DataFrame) -> list[Stay]:
    """Return the stays with affected responses, in order of rank and start.

    Args:
        requests: judged requests with ``decode_since``; their order numbers them.
        capacity: for pools, pages and allocators.
        probed: records of health checks and warm-ups, which hold pages too.
    """
    rows = places.on_each(ensure(requests.with_row_index("_row"), NEEDED))
    rows = rows.with_columns(
        pl.col("_row").cast(pl.Int64),
        decode_node="node",
        first=moments.first(rows.columns),
        last=moments.last(rows.columns),
        may_have_held=holding.may_have_held(),
        hold_unsure=moments.hold_unsure(rows.columns),
        own_clock=moments.sure(rows.columns),
    )
    rows = rows.select(*_HELD, *NEEDED)
    affected = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS)).drop_nulls("decode_node")
    wanted = affected.group_by("decode_node", "since").agg(asked=pl.col("first").max())
    wanted = wanted.sort("decode_node", "since")
    checks = holding.checks(probed)
    homes = epoch_nodes(wanted["decode_node"], capacity.epochs)
    told = iter(_facts(wanted, capacity))
    found = []
    for node, every in _by_rank(rows, wanted["decode_node"].unique(maintain_order=True)):
        for since in wanted.filter(pl.col("decode_node") == node)["since"]:
            stay = Stay(node, since, every.filter(pl.col("since") == since))
            own = ((homes.get(node), name) for name in _SETTINGS)
            stay.stated = tuple(name for home, name in own if (home, name) in capacity.stated)
            _describe(stay, next(told))
            holding.hold(stay, checks)
            _astray(stay, every)
            stay.let_go()
            found.append(stay)
    return found


def _by_rank(rows: pl.DataFrame, nodes: pl.Series) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the requests of each of some ranks; one rank's at a time are held a second time."""
    number = "_at"
    at = rows.select("decode_node").with_row_index(number)
    own = at.filter(pl.col("decode_node").is_in(nodes.implode()))
    ranks = own.partition_by("decode_node", as_dict=True, include_key=False)
    for node in nodes:
        yield node, rows[ranks[(node,)][number]]


def _astray(stay: Stay, every: pl.DataFrame) -> None:
    """Note that requests of the rank may have run since this start, or since another."""
    before = pl.col("first").is_between(stay.since - START_OFF, stay.since, closed="left")
    if every.select(before.any()).item():
        stay.reasons.add("start_unsure")
    inside = (pl.col("last") > stay.since + START_OFF) & (pl.col("first") <= stay.last_read)
    other = (pl.col("since") != stay.since) & inside & pl.col("may_have_held")
    if every.select(other.any()).item():
        stay.reasons.add("holds_not_logged")


def _facts(wanted: pl.DataFrame, capacity: Capacity) -> list[dict[str, Any]]:
    """Return what was in force at the last read of each stay; each value null where unknown."""
    asked = wanted.select("decode_node", received_at="asked").with_row_index("_row")
    told = in_force(asked, capacity.epochs, "decode_node", {name: name for name in _SETTINGS})
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
    if enginesettings.unsettled(facts["config"]):
        stay.reasons.add("settings_unsure")
