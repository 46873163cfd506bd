"""What is missing of the evidence, in sentences: they make a report end with exit code 3."""

from __future__ import annotations

from collections import Counter

import polars as pl

from forensics.analysis import Analysis
from forensics.traces import STATE_MISMATCH, TRUNCATED
from forensics.verdicts import flag
from forensics.wording import count

LINES = {STATE_MISMATCH: "state-mismatch line", TRUNCATED: "truncation line"}
UNEXPLAINED = "that no joined request explains"


def incomplete(analysis: Analysis) -> list[str]:
    """Return what is missing of the evidence, in sentences; empty when it is complete."""
    flags = []
    if not analysis.requests.height:
        flags.append("no record of a request was read")
    unread = sum(len(f.unread) for f in analysis.files if f.format is not None)
    whole = Counter(u.reason for f in analysis.files if f.format is None for u in f.unread)
    bad = sum(sum(f.bad_values.values()) for f in analysis.files)
    unknown = analysis.requests.filter(pl.col("tier") == "not_assessable").height
    if unread:
        flags.append(f"{count(unread, 'record')} could not be read (unreadable.csv)")
    flags += [f"{count(n, 'file')} not read: {reason}" for reason, n in sorted(whole.items())]
    if bad:
        flags.append(f"{count(bad, 'value')} without a readable form, taken as missing")
    if unknown:
        flags.append(f"{count(unknown, 'request')} could not be judged (not_assessable.parquet)")
    if analysis.coverage.gaps:
        flags.append(
            f"{count(analysis.coverage.gaps, 'node hour')} without a record (coverage.csv)"
        )
    if analysis.coverage.unlogged:
        hours = count(analysis.coverage.unlogged, "node hour")
        flags.append(f"{hours} of work of which no request was logged (coverage.csv)")
    flags += _signals(analysis)
    if analysis.unpaired:
        flags.append(
            f"{count(analysis.unpaired, 'gateway record')} without a pair among engine records"
        )
    if analysis.markers.unlogged:
        hits = count(analysis.markers.unlogged, "foreign marker")
        flags.append(f"{hits} seen in requests that no log holds")
    if analysis.assumed_nodes:
        flags.append("UTC was assumed for: " + ", ".join(analysis.assumed_nodes))
    flags += [f"capacity: {warning}" for warning in analysis.capacity.warnings]
    return flags


def _signals(analysis: Analysis) -> list[str]:
    """Return what lines of engines show and no request accounts for."""
    flags = [
        f"{count(analysis.traces.left(kind), line)} {UNEXPLAINED}: a bound of what the joined "
        "rows miss"
        for kind, line in LINES.items()
        if analysis.traces.left(kind)
    ]
    late = analysis.requests.filter(flag("late_release") & ~flag("out_of_scope")).height
    if late:
        handoffs = count(late, "hand-off")
        flags.append(f"{handoffs} gave pages back while writes may have been in flight")
    return flags
