"""Triage of an evidence set against a bare scan and rivals: ``python -m benchmarks triage``.

Each task runs in a process of its own; the rivals answer a part of the question only (no
uncertain limits, no times held against those of the same hour), as one would write it by hand.
DuckDB and the bare scan read the same files and columns.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import data, measure, table
from benchmarks.picture import bars

Work = Callable[[], object]

COLUMNS = (
    "request_id",
    "transfer_id",
    "received_at",
    "prefill_node",
    "prompt_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "cached_tokens",
    "prefill_tokens",
    "reserved_pages",
    "transferred_pages",
)
"""What a triage reads of every row of the generated set."""
LIMIT = data.POOL_TOKENS - 6
_PARTS = "observations/**/*.parquet"


def bare(folder: Path) -> Work:
    """Scan the columns once."""
    import polars as pl

    rows = pl.scan_parquet(str(folder / _PARTS)).select(pl.col(COLUMNS).max())
    return rows.collect


def stated(folder: Path) -> Work:
    """Triage by the states of the partitions, without prefill times."""
    return _triage(folder, states=True, times=False)


def unstated(folder: Path) -> Work:
    """Triage by the partitions alone, without prefill times."""
    return _triage(folder, states=False, times=False)


def alone(folder: Path) -> Work:
    """The same by one worker; without a number it takes as many as there are processors."""
    return _triage(folder, states=False, times=False, workers=1)


def on_dask(folder: Path) -> Work:
    """The same on two workers of a Dask cluster, which are up before the clock starts."""
    import atexit

    from distributed import Client, LocalCluster

    import forensics

    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(workers)
    client.run(_imported)
    for end in (workers.close, client.close):  # the last registered comes first
        atexit.register(end)
    forensics.use(client)
    return unstated(folder)


def _imported() -> None:
    import forensics.triage.scope  # noqa: F401 -- as in every task, not against the clock


def timed(folder: Path) -> Work:
    """Triage with all prefill times scored: what ``forensics scope`` gives for any log."""
    return _triage(folder, states=False, times=True)


def _triage(folder: Path, *, states: bool, times: bool, workers: int | None = None) -> Work:
    from dataclasses import replace

    import msgspec

    from forensics.triage import scope

    def work() -> object:
        asked = scope.asked(folder)
        if isinstance(asked, str):
            raise SystemExit(asked)
        if not states:
            bare = [msgspec.structs.replace(ledger, states=()) for ledger in asked.ledgers]
            asked = replace(asked, ledgers=bare)
        return scope.scope(asked, workers, times=times)

    return work


def whole(folder: Path) -> Work:
    """Read all rows into memory and judge each: the way of every other kind of log."""
    from forensics import read_logs

    return lambda: read_logs(folder).affected.polars().height


_SQL = f"""
WITH rows AS (SELECT * FROM read_parquet(?, hive_partitioning = false)),
counted AS (
    SELECT prefill_node, received_at // 3600000000 AS hour, count(*) AS n,
           max(prompt_tokens) AS longest, max(cached_tokens) AS cached
    FROM rows GROUP BY ALL
),
kept AS (
    SELECT request_id, transfer_id, received_at, prefill_node, prompt_tokens
    FROM rows
    WHERE greatest(prompt_tokens, decode_prompt_tokens) >= {LIMIT}
       OR transferred_pages <> reserved_pages
       OR prefill_prompt_tokens <> decode_prompt_tokens
       OR prefill_tokens + cached_tokens < decode_prompt_tokens
)
SELECT (SELECT count(*) FROM counted), (SELECT sum(n) FROM counted),
       (SELECT count(*) FROM kept), (SELECT max(request_id || transfer_id) FROM kept)
