"""The figures as Markdown: what was measured, on what, and the ratios."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.measure import Figure

PACKAGES = ("polars", "duckdb", "msgspec", "pyarrow")


def facts(file: Path, rows: int, runs: int) -> str:
    """Return one paragraph: date, machine, versions, data."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    size = file.stat().st_size
    return (
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {_cpus()} cores ({platform.machine()}, "
        f"{platform.system()}), Python {platform.python_version()}, {versions}. "
        f"{rows:,} requests as plain NDJSON, {size / 1e6:,.0f} MB, {size // max(rows, 1):,} bytes "
        f"each, text that is never read included. Median of {runs} run(s), each in a process of "
        "its own, without start-up; CPU is of the whole process on all cores, and steadier where "
        "others use the machine too; peak is the largest resident memory of those runs."
    )


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def throughput(figures: Sequence[Figure], rows: int, size: int) -> str:
    """Return the table of tasks, with the ratio of their time to each bare scan."""
    bare = [figure for figure in figures if figure.name.startswith("bare ")]
    head = ["", "seconds", "rows/s", "MB/s", "CPU s", "peak MB", *(f"× {b.name}" for b in bare)]
    body = [
        [
            figure.name,
            f"{figure.seconds:.2f}",
            f"{rows / figure.seconds:,.0f}",
            f"{size / 1e6 / figure.seconds:,.0f}",
            f"{figure.cpu_seconds:.1f}",
            f"{figure.peak_bytes / 1e6:,.0f}",
            *(f"{figure.seconds / b.seconds:.1f}" for b in bare),
        ]
        for figure in figures
    ]
    return _markdown(head, body)


def startup(figures: Sequence[Figure]) -> str:
    """Return the table of commands, measured with their start-up."""
    body = [
        [f.name, f"{f.seconds:.2f}", f"{f.cpu_seconds:.2f}", f"{f.peak_bytes / 1e6:,.0f}"]
        for f in figures
    ]
    return _markdown(["with start-up", "seconds", "CPU s", "peak MB"], body)


def _markdown(head: list[str], body: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))
