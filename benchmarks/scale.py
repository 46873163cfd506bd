"""What a far larger incident would take, on paper: ``python -m benchmarks.scale``.

Measures what one core reads, what a shard leaves behind and what a report holds in memory, then
simulates many shards on many workers, some slow and some lost. Prints Markdown; ``--write``
puts it into a file. Everything is in the page: what was measured, what is assumed.
"""

from __future__ import annotations

import argparse
import heapq
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import data, measure, table

REQUESTS = 10**11
NODES = 10_000
HOPS = 3
DAYS = 14
SEED = 53
RUNS = 25
STRAGGLERS, SLOWER = 0.03, 5.0
LOST = 0.005
OVERHEAD = 0.001
"""Seconds of a scheduler for each task, one task after another."""
PRICE = 0.04
"""Of a core for an hour, in any currency."""


@dataclass(frozen=True)
class Measured:
    """Figures of one machine: of one core, of one record, and of a report's memory."""

    bytes_a_second: float
    bytes_a_record: float
    part_bytes_a_record: float
    report_bytes_a_request: float
    requests: int


@dataclass(frozen=True)
class Run:
    """One simulated pass: hours by the wall, and how many attempts were made."""

    hours: float
    attempts: int


def main() -> None:
    """Measure, simulate, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="requests to measure with")
    parser.add_argument("--write", type=Path, help="write the page to this file too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forensics-scale-") as folder:
        text = page(measured(Path(folder), asked.rows))
    print(text)
    if asked.write:
        asked.write.write_text(f"{text}\n", encoding="utf-8")


def measured(folder: Path, rows: int) -> Measured:
    """Return the figures, from two files of which one is four times the other."""
    whole, quarter = folder / "whole.ndjson", folder / "quarter.ndjson"
    data.write(whole, rows)
    data.write(quarter, rows // 4)
    reading = measure.task("NDJSON: reading pass", whole, 3, threads=1)
    large = measure.task("NDJSON: whole report", whole, 1)
    small = measure.task("NDJSON: whole report", quarter, 1)
    size = whole.stat().st_size
    return Measured(
        size / reading.cpu_seconds,
        size / rows,
        _parts(whole, folder) / rows,
        max(0.0, (large.peak_bytes - small.peak_bytes) / (rows - rows // 4)),
        rows,
    )


def _parts(file: Path, folder: Path) -> int:
    """Return the bytes of the content-free parts that reading a file leaves."""
    from forensics.incident import Incident
    from forensics.sources.files import expand
    from forensics.sources.reading import Shard, read_shard

    parts = folder / "parts"
    parts.mkdir()
    return sum(
        path.stat().st_size
        for path in read_shard(Shard(tuple(expand(file)), Incident(), parts)).parts
    )


def simulate(shards: int, seconds: float, workers: int, seed: int) -> Run:
    """Return one pass over shards of about the same length on workers that may be slow or lost.

    A task is handed out when a worker is free and the scheduler has come to it. A slow worker takes
    :data:`SLOWER` times as long; a lost one is noticed at the end of its task, which is done again.
    """
    draw = random.Random(seed)
    free = [0.0] * workers
    left, scheduler, end, attempts = shards, 0.0, 0.0, 0
    while left:
        at = heapq.heappop(free)
        scheduler = max(scheduler, at) + OVERHEAD
        lasts = seconds * draw.lognormvariate(0, 0.25)
        lasts *= SLOWER if draw.random() < STRAGGLERS else 1.0
        done = scheduler + lasts
        heapq.heappush(free, done)
        attempts += 1
        if draw.random() >= LOST:
            left -= 1
            end = max(end, done)
    return Run(end / 3600, attempts)


def page(found: Measured) -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines(found))


def _lines(found: Measured) -> Iterator[str]:
    records = REQUESTS * HOPS
    size = records * found.bytes_a_record
    core_hours = size / found.bytes_a_second / 3600
    yield "# At a larger scale, on paper"
    yield ""
    yield "Written by `python -m benchmarks.scale --write docs/scale.md`; not edited by hand."
    yield ""
    yield table.facts(3).partition("Median of")[0].strip()
    yield ""
    yield (
        f"The question: {REQUESTS:.0e} requests of {DAYS} days, a record on each of {HOPS} hops, "
        f"on {NODES:,} nodes, in files that all workers can read."
    )
    yield ""
    yield from ("## What was measured", "")
    yield from _told(
        (f"one core reads, with {found.requests:,} requests",
         f"{found.bytes_a_second / 1e6:,.0f} MB/s"),
        ("a record, with text that is never read", f"{found.bytes_a_record:,.0f} bytes"),
        ("the same without content, as Parquet", f"{found.part_bytes_a_record:,.0f} bytes"),
        ("memory of a report for each further request",
         f"{found.report_bytes_a_request:,.0f} bytes"),
    )  # fmt: skip
    yield from ("## What follows for reading", "")
    yield from _told(
        ("logs", f"{size / 1e12:,.0f} TB"),
        ("of a node and day", f"{size / NODES / DAYS / 1e9:,.2f} GB"),
        ("evidence set without content", f"{records * found.part_bytes_a_record / 1e12:,.1f} TB"),
        ("core hours", f"{core_hours:,.0f}"),
        (f"cost at {PRICE} a core hour", f"{core_hours * PRICE:,.0f}"),
    )
    yield (
        f"Simulated, median of {RUNS} passes: {STRAGGLERS:.0%} of tasks take {SLOWER:g} times as "
        f"long, {LOST:.1%} are lost and done again, a scheduler spends {OVERHEAD * 1000:g} ms on "
        "each. "
        "*Ideal* is the work divided by the workers."
    )
    yield ""
    yield table.markdown(
        ("workers of one core", "shard", "shards", "hours", "times the ideal", "attempts"),
        list(_passes(found, size)),
    )
    yield ""
    yield from _rest(found)


def _told(*rows: tuple[str, str]) -> Iterator[str]:
    yield table.markdown(("", ""), rows)
    yield ""


def _passes(found: Measured, size: float) -> Iterator[list[str]]:
    for workers in (1_000, 5_000):
        ideal = size / found.bytes_a_second / 3600 / workers
        for shard in (2**30, 2**32, 2**35):
            count = -(-int(size) // shard)
            runs = [
                simulate(count, shard / found.bytes_a_second, workers, SEED + number)
                for number in range(RUNS if count < 50_000 else 3)
            ]
            hours = median(run.hours for run in runs)
            yield [
                f"{workers:,}",
                f"{shard / 2**30:g} GiB",
                f"{count:,}",
                f"{hours:,.1f}",
                f"{hours / ideal:.2f}",
                f"{median(run.attempts for run in runs):,.0f}",
            ]


def _rest(found: Measured) -> Iterator[str]:
    memory = REQUESTS * found.report_bytes_a_request
    machine = 2**38
    yield from ("## What does not scale yet", "")
    yield (
        "Reading and joining run anywhere, in pieces; what comes after them, verdicts, holds the "
        f"requests of one report in the memory of one machine. All {REQUESTS:.0e} would take "
        f"{memory / 1e12:,.0f} TB. A machine of {machine / 2**30:g} GiB holds about "
        f"{machine / max(found.report_bytes_a_request, 1):,.0f} requests, so a case of this size "
        "is cut first, along lines that no request crosses:"
    )
    yield from (
        "",
        "* by model and by the prefill and decode nodes that hand over to each other;",
        "* by day, with the hours around midnight read on both sides.",
        "",
    )
    yield (
        "The evidence set is laid out by day and node, so that each part is read alone. The tables "
        "of the parts have a full key and are put together by it; that is left to whoever runs it."
    )


if __name__ == "__main__":
    main()
