"""What a finished request's record says on each side, whatever surface holds it."""

from __future__ import annotations

from typing import TypeAlias

from forensics.lab.clock import SECOND
from forensics.lab.records import Handoff

CANARY = "SYNTHETIC-CANARY"
Record: TypeAlias = dict[str, object]


def request_id(handoff: Handoff, role: str) -> str:
    """Return the id under which that side knows the request."""
    return handoff.prefill_id if role == "prefill" else handoff.intent.request_id


def meta_info(handoff: Handoff, role: str) -> Record:
    """Return the engine's figures of a finished request.

    A healthy prefill answer says ``length`` with length 0, just as a placeholder's does.
    """
    prefill = role == "prefill"
    arrived = handoff.prefill_received_at if prefill else handoff.decode_received_at
    ended = (handoff.transferred_at or handoff.finished_at) if prefill else handoff.finished_at
    began = arrived + handoff.queued
    computed = began + (handoff.forward or 0)
    reason: Record = {"type": "length", "length": 0}
    if not prefill and handoff.finish_reason == "length":
        reason = {"type": "length", "length": handoff.completion_tokens}
    elif not prefill:
        reason = {"type": "stop", "matched": 154_820}
    return {
        "id": request_id(handoff, role),
        "finish_reason": reason,
        "prompt_tokens": handoff.prefill_prompt_tokens if prefill else handoff.intent.prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "forward_entry_time": began / SECOND,
        "prefill_finished_time": computed / SECOND if prefill else None,
        "queue_time": handoff.queued / SECOND,
        "reasoning_tokens": 0,
        "completion_tokens": 1 if prefill else handoff.completion_tokens,
        "cached_tokens": handoff.cached_tokens,
        "dp_rank": handoff.prefill_rank if prefill else handoff.decode_rank,
        "e2e_latency": (ended - arrived) / SECOND,
        "request_received_ts": arrived / SECOND,
        "request_finished_ts": ended / SECOND,
    }


def parameters(handoff: Handoff, role: str, *, content: bool) -> Record:
    """Return the request's own fields, with what no reader may keep where ``content``."""
    asked: Record = {"rid": request_id(handoff, role)}
    if content:
        trap = f"{CANARY} it's \"quoted\", bootstrap_room=7, 'prompt_tokens': 5, \\"
        asked |= {"text": trap, "input_ids": [17, 104_746, 57_923]}
    arrived = handoff.prefill_received_at if role == "prefill" else handoff.decode_received_at
    return asked | {
        "sampling_params": {"temperature": 1.0, "stop": [f"{CANARY}-STOP"]},
        "stream": True,
        "bootstrap_host": "10.12.0.3",
        "bootstrap_port": 8998,
        "bootstrap_room": handoff.transfer_id,
        "routing_key": f"rk-{handoff.intent.tenant_id}",
        "custom_labels": {"tenant": handoff.intent.tenant_id},
        "received_time": arrived / SECOND,
    }
