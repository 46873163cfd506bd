"""What a gate saw, as capacity records in the plain format: a report reads them as evidence."""

from __future__ import annotations

import json

from forensics.live.gate import Gate


def capacity_records(gate: Gate) -> bytes:
    """Return one record a rank that said its pool, as NDJSON."""
    lines = []
    for row in gate.rows:
        if row.pool is None:
            continue
        rank = row.pool
        record = {
            "node": row.node,
            "role": rank.role,
            "effective_at": gate.asked_at,
            "pool_tokens": rank.pool,
            "page_tokens": rank.page,
            "context_tokens": rank.window,
            "input_limit_tokens": rank.limit if rank.limit_basis == "reported" else None,
            "pool_basis": "blocks" if rank.engine == "vllm" else "reported",
            "engine": rank.engine,
            "engine_version": rank.version,
            "disaggregated": rank.role in ("prefill", "decode") if rank.role else None,
        }
        known = {name: value for name, value in record.items() if value is not None}
        lines.append(json.dumps(known) + "\n")
    return "".join(lines).encode()
