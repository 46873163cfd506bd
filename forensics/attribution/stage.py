"""Sources of the affected responses: who could have written what they read, and who did by a model.

Co-residency always; on top of it a replay of the allocator, where a rank's logs allow one and
the engine's own figures do not contradict it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.attribution import (
    coresidency,
    lookback,
    pairing,
    replays,
    siblings,
    spread,
    stays,
    tail,
    together,
    told,
    usage,
)
from forensics.attribution.gaps import Lost
from forensics.attribution.pairing import PAIR_COLUMNS
from forensics.attribution.starts import TOLERANCE, Starts
from forensics.attribution.stay import Stay
from forensics.attribution.widening import widened
from forensics.capacity import Capacity
from forensics.incident import Incident
from forensics.judging import Judged, as_reader
from forensics.limits import epoch_nodes
from forensics.markers import Markers
from forensics.schema import AFFECTED_TIERS

CERTAIN = 0.9
"""From this probability on a source is ``probable``, where its response is and the engine's own
figures, where there are any, confirm the replay."""


@dataclass(frozen=True)
class Attribution:
    """``pairs`` of response and source; ``stays`` of the ranks; what pictures are made from.

    ``named`` are requests that the replay names, by row number; ``lookback`` and ``spread``
    see the modules of these names.
    """

    pairs: pl.DataFrame
    stays: list[Stay]
    named: pl.DataFrame
    lookback: pl.DataFrame
    spread: pl.DataFrame


@dataclass(frozen=True)
class Evidence:
    """What else the logs hold: health checks, batch lines, canaries, and what is missing."""

    probed: pl.DataFrame
    used: pl.DataFrame
    markers: Markers
    lost: Lost


def attribute(
    judged: Judged, capacity: Capacity, starts: Starts, evidence: Evidence, incident: Incident
) -> Attribution:
    """Return the sources of the affected responses.

    Args:
        judged: requests with their verdicts and pairs by co-residency.
        capacity: pools, pages and allocators.
        starts: of decode ranks.
        evidence: what else the logs hold.
        incident: only a fault that reads is replayed: what one writes is no matter of reuse, and
            where the direction is not settled nobody is named by a model.
    """
    rows = judged.requests
    reads = incident.trigger.mechanism == "read"
    read = rows if reads else rows.with_columns(tier=as_reader())
    writes = incident.trigger.mechanism == "write"
    every_stay = [] if writes else stays.collect(read, capacity, evidence.probed)
    found = every_stay if reads else []
    homes = epoch_nodes(pl.Series([stay.node for stay in found], dtype=pl.String), capacity.epochs)
    for stay in found:
        _doubt(stay, starts, evidence)
        stay.reasons |= told.doubts(stay, homes.get(stay.node, ""), capacity.epochs, starts)
    usage.doubt_siblings(found)
    named = [
        _held_against(stay, one, evidence.markers, rows)
        for stay, one in zip(found, replays.replay_all(found), strict=True)
    ]
    told_of = [
        one.with_columns(believed=pl.lit(not stay.capped))
        for stay, one in zip(found, named, strict=True)
    ]
    every = pl.concat([pl.DataFrame(schema={**replays.NAMED, "believed": pl.Boolean()}), *told_of])
    there = together.ordered([judged.pairs, siblings.pairs(read, judged.pairs, found)])
    pairs = [there]
    if not writes:
        pairs.append(tail.pairs(read))
        pairs.append(widened(read, there, every_stay, evidence.lost))
    if reads:
        pages = {stay.node: stay.page_tokens for stay in found}
        pairs.append(_as_pairs(every, rows, pages))
    return Attribution(
        together.ordered(pairs),
        found,
        every,
        lookback.curve(coresidency.met(rows)),
        spread.ways(rows, capacity.epochs),
    )


def _doubt(stay: Stay, starts: Starts, evidence: Evidence) -> None:
    """Note what speaks against a replay beside the figures of the stay itself."""
    known = {stay.node: [start.at for start in starts.known.get(stay.node, [])]}
    doubts = (
        ("outlived_a_start", starts.outlived),
        ("start_unsure", starts.unsure),
        ("start_unsure", known),
    )
    for reason, moments in doubts:
        here = moments.get(stay.node, [])
        if any(stay.since < at <= stay.last_read + TOLERANCE for at in here):
            stay.reasons.add(reason)
    if evidence.lost.concerns(stay):
        stay.reasons.add("records_lost")
    usage.check(stay, evidence.used)


def _held_against(
    stay: Stay, named: pl.DataFrame, markers: Markers, requests: pl.DataFrame
) -> pl.DataFrame:
    """Return what the replay names, or nothing where a canary's marker contradicts it."""
    if not _contradicted(named, markers, requests):
        return named
    stay.reasons.add("marker_differs")
    stay.replays = 0
    return named.clear()


