"""A million requests by time, as a made-up document has them."""

from forensics.exposure import EarlyWarning, TimingAlarm, TimingBand, TimingCell, TimingCluster
from tests.report.made.names import DAYS, at, date

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
