"""OpenTelemetry spans, one export a line: the root span of each request, and its scheduler's."""

from __future__ import annotations

import json
from collections.abc import Mapping

from forensics.lab.clock import Micros
from forensics.lab.records import Handoff, LabRun, NodeHistory
from forensics.lab.surfaces.answers import CANARY, Record, meta_info, request_id
from forensics.lab.surfaces.default import answered, default_log


def span_file(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
    """Return the node's log, and its spans in a folder of the node's name."""
    lines = [
        json.dumps(_export(node.role, at, handoff)) + "\n" for at, handoff in answered(run, node)
    ]
    return {**default_log(run, node), f"{node.name}/spans.jsonl": "".join(lines).encode()}


def _export(role: str, at: Micros, handoff: Handoff) -> Record:
    trace = f"{handoff.transfer_id:032x}"
    root, child = f"{handoff.number * 2:016x}", f"{handoff.number * 2 + 1:016x}"
    arrived = handoff.prefill_received_at if role == "prefill" else handoff.decode_received_at
    rank = handoff.prefill_rank if role == "prefill" else handoff.decode_rank
    ends = {"startTimeUnixNano": str(arrived * 1_000), "endTimeUnixNano": str(at * 1_000)}
    spans = [
        {
            "traceId": trace,
            "spanId": root,
            "name": f"{role} Req {request_id(handoff, role)[:8]}",
            **ends,
            "attributes": _attributes(_root(role, handoff)),
        },
        {
            "traceId": trace,
            "spanId": child,
            "parentSpanId": root,
            "name": f"Scheduler [TP {rank * 4}] [DP {rank}] (host:3f2a|pid:{4_000 + rank})",
            **ends,
            "attributes": _attributes({"tp_rank": rank * 4, "dp_rank": rank}),
        },
    ]
    resource = {"attributes": _attributes({"service.name": "sglang", "note": f"{CANARY} host"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


def _root(role: str, handoff: Handoff) -> Record:
    meta = meta_info(handoff, role)
    at_length = role == "prefill" or handoff.finish_reason == "length"
    return {
        "rid": request_id(handoff, role),
        "module": "sglang::request",
        "bootstrap_room": hex(handoff.transfer_id),
        "gen_ai.request.id": request_id(handoff, role),
        "gen_ai.usage.prompt_tokens": meta["prompt_tokens"],
        "gen_ai.usage.completion_tokens": meta["completion_tokens"],
        "gen_ai.usage.cached_tokens": meta["cached_tokens"],
        "gen_ai.response.finish_reasons": json.dumps(["length" if at_length else "stop"]),
        "gen_ai.prompt": f"{CANARY} no attribute of this engine, but of its neighbours",
    }


def _attributes(values: Record) -> list[Record]:
    return [
        {"key": key, "value": {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}}
        for key, v in values.items()
    ]
