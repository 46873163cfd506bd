"""What is missing of the evidence, in sentences: they make a report end with exit code 3."""

from __future__ import annotations

import re
from collections import Counter

import polars as pl

from forensics.analysis import Analysis
from forensics.arrivals import LONGEST
from forensics.attribution import onward
from forensics.bounds.sampled import of_a_sample
from forensics.clock import ZONE_UNCERTAINTY
from forensics.coverage.counters import short
from forensics.coverage.quiet import edges, quiet
from forensics.direction import WRITES
from forensics.skew import GATEWAY
from forensics.sources.howmany import any_number
from forensics.sources.otlp import SAMPLED
from forensics.sources.profiles import unfilled
from forensics.sources.profiles.shape import OWN
from forensics.sources.strangers import ASKED
from forensics.sources.vllm.year import NO_YEAR
from forensics.sources.wrappers.documents import CUT
from forensics.sources.wrappers.inner import FURTHER
from forensics.tallies import CORRUPTED, EXPIRED, READ_LATE
from forensics.traces import STATE_MISMATCH, TRUNCATED
from forensics.verdicts import BY_LENGTH, flag, ruled_by
from forensics.wording import count

LINES = {
    STATE_MISMATCH: "state-mismatch line",
    TRUNCATED: "truncation line",
    CORRUPTED: "nameless corrupted request",
    EXPIRED: "nameless expired hand-off",
    READ_LATE: "nameless late read",
}
_SEVERAL = "of an id that several tries or tenants share, any of which may have been answered"
EARLY = "from before the request came: not usable, no tier follows from it"
TOGETHER = "of several logs together that their traffic makes no chance"
_LAST = "it confirms the last of each tenant"
UNEXPLAINED = "that no joined request explains"


def incomplete(analysis: Analysis) -> list[str]:
    """Return what is missing of the evidence, in sentences; empty when it is complete."""
    unknown = analysis.requests.filter(pl.col("tier") == "not_assessable").height
    return [
        *_unread(analysis),
        *of_a_sample(analysis.incident.logs.sampling_rate),
        *_noted(analysis),
        *_some(unknown, "request", "could not be judged (not_assessable.parquet)"),
        *_hours(analysis),
        *_window(analysis),
        *_holes(analysis),
        *_signals(analysis),
        *_astray(analysis),
        *_some(analysis.unpaired, "gateway record", "without a pair among engine records"),
        *_markers(analysis),
        *_some(len(analysis.attested.unmatched), "attestation", "of requests that no log holds"),
        *_some(len(analysis.attested.early), "attestation", EARLY),
        *_some(analysis.attested.several("own"), "attestation", f"{_SEVERAL}: it lowers none"),
        *_some(analysis.attested.several("foreign"), "attestation", f"{_SEVERAL}: {_LAST}"),
        *_clocks(analysis),
        *(f"capacity: {warning}" for warning in analysis.capacity.warnings),
    ]


_WRITTEN = re.compile(r" \((?:not_assessable|unreadable|coverage)\.(?:csv|parquet)\)$")


def unwritten(sentences: list[str]) -> list[str]:
    """Return the sentences for a command that writes no files: none names one of a report's."""
    return [_WRITTEN.sub(" (`forensics report` lists them)", one) for one in sentences]


def _some(number: int, what: str, sentence: str) -> list[str]:
    """Return a sentence about so many of something, where there is any."""
    return [f"{count(number, what)} {sentence}"] if number else []


def _unread(analysis: Analysis) -> list[str]:
    """Return what could not be read."""
    begun = [f for f in analysis.files if f.format is not None]
    part = sum(any(map(any_number, f.unread)) for f in begun)
    unread = sum(not any_number(one) for f in begun for one in f.unread)
    whole = Counter(u.reason for f in analysis.files if f.format is None for u in f.unread)
    bad = sum(sum(f.bad_values.values()) for f in analysis.files)
    return [
        *([] if analysis.requests.height else ["no record of a request was read"]),
        *_some(unread, "record", "could not be read (unreadable.csv)"),
        *_some(part, "file", "not read as a whole (unreadable.csv)"),
        *(f"{count(n, 'file')} not read: {reason}" for reason, n in sorted(whole.items())),
        *_some(bad, "value", "without a readable form, taken as missing"),
    ]


def _hours(analysis: Analysis) -> list[str]:
    """Return which hours of nodes lack records."""
    seen = analysis.coverage
    skipped = int(seen.nodes["skipped"].sum())
    fewer = "with far fewer records than its own traffic or its neighbours' tells (coverage.csv)"
    return [
        *_some(seen.gaps, "node hour", "without a record (coverage.csv)"),
        *_some(quiet(seen).missing, "silence", TOGETHER),
        *_some(seen.unlogged, "node hour", "of work of which no request was logged (coverage.csv)"),
        *_some(seen.thin, "node hour", fewer),
        *_some(skipped, "prompt", "that numbered ids prove and no log holds (coverage.csv)"),
        *_some(short(analysis.counted), "request", "that servers counted and their logs lack"),
    ]


def _window(analysis: Analysis) -> list[str]:
    """Return how much of the window lies before the first and after the last record of all."""
    found = edges(analysis.coverage, analysis.incident.window_us)
    if not found.busy:
        return []
    return [
        *_some(found.before, "hour", "of the window before the first record of any log"),
        *_some(found.after, "hour", "of the window after the last record of any log"),
    ]


