"""What is measured, one task a process: ``python -m benchmarks.tasks TASK FILE``.

A task imports what it needs, then runs against the clock and prints its seconds as
JSON. Start-up is left out here; it is measured on its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks.data import COLUMNS

Work = Callable[[], object]

_POLARS = {"id": "String", "count": "Int64", "measure": "Float64", "time": "String"}
_DUCKDB = {"id": "VARCHAR", "count": "BIGINT", "measure": "DOUBLE", "time": "VARCHAR"}


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
    return lambda: duckdb.connect().execute(query, [str(file), columns]).fetchall()


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


TASKS: dict[str, Callable[[Path], Work]] = {
    "bare polars scan": polars_scan,
    "bare duckdb scan": duckdb_scan,
    "forensics, reading pass": reading,
    "forensics, whole report": report,
}


def main(name: str, file: str) -> None:
    """Run one task and print its seconds."""
    work = TASKS[name](Path(file))
    begun = time.perf_counter()
    work()
    print(json.dumps({"seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    main(*sys.argv[1:])
