"""The plain records of a run, one a hop, with the column names of the input contract.

A field that a hop does not know is absent. Times are RFC 3339 in UTC with microseconds,
pages and tokens are whole numbers, `prefill_ms` is milliseconds of the forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TypeAlias

from forensics.lab.clock import rfc3339
from forensics.lab.records import GatewayEntry, Handoff, LabRun, NodeHistory, Probe

Value: TypeAlias = (
    str | int | float | bool | dict[str, str | int | float] | list[dict[str, str]] | None
)
Row: TypeAlias = dict[str, Value]


def _known(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def gateway_row(entry: GatewayEntry, model: str) -> Row:
    """Return the gateway's record: client-facing counts and the final status."""
    return _known(
        {
            "hop": "gateway",
            "request_id": entry.intent.request_id,
            "tenant_id": entry.intent.tenant_id,
            "model": model,
            "received_at": rfc3339(entry.intent.arrived_at),
            "finished_at": rfc3339(entry.finished_at),
            "prompt_tokens": entry.prompt_tokens,
            "completion_tokens": entry.completion_tokens,
            "http_status": entry.http_status,
            "finish_reason": entry.finish_reason,
            "stream_error": entry.stream_error or None,
            "rejected": True if entry.rejection_code else None,
            "rejection_code": entry.rejection_code,
        }
    )


def prefill_row(handoff: Handoff) -> Row:
    """Return prefill's record under its own id; only rank 0 notes that it rejected."""
    noted = handoff.prefill_rejected and handoff.prefill_rank == 0
    return _known(
        {
            "hop": "prefill",
            "request_id": handoff.prefill_id,
            "transfer_id": str(handoff.transfer_id),
            "received_at": rfc3339(handoff.prefill_received_at),
            "prefill_node": f"{handoff.prefill_node}/dp{handoff.prefill_rank}",
            "prefill_prompt_tokens": handoff.prefill_prompt_tokens,
            "cached_tokens": handoff.cached_tokens if handoff.forward is not None else None,
            "prefill_tokens": handoff.prefill_tokens,
            "prefill_ms": None if handoff.forward is None else handoff.forward / 1_000,
            "transferred_pages": handoff.transferred_pages,
            "transfer_status": handoff.transfer_status,
            "rejected": True if noted else None,
            "rejection_code": "input_too_long" if noted else None,
        }
    )


def decode_row(handoff: Handoff) -> Row:
    """Return decode's record: what it reserved, when, and what it answered."""
    refused = handoff.http_status == 400
    return _known(
        {
            "hop": "decode",
            "request_id": handoff.intent.request_id,
            "transfer_id": str(handoff.transfer_id),
            "received_at": rfc3339(handoff.decode_received_at),
            "decode_node": f"{handoff.decode_node}/dp{handoff.decode_rank}",
            "decode_prompt_tokens": handoff.intent.prompt_tokens,
            "reserved_pages": handoff.reserved_pages,
            "reserved_at": _time(handoff.reserved_at),
            "released_at": _time(handoff.released_at),
            "completion_tokens": handoff.completion_tokens,
            "finish_reason": handoff.finish_reason,
            "http_status": handoff.http_status,
            "rejected": True if refused else None,
            "rejection_code": "input_too_long" if refused else None,
        }
    )


def probe_row(probe: Probe) -> Row:
    """Return the record of a health check or warm-up, as its node logs it."""
    node = f"{probe.node}/dp{probe.rank}"
    row: Row = {
        "hop": probe.role,
        "request_id": probe.probe_id,
        "transfer_id": str(probe.transfer_id),
        "received_at": rfc3339(probe.received_at),
        f"{probe.role}_node": node,
        f"{probe.role}_prompt_tokens": probe.prompt_tokens,
    }
    if probe.role == "prefill":
        return row | {
            "cached_tokens": 0,
            "prefill_tokens": probe.prompt_tokens,
            "prefill_ms": (probe.released_at - probe.received_at) / 1_000,
            "transferred_pages": 1,
            "transfer_status": "complete",
        }
    return row | {
        "reserved_pages": 1,
        "reserved_at": rfc3339(probe.received_at),
        "released_at": rfc3339(probe.released_at),
        "completion_tokens": 1,
        "finish_reason": "length",
        "http_status": 200,
    }


def capacity_rows(node: NodeHistory, run: LabRun) -> Iterator[Row]:
    """Yield one record a start and rank: pool, page and context in tokens, and the settings."""
    for epoch in node.epochs:
        for rank in range(node.ranks):
            yield {
                "node": f"{node.name}/dp{rank}",
                "role": node.role,
                "effective_at": rfc3339(epoch.effective_at),
                "pool_tokens": epoch.pool_tokens,
                "page_tokens": run.config.page_tokens,
                "context_tokens": run.config.context_tokens,
                "pool_basis": "reported",
                "engine": "sglang",
                "engine_version": epoch.engine_version,
                "model_version": run.config.model,
                "disaggregated": True,
                "allocator": "sorted-sweep",
                "config": asdict(epoch.settings),
            }


def _time(instant: int | None) -> str | None:
    return None if instant is None else rfc3339(instant)