def _contradicted(named: pl.DataFrame, markers: Markers, requests: pl.DataFrame) -> bool:
    """Say whether a marker was seen whose request the replay does not name for the response.

    It may also have come with the prefill tail: then it contradicts nothing.
    """
    if not named.height or not markers.records.height:
        return False
    rows = requests.with_row_index("_row").select(
        pl.col("_row").cast(pl.Int64), "request_id", "prefill_node", "handoff"
    )
    readers = named.select(_row="reader").unique().join(rows, on="_row")
    readers = readers.filter(pl.col("handoff").is_in(markers.handoffs.implode()))
    seen = markers.records.select("planted_request_id", request_id="seen_request_id").drop_nulls()
    planted = rows.select(planted_request_id="request_id", by="_row", beside="prefill_node")
    both = readers.join(seen, on="request_id").join(planted, on="planted_request_id")
    own = pl.col("planted_request_id") == pl.col("request_id")
    apart = (pl.col("beside") != pl.col("prefill_node")).fill_null(value=False)
    asked = both.filter(~own & apart)
    return not asked.join(
        named, left_on=["_row", "by"], right_on=["reader", "owner"], how="anti"
    ).is_empty()


def _as_pairs(
    named: pl.DataFrame, requests: pl.DataFrame, page_tokens: dict[str, int]
) -> pl.DataFrame:
    """Return what the replay names as pairs; pages nobody wrote and health checks are in none."""
    kept = ("_row", "request_id", "attempt", "tenant_id", "tier", "decode_node")
    rows = requests.with_row_index("_row").select(kept).with_columns(pl.col("_row").cast(pl.Int64))
    either = pl.concat([named["reader"], named["owner"].drop_nulls()])
    readers = rows.filter(pl.col("_row").is_in(either.implode()))
    owners = readers.select(
        owner="_row", source_request_id="request_id", source_tenant_id="tenant_id"
    )
    found = named.drop_nulls("owner").join(readers, left_on="reader", right_on="_row")
    found = found.join(owners, on="owner")
    page = (
        pl.col("decode_node").replace_strict(
            list(page_tokens) or [""], list(page_tokens.values()) or [0], return_dtype=pl.Int64
        )
        if found.height
        else pl.lit(0, dtype=pl.Int64)
    )
    pages = (pl.col("pages") + 0.5).floor().cast(pl.Int64)
    sure = (pl.col("probability") >= CERTAIN) & pl.col("tier").is_in(AFFECTED_TIERS[:2])
    sure &= pl.col("believed")
    same = (pl.col("source_tenant_id") == pl.col("tenant_id")).fill_null(value=False)
    rows = found.with_columns(
        origin=pl.lit("decode"),
        pages=pages,
        tokens=pages * page,
        tier=pl.when(sure).then(pl.lit("probable")).otherwise(pl.lit("possible")),
        same_tenant=same,
    )
    kinds = (pl.col(name).cast(kind) for name, kind in PAIR_COLUMNS.items())
    return pairing.sort(rows.select(*kinds, "attempt"))
