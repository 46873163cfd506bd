"""What a canary run found, as gauges that node_exporter's textfile collector picks up."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

FOREIGN = "forensics_canary_foreign_markers"
PASSED = "forensics_canary_passed"
LAST_RUN = "forensics_canary_last_run_timestamp_seconds"


def write(path: Path, foreign: int, *, passed: bool) -> None:
    """Write the gauges, whole: the collector may read at any moment."""
    gauges = {
        FOREIGN: ("Markers seen where they were not planted, last run", foreign),
        PASSED: ("1 where the last run passed", int(passed)),
        LAST_RUN: ("When the last run ended", int(datetime.now(UTC).timestamp())),
    }
    text = "".join(
        f"# HELP {name} {help_text}.\n# TYPE {name} gauge\n{name} {value}\n"
        for name, (help_text, value) in gauges.items()
    )
    descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # Readable by the collector, which runs as another user: it holds three numbers.
        Path(made).chmod(0o644)
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
