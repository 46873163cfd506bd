"""The surfaces that name each request with its room and its length, as each version writes them.

Each returns the files of one node, its ordinary log among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.fleets.nodelog import node_log
from tests.fleets.timestats import stats
from tests.fleets.versions import Fleet, Handoff, line, stamp

Files = dict[str, str]
Surface = Callable[[Fleet, str], Files]


def default(fleet: Fleet, side: str) -> Files:
    return {f"{fleet.node(side)}.log": node_log(fleet, side, [])}


def time_stats(fleet: Fleet, side: str) -> Files:
    lines = [stats(fleet, side, handoff) for handoff in fleet.handoffs]
    return {f"{fleet.node(side)}.log": node_log(fleet, side, lines)}


def text_requests(fleet: Fleet, side: str) -> Files:
    """The request log in text form, in the node's log; 0.5.8 to 0.5.11 put no time before it."""
    bare = fleet.since("0.5.8") and not fleet.since("0.5.12")
    lines = []
    for handoff in fleet.handoffs:
        asked = ", ".join(f"{key}={value!r}" for key, value in _asked(fleet, side, handoff).items())
        out = {"text": "CANARY-ANSWER", "output_ids": [7], "meta_info": _meta(fleet, side, handoff)}
        begun = f"Receive: obj=GenerateReqInput({asked})"
        for at, text in ((0, begun), (2.6, f"Finish{begun[7:]}, out={out!r}")):
            lines.append(text if bare else line(fleet, handoff.at + at, text, ranked=False))
    return {f"{fleet.node(side)}.log": node_log(fleet, side, lines)}


def json_requests(fleet: Fleet, side: str) -> Files:
    """The request log in JSON, in a file of its own; since 0.5.12 a time stands before it."""
    lines = []
    for handoff in fleet.handoffs:
        asked = _asked(fleet, side, handoff)
        out = {"text": "CANARY-ANSWER", "meta_info": _meta(fleet, side, handoff)}
        for at, event, more in ((0, "received", {}), (2.5, "finished", {"out": out})):
            whole = stamp(handoff.at + at, "%Y-%m-%dT%H:%M:%S.%f").removesuffix(".000000")
            record = {"timestamp": whole, "event": f"request.{event}", "rid": asked["rid"]}
            text = json.dumps(record | {"obj": asked, "headers": {}} | more)
            prefixed = fleet.since("0.5.12")
            lines.append(line(fleet, handoff.at + at, text, ranked=False) if prefixed else text)
    return default(fleet, side) | {f"{fleet.node(side)}-requests.log": "\n".join(lines) + "\n"}


def exporter(fleet: Fleet, side: str) -> Files:
    """One object a request, its parameters as a JSON text; times with metrics switched on."""
    lines = [
        json.dumps(
            {"request_parameters": json.dumps(_asked(fleet, side, handoff))}
            | _meta(fleet, side, handoff)
            | {"request_received_ts": handoff.at, "request_finished_ts": handoff.at + 2.5}
        )
        for handoff in fleet.handoffs
    ]
    name = f"{fleet.node(side)}/sglang-request-metrics-20260901_12.log"
    return default(fleet, side) | {name: "\n".join(lines) + "\n"}


def spans(fleet: Fleet, side: str) -> Files:
    """A root, a thread and a stage a request; the room in hexadecimal."""
    lines = []
    for handoff in fleet.handoffs:
        rid, own = handoff.rid(side), f"{side[0]}{handoff.room:014x}"
        root = {
            "rid": rid,
            "module": "sglang::request",
            "bootstrap_room": f"{handoff.room:#x}",
            "gen_ai.request.id": rid,
            "gen_ai.usage.prompt_tokens": handoff.tokens(side),
            "gen_ai.usage.completion_tokens": 1 if side == "prefill" else handoff.out,
            "gen_ai.usage.cached_tokens": handoff.cached,
            "gen_ai.response.finish_reasons": '["length"]' if side == "prefill" else '["stop"]',
        }
        found = [
            _span(handoff, f"{own}1", "", f"{side} Req {rid[:8]}", root),
            _span(handoff, f"{own}2", f"{own}1", "Scheduler [TP 0] [DP 0]", {"dp_rank": 0}),
            _span(handoff, f"{own}3", f"{own}2", f"{side}_forward", {}),
        ]
        scopes = [{"scope": {"name": "sglang server"}, "spans": found}]
        lines.append(json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": scopes}]}))
    return default(fleet, side) | {f"{fleet.node(side)}/traces.jsonl": "\n".join(lines) + "\n"}


def _span(
    handoff: Handoff, own: str, parent: str, name: str, values: dict[str, str | int]
) -> dict[str, Any]:
    kinds = {str: "stringValue", int: "intValue"}
    return {
        "traceId": f"{handoff.room:032x}",
        "spanId": own,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(int(handoff.at) * 1_000_000_000),
        "endTimeUnixNano": str(int(handoff.at) * 1_000_000_000 + 2_500_000_000),
        "attributes": [
            {"key": key, "value": {kinds[type(value)]: str(value)}} for key, value in values.items()
        ],
    }


def _meta(fleet: Fleet, side: str, handoff: Handoff) -> dict[str, Any]:
    """What an answer says of itself; every answer of prefill says length 0."""
    prefill = side == "prefill"
    found: dict[str, Any] = {
        "id": handoff.rid(side),
        "finish_reason": {"type": "length", "length": 0} if prefill else {"type": "stop"},
        "prompt_tokens": handoff.tokens(side),
        "completion_tokens": 1 if prefill else handoff.out,
        "cached_tokens": handoff.cached,
        "e2e_latency": 2.5,
    }
    if fleet.since("0.5.6"):
        found["num_retractions" if fleet.since("0.5.12") else "total_retractions"] = 0
        found |= {"weight_version": "default", "dp_rank": 0}
    return found


def _asked(fleet: Fleet, side: str, handoff: Handoff) -> dict[str, Any]:
    """The request's own fields, content among them that looks like fields."""
    found: dict[str, Any] = {
        "rid": handoff.rid(side),
        "text": "CANARY-PROMPT it's here, bootstrap_room=77, 'prompt_tokens': 9",
        "sampling_params": {"temperature": 1.0, "stop": ["CANARY-STOP"]},
        "bootstrap_host": "10.0.0.3",
        "bootstrap_room": handoff.room,
        "custom_labels": {"tenant": "acme"},
    }
    return found | ({"received_time": handoff.at} if fleet.since("0.5.11") else {})


SURFACES: dict[str, tuple[str, Surface]] = {
    "time stats": ("0.4.10", time_stats),
    "text request log": ("0.4.6", text_requests),
    "JSON request log": ("0.5.8", json_requests),
    "exporter": ("0.5.6", exporter),
    "spans": ("0.5.11", spans),
}
"""Each by name, with the version that it came with."""
