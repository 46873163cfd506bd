"""What the report cannot show: some always, some raised by the evidence."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.analysis import Analysis
from forensics.attribution import coresidency, tail
from forensics.coverage.counters import short
from forensics.coverage.lost import lost_hours
from forensics.coverage.quiet import edges, quiet
from forensics.exposure import Limitation
from forensics.judging import in_spite_of_length
from forensics.schema import AFFECTED_TIERS
from forensics.skew import GATEWAY
from forensics.sources.otlp import SAMPLED
from forensics.timing import blind
from forensics.verdicts import DIRECT, flag
from forensics.wording import count

_ALWAYS = {
    "content_not_read": "No content was read: that a response held foreign data is inferred from "
    "counts and times, or attested by others. Only an attestation or a canary makes it confirmed.",
    "pages_not_logged": "No log names pages. Sources are the tenants whose requests ran on the "
    "same decode rank before the read (co-residency); that a tenant is listed does not show that "
    "its data was read. Where reservations and releases are logged, the reuse of pages is replayed "
    "from them: what is named so is what a model says, and no log.",
    "unlogged_requests": "A request of which no record is left in these logs cannot be counted.",
    "one_trigger": "Ruled out means ruled out for this trigger. Other faults that mix data of "
    "requests leave other traces and were not looked for.",
    "timing_thin": "A prefill time is judged only where the prompt and its cached tokens are known "
    "with it. By itself a time that is too fast shows nothing: a prefix hit that was not counted "
    "is as fast.",
    "coverage_thin": "A time without a record counts as missing only where a log's own traffic "
    "makes it no chance: what was lost of some minutes, or of few requests an hour, is not seen. "
    "What all logs lost before the first record or after the last, only a stated window shows.",
}


def limitations(analysis: Analysis) -> list[Limitation]:
    """Return the list, never empty: the standing ones, then those that this evidence raises."""
    found = [Limitation(code, sentence) for code, sentence in _ALWAYS.items()]
    raised = (_of_the_coverage, _of_the_records, _of_the_signals, _of_the_case)
    return [*found, *(limitation for part in raised for limitation in part(analysis))]


def _of_the_records(analysis: Analysis) -> Iterator[Limitation]:
    rows = analysis.requests
    affected = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS))
    nameless = affected["tenant_id"].null_count()
    if nameless:
        sentence = f"{nameless:,} affected responses name no tenant; set [logs] tenant_from."
        yield Limitation("tenant_unknown", sentence)
    if analysis.incident.trigger.mechanism != "write":
        yield from _of_unknown_ranks(rows)
    uncounted = affected["transferred_pages"].null_count()
    if uncounted:
        sentence = f"{uncounted:,} affected responses have no count of transferred pages."
        yield Limitation("transfers_not_logged", sentence)
    inferred = int(rows["inferred"].sum())
    if inferred:
        sentence = f"{inferred:,} requests were joined by size and moment, not by an identifier."
        yield Limitation("inferred_joins", sentence)
    guessed = affected.filter(flag("tenant_inferred")).height
    if guessed:
        sentence = f"{guessed:,} affected responses have their tenant from a client record of the "
        sentence += "same size and moment, which no identifier joins."
        yield Limitation("inferred_tenants", sentence)


def _of_the_coverage(analysis: Analysis) -> Iterator[Limitation]:
    skipped = int(analysis.coverage.nodes["skipped"].sum())
    if skipped:
        sentence = (
            f"Ids number {count(skipped, 'prompt')} of calls that no record stands for: what "
        )
        sentence += "those records would show is not known."
        yield Limitation("numbers_skipped", sentence)
    gone = lost_hours(analysis.coverage, analysis.holes)
    if gone.missing and not gone.alone:
        sentence = "Node hours are missing, and they are not all that was lost, or not of one hop: "
        sentence += "their share says nothing of how many affected responses that hides. The "
        sentence += "arithmetic bound counts what other records prove."
        yield Limitation("losses_without_a_share", sentence)
    untold = quiet(analysis.coverage).untold
    if untold:
        sentence = (
            f"{count(untold, 'hour')} without a record of any log, amid hours that have some: "
        )
        sentence += "too few records, or no other day of these hours, to tell whether any was lost."
        yield Limitation("hours_untold", sentence)
    outside = edges(analysis.coverage, analysis.incident.window_us)
    if outside.before + outside.after and not outside.busy:
        sentence = (
            f"{count(outside.before, 'hour')} of the window before the first record of any log and "
            f"{outside.after:,} after the last: too few records an hour to tell whether any was "
            "lost."
        )
        yield Limitation("window_untold", sentence)
    hops = set(analysis.coverage.hours.filter(pl.col("records") > 0)["hop"])
    if GATEWAY in hops and not hops & {"prefill", "decode"}:
        sentence = "Records of gateways name none of several, and no log of an engine shows which "
        sentence += "are missing: where one gateway was silent, the records of others hide it."
        yield Limitation("gateways_as_one", sentence)
    shown = in_spite_of_length(analysis.requests).height
    if shown:
        sentence = f"Counts of pages or tokens show {count(shown, 'response')} below the limit to "
        sentence += "be affected: another cause than the length may be at work. Where a hop's "
        sentence += "logs count no pages, who is below a limit that is known is cleared by it all "
        sentence += "the same."
        yield Limitation("below_limit_affected", sentence)
    lacking = short(analysis.counted)
    if lacking:
        sentence = f"Servers counted {count(lacking, 'request')} more than their logs hold; which "
        sentence += "ones they are, and what their records would show, is not known."
        yield Limitation("counted_not_logged", sentence)


def _of_unknown_ranks(rows: pl.DataFrame) -> Iterator[Limitation]:
    nowhere, tails = coresidency.unattributed(rows), tail.unattributed(rows)
    if nowhere:
        sentence = f"{count(nowhere, 'affected response')} with no known decode rank: whoever ran "
        sentence += "on any decode rank before is listed as a possible source."
        yield Limitation("decode_rank_unknown", sentence)
    if tails:
        sentence = f"{count(tails, 'affected response')} with no known prefill rank: whose rows "
        sentence += "the rest of their one page from prefill held is not listed."
        yield Limitation("prefill_rank_unknown", sentence)


def _of_the_signals(analysis: Analysis) -> Iterator[Limitation]:
    rows = analysis.requests
    for code, (noun, sentence) in _SIGNAL.items():
        weighs = ~DIRECT if code in _TRACED else pl.lit(value=True)
        found = rows.filter(flag(code) & weighs).height
        if found:
            yield Limitation(code, f"{count(found, noun)} {sentence}")
    left = analysis.traces.unexplained()
    if left.height:
        sentence = f"{count(left.height, 'line')} {_UNEXPLAINED} {_by_node(left)}"
        yield Limitation("lines_unexplained", sentence)
    counts = analysis.traces.uncounted()
    if counts.height:
        number = int(counts["requests"].sum())
        sentence = f"{count(number, 'request')} {_UNCOUNTED} {_by_node(counts)}"
        yield Limitation("counts_unexplained", sentence)
    for sentence in blind.sentences(analysis.timing):
        yield Limitation("timing_blind", sentence)
    hits = analysis.markers.unmatched
    if hits:
        yield Limitation("marker_unmatched", f"{count(hits, 'foreign marker')} {_UNMATCHED}")
    hours = analysis.coverage.unlogged
    if hours:
        yield Limitation("work_unlogged", f"{count(hours, 'node hour')} {_UNLOGGED}")


def _by_node(lines: pl.DataFrame) -> str:
    """Say how many lines are of which node; one that counts requests is as many."""
    counts = lines.with_columns(pl.col("node").fill_null("unknown node"))
    counts = counts.group_by("node").agg(len=pl.col("requests").sum())
    counts = counts.sort("len", "node", descending=[True, False])
    named = [f"{node}: {number:,}" for node, number in counts.head(_MOST_NODES).iter_rows()]
    rest = counts.slice(_MOST_NODES)
    if rest.height:
        named.append(f"{count(rest.height, 'other node')}: {int(rest['len'].sum()):,}")
    return f"By node: {', '.join(named)}."


_MOST_NODES = 20


_TRACED = ("expired_release", "state_mismatch", "truncated_prefill")
_LATE = (
    "gave pages back while writes may have been in flight. What later requests on those ranks "
    "read cannot be told from logs; they are not marked."
)
_COLLISION = (
    "named in lines about colliding metadata. Such a line is another fault's, mostly a false "
    "alarm before that was fixed, and decides nothing here."
)
_MISMATCH = (
    "with the node, moment and size of a line that names no request. Others of that size and "
    "moment fit it as well: which one it was cannot be told."
)
_CUT = "of the size of a prompt that prefill shortened at that moment; the line names no request."
_CALIBRATED = (
    "of transferred pages computed from megabytes, at the rate of the same engine's healthy "
    "requests. Up to 0.5.11 SGLang computes these from the prompt: they can show that pages "
    "were missing, and clear nobody."
)
_EXPIRED = (
    "whose blocks prefill gave back before decode had said that it had them, and of which no line "
    "tells whether decode fetched them later."
)
_UNVERIFIED = (
    "known from a format that was read by its documentation and never checked against a real "
    "export. Such records clear nobody by themselves."
)
_SIGNAL = {
    "unverified_format": ("request", _UNVERIFIED),
    "expired_release": ("hand-off", _EXPIRED),
    "late_release": ("hand-off", _LATE),
    "metadata_collision": ("hand-off", _COLLISION),
    "state_mismatch": ("request", _MISMATCH),
    "truncated_prefill": ("request", _CUT),
    "transfer_calibrated": ("count", _CALIBRATED),
}
_UNEXPLAINED = (
    "of prefill that show a hand-off cut short and fit no request in these logs. They count in "
    "the upper bound; since they name nobody, no tenant can be told of them."
)
_UNCOUNTED = (
    "that engines only count and no line names: they ended with invalid numbers, or their blocks "
    "were given up before they were fetched, or fetched afterwards. They count in the upper bound, "
    "one with two of these signs twice; since they name nobody, no tenant can be told of them."
)
_UNMATCHED = (
    "named by a canary record under the id of a request that was logged more than a minute away, "
    "or of several requests. An id that was used again confirms nobody: these requests are judged "
    "by their logs alone."
)
_UNLOGGED = (
    "with batch lines and no record of a request: what ran there was not logged, and is in no "
    "count and in no bound."
)


_STATED = {
    "engine": "the engine",
    "engine_version": "its release",
    "disaggregated": "whether decode runs apart",
    "allocator": "how pages are used again",
    "page_tokens": "the size of a page",
    "pool_tokens": "the size of the pool",
}
"""What a replay builds on, in words."""


def _of_the_case(analysis: Analysis) -> Iterator[Limitation]:
    asked = analysis.incident
    if analysis.assumed_nodes:
        nodes = ", ".join(analysis.assumed_nodes)
        yield Limitation("zone_assumed", f"UTC was assumed for the clocks of {nodes}.")
    sampled = sum(facts.notes[SAMPLED] for facts in analysis.files)
    if sampled:
        sentence = f"{count(sampled, 'span')} of a sample, by what the trace itself says: requests "
        sentence += "whose spans were not kept are in no count."
        yield Limitation("spans_sampled", sentence)
    if asked.logs.sampling_rate < 1:
        share = f"{asked.logs.sampling_rate:g}"
        yield Limitation("sampled", f"The logs are a sample of {share} of all requests.")
    stays = [stay for stay in analysis.attribution.stays if stay.replays and stay.stated]
    if stays:
        facts = ", ".join(_STATED[name] for name in _STATED if any(name in s.stated for s in stays))
        sentence = f"Stated by hand and told by no log, for {count(len(stays), 'modelled rank')}: "
        sentence += f"{facts}. Whom the model names there is as right as that."
        yield Limitation("model_stated", sentence)
    if asked.trigger.mechanism != "read":
        sentence = (
            f"mechanism = {asked.trigger.mechanism}: a prompt below the limit clears nobody, and "
            "the two populations may stand the other way round."
        )
        yield Limitation("direction", sentence)
