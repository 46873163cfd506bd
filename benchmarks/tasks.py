"""What is measured, one task a process: ``python -m benchmarks.tasks TASK FILE``.

A task imports what it needs, then runs against the clock and prints its seconds, by the
wall and of the CPU, as JSON. Start-up is left out here; it is measured on its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
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
    """Project the needed columns with DuckDB alone."""
    import duckdb

    columns = {name: _DUCKDB[kind] for name, kind in _kinds().items()}
    wanted = ", ".join(f"max({name})" for name in COLUMNS)
    query = f"SELECT {wanted} FROM read_json(?, columns=?, format='newline_delimited')"  # noqa: S608
    return lambda: (
        duckdb.connect(config={"threads": 1}).execute(query, [str(file), columns]).fetchall()
    )


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
    "NDJSON: reading pass": Task("requests", reading),
    "NDJSON: whole report": Task("requests", report, None),
    "SGLang node log: bare polars scan": Task("node log", polars_lines),
    "SGLang node log: reading pass": Task("node log", reading),
}


def main(name: str, file: str) -> None:
    """Run one task and print its seconds."""
    work = TASKS[name].ready(Path(file))
    begun, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
