"""Made-up documents: a large incident, nothing at all, and one with hostile names."""

import msgspec

from forensics.exposure import (
    Bound,
    Case,
    Change,
    Check,
    ClockPair,
    Compared,
    Containment,
    Day,
    Exposure,
    FormatCount,
    Headline,
    Limitation,
    Missing,
    Moment,
    Ongoing,
    Reason,
    Rejections,
    Scope,
    Step,
    TierCount,
    Tool,
)
from tests.report.made.decided import checklist, clocks, edges, isolation
from tests.report.made.found import (
    coverage,
    epochs,
    headline,
    lengths,
    points,
    prefill_times,
    reasons,
)
from tests.report.made.names import DAYS, HOSTILE, PREFILL, at, date
from tests.report.made.parties import attribution, deliberate, recipients, sources
from tests.report.made.timings import timing


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
            Step("triggered", 4_139, "met the condition of the fault, or may have"),
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
