"""What a canary run found, as gauges that node_exporter's textfile collector picks up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from forensics.live import gauges
from forensics.live.gauges import Metric

FOREIGN = "forensics_canary_foreign_markers"
PASSED = "forensics_canary_passed"
LAST_RUN = "forensics_canary_last_run_timestamp_seconds"


def write(path: Path, foreign: int, *, passed: bool) -> None:
    """Write the gauges, whole."""
    now = int(datetime.now(UTC).timestamp())
    seen = "Markers seen where they were not planted, last run"
    gauges.write(
        path,
        [
            Metric(FOREIGN, "gauge", seen, {"": foreign}),
            Metric(PASSED, "gauge", "1 where the last run passed", {"": int(passed)}),
            Metric(LAST_RUN, "gauge", "When the last run ended", {"": now}),
        ],
    )
