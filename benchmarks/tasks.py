"""What is measured, one task a process: ``python -m benchmarks.tasks TASK FILE``.

A task imports what it needs, then runs against the clock and prints its seconds, by the
wall and of the CPU, as JSON. Start-up is left out here; it is measured on its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from benchmarks.data import COLUMNS

Work = Callable[[], object]
Input = Literal["requests", "node log"]

_POLARS = {"id": "String", "count": "Int64", "measure": "Float64", "time": "String"}
_DUCKDB = {"id": "VARCHAR", "count": "BIGINT", "measure": "DOUBLE", "time": "VARCHAR"}


@dataclass(frozen=True)
class Task:
    """Something to measure, which of the generated files it reads, and how it is made ready."""

    reads: Input
    ready: Callable[[Path], Work]
    threads: int | None = 1
    """Of Polars: one says what one core does, None as many as there are."""


def _kinds() -> dict[str, str]:
    """Return how each column is read; names and codes are text as identifiers are."""
    from forensics.sources.records import KINDS

    return {name: KINDS[name] if KINDS[name] in _POLARS else "id" for name in COLUMNS}


def polars_scan(file: Path) -> Work:
    """Project the needed columns with Polars alone."""
    import polars as pl

    schema = {name: getattr(pl, _POLARS[kind]) for name, kind in _kinds().items()}
    return lambda: pl.scan_ndjson(file, schema=schema).select(pl.all().max()).collect()


def duckdb_scan(file: Path) -> Work:
    """Project the needed columns with DuckDB alone, on one thread."""
    return _projected([file], 1)


def duckdb_on_all(file: Path) -> Work:
    """The same on all cores, of a file for each of them."""
    return _projected(_shares(file), cores())


def _projected(files: Sequence[Path], threads: int) -> Work:
    import duckdb

    columns = {name: _DUCKDB[kind] for name, kind in _kinds().items()}
    wanted = ", ".join(f"max({name})" for name in COLUMNS)
    query = f"SELECT {wanted} FROM read_json(?, columns=?, format='newline_delimited')"  # noqa: S608
    asked = [list(map(str, files)), columns]
    return lambda: duckdb.connect(config={"threads": threads}).execute(query, asked).fetchall()


def _shares(file: Path) -> list[Path]:
    """Return files that hold the lines of one, a file for each core, in a folder beside it."""
    folder = file.with_name(f"{file.stem}-on-{cores()}")
    if not folder.exists():
        unfinished = folder.with_suffix(".part")
        unfinished.mkdir()
        with file.open("rb") as lines:
            for number in range(cores()):
                with (unfinished / f"{number:03}{file.suffix}").open("wb") as share:
                    for line in lines:
                        share.write(line)
                        if lines.tell() * cores() >= file.stat().st_size * (number + 1):
                            break
        unfinished.rename(folder)
    return sorted(folder.iterdir())


def python_loop(file: Path) -> Work:
    """Take the columns of each line with ``json.loads``: what a script of ten lines does."""

    def work() -> object:
        with file.open("rb") as lines:
            kept = [tuple(map(json.loads(line).get, COLUMNS)) for line in lines]
        return len(kept)

    return work


def polars_lines(file: Path) -> Work:
    """Find the lines of time statistics with Polars alone, and take one field of them."""
    import polars as pl

    line = pl.col("line")
    tokens = line.str.extract(r"input_len=(\d+)", 1).cast(pl.Int64)
    found = pl.scan_lines(file, name="line").filter(line.str.contains("ReqTimeStats", literal=True))
    return lambda: found.select(tokens.max()).collect()


def reading(file: Path) -> Work:
    """Run the reading pass: hash, parse, type, check and write content-free parts."""
    from forensics.incident import Incident
    from forensics.sources.files import expand
    from forensics.sources.reading import Shard, read_shard

    def work() -> object:
        with tempfile.TemporaryDirectory() as folder:
            return read_shard(Shard(tuple(expand(file)), Incident(), Path(folder)))

    return work


def evidence_set(file: Path) -> Work:
    """Make an evidence set, hashing and all, in one process."""
    return _ingested([file], 1)


def set_on_all(file: Path) -> Work:
    """The same of a file for each core, in as many processes: what a command does by itself."""
    return _ingested(_shares(file), cores())


def _ingested(files: Sequence[Path], workers: int) -> Work:
    from forensics.ingest import ingest

    def work() -> object:
        with tempfile.TemporaryDirectory() as folder:
            return ingest(*files, out=Path(folder) / "set", workers=workers)

    return work


def report(file: Path) -> Work:
    """Run the whole of ``report``."""
    from forensics import read_logs

    import_module("forensics.reporting")  # before the clock starts, as everywhere here

    def work() -> object:
        with tempfile.TemporaryDirectory() as folder:
            return read_logs(file).report(Path(folder) / "out")

    return work


TASKS: dict[str, Task] = {
    "NDJSON: bare polars scan": Task("requests", polars_scan),
    "NDJSON: bare duckdb scan": Task("requests", duckdb_scan),
    "NDJSON: Python loop": Task("requests", python_loop),
    "NDJSON: reading pass": Task("requests", reading),
    "NDJSON: to an evidence set": Task("requests", evidence_set),
    "NDJSON: bare duckdb scan, all cores": Task("requests", duckdb_on_all, None),
    "NDJSON: to an evidence set, all cores": Task("requests", set_on_all, None),
    "NDJSON: whole report": Task("requests", report, None),
    "SGLang node log: bare polars scan": Task("node log", polars_lines),
    "SGLang node log: reading pass": Task("node log", reading),
}


def cores() -> int:
    """Return how many processors there are to use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_seconds() -> float:
    """Return what this process took, and those that it waited for."""
    took = os.times()
    return time.process_time() + took.children_user + took.children_system


def main(name: str, file: str) -> None:
    """Run one task and print its seconds."""
    work = TASKS[name].ready(Path(file))
    begun, cpu = time.perf_counter(), _cpu_seconds()
    work()
    seconds, cpu_seconds = time.perf_counter() - begun, _cpu_seconds() - cpu
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
