"""What a gate saw, as capacity records in the plain format: a report reads them as evidence."""

from __future__ import annotations

import json

from forensics.live.gate import Gate, Row


def capacity_records(gate: Gate) -> bytes:
    """Return one record for each server that said its pool, as NDJSON.

    Ranks answer without their number, so that the smallest speaks for the server.
    """
    least: dict[str, Row] = {}
    for row in gate.rows:
        if row.pool is not None:
            least[row.node] = min(least.get(row.node, row), row, key=_size)
    return b"".join(_line(row, gate.asked_at) for row in least.values())


def _size(row: Row) -> tuple[int, int]:
    return (row.pool.limit, row.pool.pool) if row.pool is not None else (0, 0)


def _line(row: Row, asked_at: str) -> bytes:
    rank = row.pool
    if rank is None:
        return b""
    record = {
        "node": row.node,
        "role": rank.role,
        "effective_at": asked_at,
        "pool_tokens": rank.pool,
        "page_tokens": rank.page,
        "context_tokens": rank.window,
        "input_limit_tokens": rank.limit if rank.limit_basis == "reported" else None,
        "pool_basis": "blocks" if rank.engine == "vllm" else "reported",
        "engine": rank.engine,
        "engine_version": rank.version,
        "disaggregated": rank.role in ("prefill", "decode") if rank.role else None,
        "gate": row.passed,
    }
    known = {name: value for name, value in record.items() if value is not None}
    return json.dumps(known).encode() + b"\n"
