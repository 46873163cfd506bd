"""Lines of both sides of hand-offs, and cases that are made of them, for the tests."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import forensics

NOON = 1_788_264_000
"""2026-09-01T12:00:00Z; the nodes log in UTC."""
BOOTED = NOON - 40 * 86_400
LEAK, SOUND = 5392444535701028124, 6114893953990972682
WINDOW = '[scope]\nwindow = ["2026-09-01T00:00:00Z", "2026-09-02T00:00:00Z"]\n'
POOL, LIMIT = 681_280, 681_274

Verdicts = dict[str, tuple[str, list[str]]]
Judge = Callable[..., Verdicts]


def moment(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(NOON + at, UTC).strftime(form)


def line(at: float, text: str, rank: str = "DP0 TP0 EP0") -> str:
    return f"[{moment(at)}{' ' + rank if rank else ''}] {text}"


def startup(at: float, role: str, pool: int) -> list[str]:
    """Start, pool and readiness; the secret is one that no output may hold."""
    return [
        line(
            at,
            "server_args={'model_path': '/m', 'context_length': 1048576, 'page_size': 64, "
            f"'disaggregation_mode': '{role}', 'api_key': 'CANARY-SECRET', 'dp_size': 8}}",
            "",
        ),
        line(
            at + 80,
            f"max_total_num_tokens={pool}, chunked_prefill_size=16384, max_prefill_tokens=16384, "
            "max_running_requests=32, context_len=1048576, available_gpu_mem=12.31 GB",
        ),
        line(at + 94, "The server is fired up and ready to roll!", ""),
    ]


def stats(
    side: str,
    rid: str,
    room: int,
    tokens: int,
    at: float,
    *,
    out: int | None = None,
    cached: int = 0,
    attempts: int = 0,
    queue: float = 6.56,
    forward: float = 74.17,
    entry: float | None = None,
    rank: str = "DP0 TP0 EP0",
) -> str:
    """A time-stats line of 0.5.16 and later."""
    prefill = side == "prefill"
    out = (1 if prefill else 90) if out is None else out
    more = ", transfer_speed=0.41 GB/s, transfer_total=3.75 MB" if prefill else ""
    wait = "" if prefill else "alloc_wait_duration=1.00ms, transfer_duration=86.72ms, "
    return line(
        at + 1,
        f"ReqTimeStats(rid={rid}, bootstrap_room={room}, input_len={tokens}, "
        f"cached_input_len={cached}, output_len={out}, attempts={attempts}, type={side}): "
        f"bootstrap_duration=15.00ms, {wait}queue_duration={queue:.2f}ms, "
        f"forward_duration={forward:.2f}ms, "
        f"entry_time={NOON + at + 0.5 if entry is None else entry:.3f}{more}",
        rank,
    )


def handoff(
    name: str, room: int, prefill: int, decode: int, at: float, **values: Any
) -> tuple[list[str], list[str]]:
    """Both time-stats lines of a hand-off."""
    return (
        [stats("prefill", f"p-{name}", room, prefill, at, **values)],
        [stats("decode", name, room, decode, at, **values)],
    )


def failed(side: str, rid: str, room: int, at: float, rank: int = 0) -> str:
    name = "req" if side == "Prefill" else "decode_req.req"
    return line(
        at,
        f"{side} transfer failed for request rank={rank} {name}.rid='{rid}' "
        f"{name}.bootstrap_room={room} with exception KVTransferError(bootstrap_room={room}): "
        f"Request {room} timed out after 300.0s in KVPoll.WaitingForInput",
        f"DP0 TP{rank} EP{rank}",
    )


def prefill_batch(at: float, new: int, sequences: int = 1, cached: int = 0) -> str:
    return line(
        at,
        f"Prefill batch, #new-seq: {sequences}, #new-token: {new}, #cached-token: {cached}, token "
        "usage: 0.04, #running-req: 0, #queue-req: 0, #pending-token: 0, #bootstrap-req: 0, "
        "#inflight-req: 2, #optimistic-req: 0, cuda graph: False, input throughput (token/s): 9.06",
    )


def decode_batch(at: float, retracted: int = 0) -> str:
    return line(
        at,
        "Decode batch, #running-req: 4, #token: 64064, token usage: 0.06, pre-allocated usage: "
        f"0.00, #prealloc-req: 0, #transfer-req: 0, #retracted-req: {retracted}, cuda graph: True, "
        "gen throughput (token/s): 116.07, #queue-req: 0",
    )


def finished(rid: str, room: int, at: float, **meta: Any) -> str:
    """A finished record of the JSON request log."""
    return json.dumps(
        {
            "timestamp": moment(at, "%Y-%m-%dT%H:%M:%S.%f"),
            "event": "request.finished",
            "rid": rid,
            "obj": {"rid": rid, "bootstrap_room": room, "text": "CANARY-PROMPT"},
            "out": {"meta_info": {"id": rid, "cached_tokens": 0, **meta}, "text": "CANARY-ANSWER"},
        }
    )


def received(rid: str, room: int, at: float) -> str:
    return json.dumps(
        {
            "timestamp": moment(at, "%Y-%m-%dT%H:%M:%S.%f"),
            "event": "request.received",
            "rid": rid,
            "obj": {"rid": rid, "bootstrap_room": room, "text": "CANARY-PROMPT"},
        }
    )


def client(rid: str, at: float, tokens: int, status: int, **values: Any) -> dict[str, Any]:
    stamp = moment(at, "%Y-%m-%dT%H:%M:%SZ")
    named = {"hop": "gateway", "request_id": rid, "tenant_id": "acme", "received_at": stamp}
    return named | {"prompt_tokens": tokens, "http_status": status} | values


CLIENTS = [client("leak", 60, 700_000, 200), client("sound", 90, 9_000, 200)]
"""What a gateway has of the two hand-offs that are always there."""
SAME = ("ruled_out", ["below_limit", "same_count"])
BASE = {"leak": ("probable", ["over_limit", "placeholder_prefill"]), "sound": SAME}


def reader(tmp_path: Path) -> Callable[..., forensics.Case]:
    """Read both nodes' logs, the two hand-offs in them and what is added."""

    def read(
        prefill: Iterable[str] = (),
        decode: Iterable[str] = (),
        gateway: Iterable[dict[str, Any]] = (),
        *,
        one_file: bool = False,
        start: bool = True,
    ) -> forensics.Case:
        leak, sound = handoff("leak", LEAK, 1, 700_000, 60), handoff("sound", SOUND, 9000, 9000, 90)
        sides = {
            "prefill": [*startup(-7200, "prefill", POOL)] if start else [],
            "decode": [*startup(-7200, "decode", 1_146_880)] if start else [],
        }
        sides["prefill"] += [*leak[0], *sound[0], *prefill]
        sides["decode"] += [*leak[1], *sound[1], *decode]
        logs = tmp_path / "logs"
        logs.mkdir()
        if one_file:
            sides = {"node": sides["prefill"] + sides["decode"]}
        for side, lines in sides.items():
            (logs / f"{side}-01.log").write_text("\n".join(lines) + "\n")
        asked = [json.dumps(record) for record in gateway]
        if asked:
            (logs / "gateway.ndjson").write_text("\n".join(asked) + "\n")
        incident = tmp_path / "incident.toml"
        incident.write_text(WINDOW)
        return forensics.read_logs(logs, incident=incident)

    return read


def judging(cases: Callable[..., forensics.Case]) -> Judge:
    """Return tier and reasons of what was added; the two that are always there must stand."""

    def judged(*args: Any, **values: Any) -> Verdicts:
        case = cases(*args, **values)
        found = {
            row["request_id"]: (row["tier"], row["reasons"])
            for row in case.requests.polars().to_dicts()
        }
        assert {name: found.pop(name) for name in BASE} == BASE
        assert case.analysis.clocks.offsets.items() <= {
            (f"{side}-01", 0) for side in ("prefill", "decode", "node")
        }
        return found

    return judged


def ignored(case: forensics.Case) -> dict[str, int]:
    return {kind: n for count in case.exposure().read for kind, n in count.ignored.items()}