"""  # noqa: S608 -- a constant


def duckdb_sql(folder: Path) -> Work:
    """Count by node and hour and list what is over or does not fit, in SQL."""
    return lambda: _asked(folder, _SQL)


_UNIQUE = (
    "SELECT count(*) - count(DISTINCT request_id), count(*) - count(DISTINCT transfer_id) "
    "FROM read_parquet(?, hive_partitioning = false)"
)


def duckdb_unique(folder: Path) -> Work:
    """The same, and whether any identifier is repeated."""
    return lambda: _asked(folder, _SQL, _UNIQUE)


_FAST = """
WITH rows AS (
    SELECT prefill_node, model, floor(log2(decode_prompt_tokens - cached_tokens)) AS length,
           prefill_ms, request_id
    FROM read_parquet(?, hive_partitioning = false)
    WHERE prefill_ms > 0 AND decode_prompt_tokens > cached_tokens
),
usual AS (
    SELECT prefill_node, model, length, quantile_cont(prefill_ms, 0.05) AS low
    FROM rows GROUP BY ALL
)
SELECT count(*), max(request_id)
FROM rows JOIN usual USING (prefill_node, model, length) WHERE prefill_ms < low / 4
"""


def duckdb_timed(folder: Path) -> Work:
    """The same, and whose prefill took a quarter of the fastest twentieth of its length."""
    return lambda: _asked(folder, _SQL, _UNIQUE, _FAST)


def _asked(folder: Path, *queries: str) -> object:
    import duckdb

    connection = duckdb.connect()
    return [connection.execute(query, [str(folder / _PARTS)]).fetchall() for query in queries]


def by_pandas(folder: Path) -> Work:
    """Count and list the same with pandas, all rows in memory."""
    import pandas as pd

    def work() -> object:
        parts = sorted(folder.glob(_PARTS))
        rows = pd.concat(pd.read_parquet(part, columns=list(COLUMNS)) for part in parts)
        hours = rows.groupby(["prefill_node", rows["received_at"] // 3_600_000_000]).size()
        kept = rows[
            (rows[["prompt_tokens", "decode_prompt_tokens"]].max(axis=1) >= LIMIT)
            | (rows["transferred_pages"] != rows["reserved_pages"])
            | (rows["prefill_prompt_tokens"] != rows["decode_prompt_tokens"])
            | (rows["prefill_tokens"] + rows["cached_tokens"] < rows["decode_prompt_tokens"])
        ]
        return len(hours), len(kept)

    return work


TASKS: dict[str, Callable[[Path], Work]] = {
    "bare scan of the same columns": bare,
    "triage by states": stated,
    "triage": unstated,
    "triage, one worker": alone,
    "triage, two Dask workers": on_dask,
    "triage with prefill times": timed,
    "DuckDB by hand": duckdb_sql,
    "DuckDB by hand, with repeated identifiers": duckdb_unique,
    "DuckDB by hand, with these and prefill times": duckdb_timed,
    "pandas by hand": by_pandas,
    "all rows in memory": whole,
}
_IN_MEMORY = ("pandas by hand", "all rows in memory")
MOST_IN_MEMORY = 2_000_000
"""Rows up to which the tasks that hold all of them are run."""


def measured(folder: Path, sizes: list[int], runs: int) -> dict[int, list[measure.Figure]]:
    """Measure all tasks on sets of so many requests, which are made where missing."""
    from benchmarks import triagedata

    found = {}
    for rows in sizes:
        there = folder / f"set-{rows}"
        if not there.exists():
            triagedata.write(there, rows)
        names = [name for name in TASKS if rows <= MOST_IN_MEMORY or name not in _IN_MEMORY]
        found[rows] = [measure.task(name, there, runs, "benchmarks.triage") for name in names]
    return found


def tables(found: dict[int, list[measure.Figure]]) -> str:
    """Return what was measured as Markdown."""
    return "\n\n".join(
        [_FACTS, *(f"### {rows:,} requests\n\n{_table(own)}" for rows, own in found.items())]
    )


def picture(found: dict[int, list[measure.Figure]]) -> str:
    """Return the times of the largest set, in times of its bare scan, as an SVG."""
    rows = max(found)
    scan, *others = found[rows]
    ratios = [(figure.name, figure.seconds / scan.seconds) for figure in (scan, *others)]
    title = f"Triage of {rows:,} requests: seconds, in times of a bare scan of its columns"
    return bars(title, ratios, frozenset(name for name in TASKS if "triage" in name))


_FACTS = (
    "## Triage of an evidence set\n\n"
    "By the wall, each in a process of its own, without start-up; the largest process and its "
    "workers, each with its peak memory."
)


def _table(found: list[measure.Figure]) -> str:
    scan = found[0].seconds
    body = [
        [f.name, f"{f.seconds:.2f}", f"× {f.seconds / scan:.1f}", f"{f.peak_bytes / 1e6:,.0f}"]
        for f in found
    ]
    return table.markdown(("", "seconds", "bare scans", "peak MB"), body)


def main(name: str, folder: str) -> None:
    """Run one task and print its seconds."""
    work = TASKS[name](Path(folder))
    begun, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
