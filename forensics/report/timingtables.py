"""The tables of what prefill times said."""

from __future__ import annotations

from typing import Final

from forensics.report.spec import Column, Spec, count

_REQUESTS: Final = count("Requests", "requests")

SPECS: Final = (
    Spec(
        "early_warnings",
        "How soon it would have been seen on these logs, by four ways to watch",
        lambda exposure: exposure.early_warnings,
        (
            Column("Watch", "signal"),
            Column("Fired", "state", "code"),
            Column("First (UTC)", "first", "time"),
            count("Affected responses before", "before"),
            count("of (with a known time)", "affected"),
            count("Watched (units)", "watched"),
            count("Alarms (units)", "alarms"),
            count("Clean (units)", "clean"),
            count("False alarms (units)", "false_alarms"),
            Column("In words", "sentence", "sentence"),
        ),
        empty="Not asked.",
    ),
    Spec(
        "timing",
        "Prefill time by tokens to compute: what was expected, and how many were out of it",
        lambda exposure: exposure.timing_band,
        (
            count("From (tokens to compute)", "tokens"),
            _REQUESTS,
            Column("Expected, least (ms)", "least_ms", "measure"),
            Column("Expected, most (ms)", "most_ms", "measure"),
            count("Too fast (requests)", "too_fast"),
            count("Slow (requests)", "slow"),
        ),
        empty="No request has a prefill time that its tokens could be held against.",
    ),
    Spec(
        "timing_alarms",
        "Days with an alarm hour of the 5th percentile, by prompt length",
        lambda exposure: exposure.timing_alarms,
        (
            Column("Day (UTC)", "day"),
            count("Prompt length from (tokens)", "low_tokens"),
            count("up to, not including (tokens)", "high_tokens"),
            Column("Long context", "long_context"),
            count("Hours with requests", "hours"),
            count("Alarm hours", "alarms"),
            Column("Lowest p5 of these (ms)", "lowest_p5_ms", "measure"),
            Column("Usual p5 (ms)", "usual_ms", "measure"),
        ),
        empty="In no hour did a 5th percentile fall below half of what is usual.",
    ),
    Spec(
        "clusters",
        "Clusters of requests too fast or slow for their tokens",
        lambda exposure: exposure.timing_clusters,
        (
            Column("Cluster", "cluster"),
            Column("Kind", "word"),
            _REQUESTS,
            Column("First (UTC)", "first_at", "time"),
            Column("Last (UTC)", "last_at", "time"),
            Column("Nodes", "nodes", "ids"),
            Column("Why", "reason", "sentence"),
        ),
        file="timing_clusters.csv",
        empty="No request was too fast or slow for its tokens together with others.",
    ),
)
