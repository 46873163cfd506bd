"""When a request came, where engines logged its end: the window and the limit are of that time."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
CaseOf = Callable[..., forensics.Case]
UTC = '[logs]\ntimezone = "UTC"\n'
WINDOW = f'{UTC}[scope]\nwindow = ["2026-08-28T00:00:00Z", "2026-08-28T03:15:00Z"]\n'
LONG = 700_000
ENTRY = 1_787_886_840.0
"""03:14:00 of that day."""


def boot(at: str, pool: int, role: str = "prefill") -> list[str]:
    """Return the lines of an engine that starts at ``at`` (hour and minute)."""
    day = f"[2026-08-28 {at}"
    return [
        (
            f"{day}:20] server_args={{'model_path': 'm', 'disaggregation_mode': '{role}', "
            "'page_size': 64, 'context_length': 1048576}"
        ),
        (
            f"{day}:30 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: {pool}, "
            "KV size: 37.48 GB"
        ),
        (
            f"{day}:31 TP0] max_total_num_tokens={pool}, chunked_prefill_size=16384, "
            "max_prefill_tokens=16384, max_running_requests=32, context_len=1048576, "
            "available_gpu_mem=12.31 GB"
        ),
        f"{day}:40] The server is fired up and ready to roll!",
    ]


def finish(at: str, rid: str, prompt: int, took: float | None) -> str:
    """Return the line of an answer in text form, as the side with that id writes it."""
    reason = "'length', 'length': 0" if rid == "p" else "'stop', 'matched': None"
    lasted = "" if took is None else f", 'e2e_latency': {took}"
    return (
        f"[2026-08-28 {at}] Finish: obj=GenerateReqInput(rid='{rid}', bootstrap_room=9), "
        f"out={{'text': 'CANARY-OUT', 'meta_info': {{'id': '{rid}', "
        f"'finish_reason': {{'type': {reason}}}, 'prompt_tokens': {prompt}, "
        f"'completion_tokens': {1 if rid == 'p' else 40}, 'cached_tokens': 0{lasted}}}}}"
    )


def finish_json(at: str, rid: str, prompt: int, took: float | None) -> str:
    """Return the same as a JSON record."""
    reason = {"type": "length", "length": 0} if rid == "p" else {"type": "stop", "matched": None}
    meta = {
        "id": rid, "finish_reason": reason, "prompt_tokens": prompt,
        "completion_tokens": 1 if rid == "p" else 40, "cached_tokens": 0,
    } | ({} if took is None else {"e2e_latency": took})  # fmt: skip
    return json.dumps(
        {
            "timestamp": f"2026-08-28T{at}.000100", "event": "request.finished", "rid": rid,
            "obj": {"rid": rid, "bootstrap_room": 9}, "out": {"meta_info": meta},
        }
    )  # fmt: skip


STATS = (
    "[2026-08-28 03:14:01 TP0] ReqTimeStats(rid=p, bootstrap_room=9, input_len=1, "
    "cached_input_len=0, output_len=1, attempts=0, type=prefill): bootstrap_duration=15.00ms, "
    f"queue_duration=5.00ms, forward_duration=1000.00ms, entry_time={ENTRY:.3f}, "
    "transfer_speed=10.00 GB/s, transfer_total=3.75 MB"
)
OLD_STATS = (
    "[2026-08-28 03:14:01 TP0] Req Time Stats(rid=p, bootstrap_room=9, input len=1, output len=1, "
    "type=prefill): bootstrap_queue_duration(19.00ms) = bootstrap(15.00ms) + alloc_wait(4.00ms); "
    "queue_duration=47.75ms, forward_duration=1000.00ms, start=1.000, transfer_speed=13.05GB/s, "
    "transfer_total=3.75MB, #retries=0"
)
UNSET = (
    "[2026-08-28 03:20:40 TP0] Req Time Stats(rid=d, bootstrap_room=9, input len=700000, "
    "output len=40, type=decode): prealloc_queue_duration(15.00ms) = bootstrap(14.00ms) + "
    "alloc_wait(1.00ms); transfer_duration=167.66ms; queue_duration=4.06ms, "
    "forward_duration=1753355419058.33ms, start=0.000"
)


def only(case: forensics.Case) -> dict[str, Any]:
    (row,) = case.requests.polars().to_dicts()
    return row


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("prefill", "decode"),
    [
        (finish("03:14:01", "p", 1, 0.5), finish("03:20:40", "d", LONG, 399.0)),
        (finish("03:14:01", "p", 1, None), finish("03:20:40", "d", LONG, None)),
        (STATS, finish("03:20:40", "d", LONG, 399.0)),
        (STATS, finish("03:20:40", "d", LONG, None)),
        (finish_json("03:14:01", "p", 1, 0.5), finish_json("03:20:40", "d", LONG, 399.0)),
        (OLD_STATS, UNSET),
    ],
    ids=["text", "text without durations", "mixed", "mixed, no duration", "json", "unset"],
)
def test_an_answer_that_ends_after_the_window_is_of_the_time_it_came(
    node_logs: NodeLogs, prefill: str, decode: str
) -> None:
    case = node_logs(
        {"prefill-0": [*boot("03:12", 681_280), prefill], "decode-0": [decode]}, WINDOW
    )
    row = only(case)
    assert (row["tier"], row["reasons"]) == ("probable", ["over_limit", "placeholder_prefill"])
    assert str(row["received_at"])[11:16] in ("03:13", "03:14")


@pytest.mark.few(2)
@pytest.mark.parametrize("form", [finish, finish_json])
@pytest.mark.parametrize("took", [None, 0.0, 1_753_355_419.0])
def test_an_end_after_the_window_alone_says_nothing_of_the_arrival(
    node_logs: NodeLogs, form: Callable[..., str], took: float | None
) -> None:
    logs = {
        "prefill-0": boot("03:12", 681_280),
        "decode-0": [form("03:20:40", "d", LONG, took)],
    }
    row = only(node_logs(logs, WINDOW))
    assert (row["tier"], row["reasons"]) == ("possible", ["arrival_unknown", "over_limit"])


@pytest.mark.parametrize(
    ("at", "took", "tier"),
    [
        ("03:20:40", 339.0, "ruled_out"),  # came at 03:15:01
        ("03:20:40", 341.0, "possible"),
    ],
)
def test_a_duration_tells_on_which_side_of_the_windows_end_it_came(
    node_logs: NodeLogs, at: str, took: float, tier: str
) -> None:
    logs = {"prefill-0": boot("03:12", 681_280), "decode-0": [finish(at, "d", LONG, took)]}
    assert only(node_logs(logs, WINDOW))["tier"] == tier


def test_an_end_before_the_window_is_out_of_scope(node_logs: NodeLogs) -> None:
    window = WINDOW.replace("T00:00:00Z", "T03:10:00Z").replace("03:15", "04:00")
    decode = [finish("03:09:00", "d", LONG, None)]
    row = only(node_logs({"prefill-0": boot("02:12", 681_280), "decode-0": decode}, window))
    assert (row["tier"], "out_of_scope" in row["reasons"]) == ("ruled_out", True)


def test_direct_evidence_after_the_window_is_possible_where_the_arrival_is_unknown(
    node_logs: NodeLogs,
) -> None:
    prefill = [*boot("03:12", 681_280), finish("03:20:00", "p", 1, None)]
    decode = [finish("03:20:40", "d", LONG, None)]
    row = only(node_logs({"prefill-0": prefill, "decode-0": decode}, WINDOW))
    assert row["tier"] == "possible"
    assert row["reasons"] == ["arrival_unknown", "over_limit", "placeholder_prefill"]


@pytest.mark.parametrize(
    ("took", "reason"), [(399.0, "over_limit"), (None, "limit_uncertain")], ids=["known", "unknown"]
)
def test_a_larger_pool_that_began_while_the_answer_ran_clears_nobody(
    node_logs: NodeLogs, took: float | None, reason: str
) -> None:
    prefill = [*boot("02:57", 681_280), *boot("03:17", 2_000_000)]
    decode = [finish("03:20:40", "d", LONG, took)]
    row = only(node_logs({"prefill-0": prefill, "decode-0": decode}, UTC))
    assert (row["tier"], row["reasons"]) == ("possible", [reason])


def test_a_limit_that_is_unknown_before_the_first_boot_clears_nobody(node_logs: NodeLogs) -> None:
    decode = [finish("03:20:40", "d", LONG, None)]
    row = only(node_logs({"prefill-0": boot("03:17", 2_000_000), "decode-0": decode}, UTC))
    assert (row["tier"], row["reasons"]) == ("not_assessable", [])


def test_prefills_own_record_is_of_the_boot_that_it_is_after(node_logs: NodeLogs) -> None:
    prefill = [
        *boot("02:57", 681_280), *boot("03:17", 2_000_000), finish("03:20:00", "p", LONG, None),
    ]  # fmt: skip
    decode = [finish("03:20:40", "d", LONG, None)]
    row = only(node_logs({"prefill-0": prefill, "decode-0": decode}, UTC))
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["below_limit", "same_count"])


def test_the_clients_time_goes_before_those_of_engines(case_of: CaseOf) -> None:
    hops = [("gateway", "03:15:01"), ("prefill", "03:14:59"), ("decode", "03:15:02")]
    case = case_of(
        *(
            {"hop": hop, "request_id": "r", "transfer_id": "9", "model": "m", "prompt_tokens": 9}
            | {"received_at": f"2026-08-28T{at}Z"}
            for hop, at in hops
        ),
        incident=WINDOW,
    )
    assert str(only(case)["received_at"])[11:19] == "03:15:01"


@pytest.mark.parametrize(
    ("prefill", "decode", "tier"),
    [
        ("03:14:59", "03:15:02", "not_assessable"),
        ("03:15:01", "03:15:02", "ruled_out"),
        ("03:15:01", "03:14:59", "not_assessable"),
    ],
)
def test_without_a_client_one_engines_clock_in_the_window_keeps_it_in_scope(
    case_of: CaseOf, prefill: str, decode: str, tier: str
) -> None:
    case = case_of(
        *(
            {"hop": hop, "request_id": hop, "transfer_id": "9", "model": "m"}
            | {"received_at": f"2026-08-28T{at}Z"}
            for hop, at in (("prefill", prefill), ("decode", decode))
        ),
        incident=WINDOW,
    )
    assert only(case)["tier"] == tier


REFUSED = (
    "[2026-08-28 03:15:00 DP0 TP0 EP0] Input length (700000 tokens) exceeds the maximum allowed "
    "length (681274 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='r'"
)
OVER_POOL = "[2026-08-28 03:15:00 TP0] Request r exceeds the maximum number of tokens: 700000 > 9"


@pytest.mark.parametrize("line", [REFUSED, OVER_POOL])
def test_a_refusal_right_after_the_window_may_be_of_a_request_that_came_before(
    node_logs: NodeLogs, line: str
) -> None:
    row = only(node_logs({"prefill-0": [*boot("03:12", 681_280), line]}, WINDOW))
    assert (row["tier"], row["rung"]) == ("possible", "triggered")
    assert "arrival_unknown" in row["reasons"]


def test_no_answer_takes_a_day(node_logs: NodeLogs) -> None:
    late = REFUSED.replace("08-28", "08-29"), REFUSED.replace("28 03:15:00", "29 03:14:59")
    for line, tier in zip(late, ("ruled_out", "possible"), strict=True):
        row = only(node_logs({"prefill-0": [*boot("03:12", 681_280), line]}, WINDOW))
        assert (row["tier"], "out_of_scope" in row["reasons"]) == (tier, tier == "ruled_out")


@pytest.mark.parametrize(
    ("log", "lines", "tier"),
    [
        (
            "epp",
            [
                {"level": "info", "ts": "2026-08-28T03:15:01Z", "msg": "Request handled"}
                | {"x-request-id": "r", "incomingModelName": "m", "endpoint": "10.0.0.1:80"}
            ],
            "not_assessable",
        ),
        (
            "epp",
            [
                {"level": "info", "ts": f"2026-08-28T03:{at}Z", "msg": message}
                | {"x-request-id": "r", "incomingModelName": "m", "endpoint": "10.0.0.1:80"}
                for at, message in (("15:01", "Request handled"), ("15:00", "EPP received request"))
            ],
            "ruled_out",
        ),
        (
            "lookup_hashes_1",
            [
                {"timestamp": ENTRY + 61, "request_id": "r-1", "seq_len": 9, "chunk_hashes": ["c"]}
                | {"model_name": "m"}
            ],
            "not_assessable",
        ),
        (
            "router",
            [
                {"timestamp": "2026-08-28T03:15:01Z", "level": "INFO", "target": "smg::response"}
                | {"message": "finished processing request"}
                | {"span": {"uri": "/generate", "request_id": "r", "status_code": "200"}}
            ],
            "not_assessable",
        ),
    ],
    ids=["llm-d", "llm-d, arrival too", "lookup", "router without a latency"],
)
def test_what_a_router_or_a_cache_logs_later_is_no_arrival(
    node_logs: NodeLogs, log: str, lines: list[dict[str, Any]], tier: str
) -> None:
    row = only(node_logs({f"{log}.jsonl": [json.dumps(line) for line in lines]}, WINDOW))
    assert (row["tier"], "out_of_scope" in row["reasons"]) == (tier, tier == "ruled_out")


@pytest.mark.parametrize(
    ("times", "tier"),
    [
        ({"finished_at": "2026-08-28T03:20:00Z"}, "not_assessable"),
        ({"released_at": "2026-08-28T03:20:00Z"}, "not_assessable"),
        ({"finished_at": "2026-08-29T03:18:00Z"}, "ruled_out"),
        ({"received_at": "2026-08-28T03:18:00Z"}, "ruled_out"),
        ({"reserved_at": "2026-08-28T03:18:00Z"}, "ruled_out"),
    ],
)
def test_an_end_after_the_first_known_boot_is_of_an_arrival_before_it_may_be(
    case_of: CaseOf, times: dict[str, str], tier: str
) -> None:
    pool = {"node": "p", "role": "prefill", "pool_tokens": 2_000_000, "engine": "sglang"}
    row = only(
        case_of(
            pool | {"effective_at": "2026-08-28T03:17:00Z"},
            {"request_id": "r", "prefill_node": "p", "prompt_tokens": LONG, "http_status": 200}
            | times,
        )
    )
    assert (row["tier"], "below_limit" in row["reasons"]) == (tier, tier == "ruled_out")


def test_a_boot_before_the_end_of_an_answer_spans_its_limit(case_of: CaseOf) -> None:
    pool = {"node": "p", "role": "prefill", "engine": "sglang"}
    row = only(
        case_of(
            pool | {"pool_tokens": 681_280, "effective_at": "2026-08-26T00:00:00Z"},
            pool | {"pool_tokens": 2_000_000, "effective_at": "2026-08-28T03:17:00Z"},
            {"request_id": "r", "prefill_node": "p", "prompt_tokens": LONG, "http_status": 200}
            | {"finished_at": "2026-08-28T03:20:00Z"},
        )
    )
    assert (row["tier"], row["reasons"]) == ("possible", ["limit_uncertain"])
