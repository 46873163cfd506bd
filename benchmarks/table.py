"""The figures as Markdown: what was measured, on what, and the ratios."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata

from benchmarks.measure import Figure
from benchmarks.tasks import cores

PACKAGES = ("polars", "duckdb", "msgspec", "pyarrow")
HEAD = (
    "",
    "MB",
    "seconds",
    "lines/s",
    "CPU s",
    "MB/s per core",
    "CPU s of each bare scan",
    "peak MB, a quarter",
    "peak MB",
)


@dataclass(frozen=True)
class Row:
    """One task on a whole file and on a file of a quarter of its lines."""

    figure: Figure
    quarter: Figure
    size: int
    lines: int
    peers: tuple[Figure, ...] = ()
    """Bare scans of the same file."""


def facts(runs: int) -> str:
    """Return one paragraph: date, machine, versions, and what the columns are."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return (
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {cores()} cores ({platform.machine()}, "
        f"{platform.system()}), Python {platform.python_version()}, {versions}. "
        f"Median of {runs} run(s), each in a process of its own, without start-up. Scans and "
        "reading passes run on one thread, what is on all cores and the whole report on as many as "
        "there are: the set is made by a process for each, with its start, of a file for each. A "
        "set is held against the scan on as many cores. CPU seconds are of all threads and "
        "processes; MB/s per core is the file's size by them. Files are "
        "plain, with text that is never read included. Peak is the largest resident memory, on "
        "of any one process, on the file and on one of a quarter of its lines."
    )


def throughput(rows: Sequence[Row]) -> str:
    """Return the table of tasks, with the ratio of their CPU time to that of each bare scan."""
    return markdown(HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    figure = row.figure
    ratios = (f"× {figure.cpu_seconds / peer.cpu_seconds:.1f}" for peer in row.peers)
    return [
        figure.name,
        f"{row.size / 1e6:,.0f}",
        f"{figure.seconds:.2f}",
        f"{row.lines / figure.seconds:,.0f}",
        f"{figure.cpu_seconds:.2f}",
        f"{row.size / 1e6 / figure.cpu_seconds:,.0f}",
        ", ".join(ratios),
        f"{row.quarter.peak_bytes / 1e6:,.0f}",
        f"{figure.peak_bytes / 1e6:,.0f}",
    ]


def startup(figures: Sequence[Figure]) -> str:
    """Return the table of commands, measured with their start-up."""
    body = [
        [f.name, f"{f.seconds:.2f}", f"{f.cpu_seconds:.2f}", f"{f.peak_bytes / 1e6:,.0f}"]
        for f in figures
    ]
    return markdown(("with start-up", "seconds", "CPU s", "peak MB"), body)


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns but the first are to the right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))
