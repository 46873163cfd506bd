"""What is found in a made-up incident: headline, epochs, requests by length and reason."""

import random

from forensics.exposure import (
    Bound,
    Cell,
    Epoch,
    Headline,
    NodeCoverage,
    Ongoing,
    Point,
    PrefillTime,
    Rate,
    Reason,
    TierCount,
)
from tests.report.made.names import DAYS, DECODE, POOL, PREFILL, WINDOW, at, date


def headline() -> Headline:
    return Headline(
        sentence=(
            "155 responses to 60 tenants met every known condition for the fault between "
            "2026-08-27 and 2026-09-09; 12 more cannot be excluded."
        ),
        direction=(
            "Data of 214 tenants whose requests shared a decode engine could appear in "
            "responses to 60 tenants."
        ),
        tiers=[
            TierCount("confirmed", 2, 2, "An attestation or a canary marker shows it."),
            TierCount("probable", 153, 149, "Pages were read that this request had not written."),
            TierCount("possible", 12, 7, "A condition is not known."),
            TierCount("ruled_out", 1_234_377, 1_201_144, "A necessary condition is false."),
            TierCount("not_assessable", 41, 30, "A value needed to decide is missing."),
        ],
        recipients=60,
        recipients_unknown_tenant=3,
        sources=214,
        first_affected_at=at(0.0633),
        last_affected_at=at(13.4501),
        ongoing=Ongoing(
            answer="cannot tell",
            sentence=(
                "The last affected response is 13 hours before the last record, and no prompt "
                "over the limit was seen since."
            ),
            last_affected_at=at(13.4501),
            last_record_at=at(13.9999),
            requests_since=48_113,
            over_limit_since=0,
            hours_since=13,
            hours_with_records_since=13,
        ),
        bound=Bound(
            low=155,
            high=208,
            method="arithmetic",
            sentence=(
                "At least 155 and at most 208: 155 affected, 12 possible and 41 that could not "
                "be judged, if the logs hold every request."
            ),
        ),
        incomplete=[
            "41 requests could not be judged",
            "17 records were unreadable",
            "decode-07/dp1 has no records for 6 hours",
            "41 node hours of work of which no request was logged (coverage.csv)",
            "7 state-mismatch lines that no joined request explains: a bound of what they miss",
        ],
        rates=[
            Rate("requests", 155, 31_156),
            Rate("requests of the worst hour", 9, 410, at(3.0)),
            Rate("tenants with at least one", 60, 214),
        ],
    )


def epochs(count: int) -> list[Epoch]:
    rows = []
    per_node = max(count // (2 * len(PREFILL)), 1)
    for node in (*PREFILL, *DECODE):
        role = node.split("-", maxsplit=1)[0]
        for number in range(per_node):
            fixed = role == "decode" or number == per_node - 1
            pool = 2_040_000 if fixed else POOL - 64 * 300 * (number % 2)
            start = 13.5 * number / max(per_node - 1, 1)
            until = 13.5 * (number + 1) / max(per_node - 1, 1)
            rows.append(
                Epoch(
                    node=node,
                    role=role,
                    effective_at=at(start),
                    until=at(until) if number + 1 < per_node else None,
                    pool_tokens=pool,
                    page_tokens=64,
                    context_tokens=WINDOW,
                    input_limit_tokens=min(pool, WINDOW) - 6,
                    limit_basis="reported" if number % 3 else "derived",
                    gap_tokens=WINDOW - pool,
                    inferred=number % 4 == 1,
                    config="kv_cache_dtype=fp8_e4m3;mem_fraction_static=0.86;tp_size=8",
                    engine="sglang",
                    engine_version="0.5.18" if number + 1 < per_node else "0.5.22",
                )
            )
    return rows


def points(count: int) -> list[Point]:
    dice = random.Random(5)
    tiers = ["probable"] * 153 + ["possible"] * 12 + ["confirmed"] * 2 + ["not_assessable"] * 20
    tiers += ["ruled_out"] * (count - len(tiers))
    return [
        Point(
            at=at(dice.uniform(0, DAYS)),
            prompt_tokens=None if tier == "not_assessable" else dice.randint(681_274, WINDOW),
            node=dice.choice([*PREFILL, None]),
            tier=tier,
        )
        for tier in tiers
    ]


def lengths() -> list[Cell]:
    return [
        Cell(date(day), 2**power, max(int(90_000 * 0.62 ** abs(power - 11)) - 211 * day, 1))
        for day in range(DAYS)
        for power in range(4, 20)
        if (day, power) != (3, 4)
    ]


def prefill_times() -> list[PrefillTime]:
    return [
        PrefillTime(
            day=date(day),
            low_tokens=2**power,
            high_tokens=2 ** (power + 1),
            requests=60_000 >> (power - 10),
            p5_ms=2**power / 90 * (0.02 if power == 19 and day < 13 else 1) + day,
            long_context=power >= 18,
        )
        for day in range(DAYS)
        for power in range(10, 20)
    ]


def reasons() -> list[Reason]:
    return [
        Reason("confirmed", "foreign_marker", 2, "a reviewer found foreign content"),
        Reason("probable", "placeholder_prefill", 149, "prefill counted a page less than decode"),
        Reason("probable", "short_transfer", 121, "fewer pages arrived than were reserved"),
        Reason("probable", "rejected_but_served", 88, "rejected on one hop, served on another"),
        Reason("possible", "over_limit", 12, "at or over the limit in force"),
        Reason("ruled_out", "below_limit", 1_230_002, "prompt, limit and time known and below"),
        Reason("ruled_out", "full_transfer", 3_911, "every reserved page arrived"),
        Reason("ruled_out", "not_delivered", 464, "no token left for the client"),
        Reason("not_assessable", "over_limit", 6, "at or over the limit in force"),
    ]


def coverage() -> list[NodeCoverage]:
    nodes: list[tuple[str | None, str]] = [("gateway", "gateway")]
    nodes += [(name, name.split("-", maxsplit=1)[0]) for name in (*PREFILL, *DECODE)]
    return [
        NodeCoverage(
            name,
            hop,
            at(0),
            at(13.999),
            1_000_000 // (n + 1),
            336,
            336 - 6 * n,
            n,
            batches=n * 90_000,
            sequences=n * 1_000_000,
            unlogged_hours=4 * (n % 3),
        )
        for n, (name, hop) in enumerate(nodes)
    ] + [NodeCoverage("prefill-09/dp0", "prefill", None, None, 0, 0, 0, 0, 1_204, 4_800, 41)]