def _clocks(analysis: Analysis) -> list[str]:
    nodes = analysis.assumed_nodes
    edge = analysis.requests.filter(flag("clock_uncertain")).height
    return [
        *(["UTC was assumed for: " + ", ".join(nodes)] if nodes else []),
        *_some(
            edge,
            "request",
            "at an edge of the window by a clock that others contradict or of an unverified format",
        ),
    ]


def _noted(analysis: Analysis) -> list[str]:
    """Return what readers noted of files that they could read."""
    notes = sum((facts.notes for facts in analysis.files), Counter[str]())
    flags, span = [], analysis.clocks.span
    if notes[NO_YEAR] and (span is None or not span.tells):
        times = count(notes[NO_YEAR], "time")
        flags.append(f"{times} without a year, taken as missing: [scope] window would tell it")
    if notes[CUT]:
        flags.append(f"{count(notes[CUT], 'answer')} of a log store with {CUT}")
    if notes[SAMPLED]:
        flags.append(f"{count(notes[SAMPLED], 'span')} of a sample, by what the trace itself says")
    if notes[ASKED]:
        flags.append(f"{count(notes[ASKED], 'record')} in logs that were not read: {ASKED}")
    flags += _unfilled(analysis)
    if notes[FURTHER]:
        flags.append(f"{count(notes[FURTHER], 'record')} of several lines: the first one was read")
    return flags


def _unfilled(analysis: Analysis) -> list[str]:
    """Return the columns of the incident's own profiles that a whole file had no value for."""
    own = [facts for facts in analysis.files if OWN in (facts.format or "")]
    named = Counter(column for facts in own for column in unfilled.columns(facts.notes))
    return [
        f"{count(files, 'file')} read by a profile without any {column}: is its path right?"
        for column, files in sorted(named.items())
    ]


def _markers(analysis: Analysis) -> list[str]:
    """Return what canary records show of requests that are not known."""
    other = "under the id of a request of another time, or of several requests"
    return [
        *_some(analysis.markers.unlogged, "foreign marker", "seen in requests that no log holds"),
        *_some(analysis.markers.unmatched, "foreign marker", other),
    ]


def _holes(analysis: Analysis) -> list[str]:
    """Return how many requests each hop's logs lack that other hops prove."""
    lost = analysis.holes.lacking.group_by("hop").len().sort("hop")
    below = _lacked(analysis).filter(ruled_by(BY_LENGTH) | (pl.col("tier") == "not_assessable"))
    shares = dict(analysis.holes.shares.select("hop", "share").rows())
    untold = analysis.holes.untold["hop"]
    share = {
        hop: f"{shares[hop]:.0%} of what others prove in {hop} logs" for hop in untold.unique()
    }
    held = " and ".join(share[hop] for hop in sorted(share) if hop != GATEWAY)
    return [
        *(
            f"{count(number, 'request')} proved by other hops and in no {hop} log (coverage.csv)"
            for hop, number in lost.iter_rows()
        ),
        *_some(below.height, "request", f"that logs of engines lack: they hold {held}"),
        *_some(
            int((untold == GATEWAY).sum()),
            "request",
            f"that logs of gateways lack: they hold {share.get(GATEWAY)}",
        ),
        *_some(
            analysis.stood_for,
            "prefill record",
            "without decode's, for each of which a gateway record of its moment stands",
        ),
    ]


def short_of(analysis: Analysis) -> int:
    """Return how many requests are ruled out by their length that an engine's logs lack.

    Those logs count no pages, or hold troubles alone: what a record would show is not known.
    """
    return _lacked(analysis).filter(ruled_by(BY_LENGTH)).height


def _lacked(analysis: Analysis) -> pl.DataFrame:
    """Return the requests that an engine's logs lack, which does not tell that they were lost."""
    untold = analysis.holes.untold.filter(pl.col("hop") != GATEWAY)
    lacking = pl.col("handoff").is_in(untold["handoff"].unique().implode())
    return analysis.requests.filter(lacking)


def by_length(analysis: Analysis) -> int:
    """Return how many more are ruled out by length of which no prefill record counts anything."""
    rows = analysis.requests.filter(ruled_by(BY_LENGTH))
    own = [pl.col(name).is_null() for name in _PREFILL if name in rows.columns]
    return rows.filter(pl.all_horizontal(own)).height - short_of(analysis) if own else rows.height


_PREFILL = ("prefill_prompt_tokens", "transferred_pages", "transferred_tokens")


def _orphans(analysis: Analysis) -> int:
    """Return how many late releases of hand-offs that nobody names may be the case's."""
    window, times = analysis.incident.window_us, analysis.orphans
    if window is None:
        return len(times)
    start, end = window[0] - ZONE_UNCERTAINTY, window[1] + LONGEST + ZONE_UNCERTAINTY
    return int(times.is_between(start, end).fill_null(value=True).sum())


_ANYWHERE = "that may have written on any decode rank: no log names theirs"


def _astray(analysis: Analysis) -> list[str]:
    """Return how many requests may have written where nobody knows."""
    if analysis.incident.trigger.mechanism not in WRITES:
        return []
    return _some(onward.astray(analysis.requests), "request", _ANYWHERE)


def _signals(analysis: Analysis) -> list[str]:
    """Return what lines of engines show and no request accounts for."""
    flags = [
        f"{count(analysis.traces.left(kind), line)} {UNEXPLAINED}: a bound of what the joined "
        "rows miss"
        for kind, line in LINES.items()
        if analysis.traces.left(kind)
    ]
    late = analysis.requests.filter(flag("late_release") & ~flag("out_of_scope")).height
    late += _orphans(analysis)
    if late:
        handoffs = count(late, "hand-off")
        flags.append(f"{handoffs} gave pages back while writes may have been in flight")
    return flags
