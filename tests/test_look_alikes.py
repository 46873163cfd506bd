"""What looks like the fault in SGLang's logs and is none: each beside a request that has it.

Two hand-offs are in every log: a leak that has to stay ``probable`` and a sound one that
has to stay ``ruled_out``. Whatever is added may only add its own row, or none.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., forensics.Case]:
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


@pytest.fixture
def judge(cases: Callable[..., forensics.Case]) -> Judge:
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


# --- probes ----------------------------------------------------------------------------


def test_health_checks_are_no_requests(cases: Callable[..., forensics.Case]) -> None:
    """One token, room 0: on prefill a perfect placeholder."""
    ids = ["HEALTH_CHECK_1788264123.456", "HEALTH_CHECK_9f86d081884c7d659a2feaa0c55ad015"]
    case = cases(
        [stats("prefill", rid, 0, 1, 100 + n) for n, rid in enumerate(ids)],
        [stats("decode", rid, 0, 1, 100 + n, out=1) for n, rid in enumerate(ids)],
    )
    assert set(case.requests.polars()["request_id"]) == set(BASE)
    assert ignored(case)["probe or warm-up"] == 4


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "rooms",
    [
        range(8),
        [rank * (2**63 // 8) + rank % 8 for rank in range(8)],
        [rank * (2**63 // 6) + rank % 2 for rank in range(6)],
        [rank * (2**63 // 72) + rank % 72 for rank in range(72)],
    ],
    ids=["0.5.17", "0.5.15", "six ranks", "72 ranks"],
)
def test_warm_ups_are_no_requests(
    cases: Callable[..., forensics.Case], rooms: Iterable[int]
) -> None:
    rooms = list(rooms)
    case = cases(
        [stats("prefill", f"w{n}", room, 4, -7110) for n, room in enumerate(rooms)],
        [stats("decode", f"v{n}", room, 4, -7110, out=8) for n, room in enumerate(rooms)],
    )
    assert set(case.requests.polars()["request_id"]) == set(BASE)
    assert ignored(case)["probe or warm-up"] == 2 * len(rooms)


def test_a_room_next_to_those_of_warm_ups_is_a_requests(judge: Judge) -> None:
    room = 2**63 // 8 + 1000
    assert judge(*handoff("near", room, 4, 4, 100)) == {"near": SAME}


@pytest.mark.parametrize("room", [7 * 10**17, 0])
def test_a_client_that_names_itself_a_health_check_stays_a_request(judge: Judge, room: int) -> None:
    rid = "HEALTH_CHECK_1788264123.456"
    prefill, decode = stats("prefill", rid, room, 1, 100), stats("decode", rid, room, 700_000, 100)
    assert judge([prefill], [decode])[rid] == BASE["leak"]


def test_without_decodes_log_such_a_client_is_not_lost_either(judge: Judge) -> None:
    rid = "HEALTH_CHECK_1788264123.456"
    found = judge([stats("prefill", rid, 7 * 10**17, 1, 100)])
    assert found[rid][0] == "not_assessable"


# --- short and odd prompts -------------------------------------------------------------


def test_a_prompt_of_one_token_is_one_token_on_both_sides(judge: Judge) -> None:
    assert judge(*handoff("one", 10**18, 1, 1, 100)) == {"one": SAME}


def test_a_long_prompt_in_chunks_ends_in_a_short_batch(judge: Judge) -> None:
    prefill, decode = handoff("chunks", 10**18, 25_000, 25_000, 100, forward=1236.43)
    batches = [prefill_batch(100, 16_384), prefill_batch(101, 8_576), prefill_batch(101, 64)]
    assert judge([*batches, *prefill], decode) == {"chunks": SAME}


def test_a_cached_prefix_makes_a_long_prompt_fast(judge: Judge) -> None:
    prefill = stats("prefill", "p", 10**18, 33_000, 100, cached=32_960, forward=3.0)
    decode = stats("decode", "hit", 10**18, 33_000, 100, cached=32_960)
    batch = prefill_batch(100, 64, cached=32_960)
    assert judge([batch, prefill], [decode]) == {"hit": SAME}


def test_a_batch_line_names_nobody(judge: Judge) -> None:
    """Rounded to a page, of several sequences: nothing can be read off it."""
    batches = [prefill_batch(100, 64), prefill_batch(101, 192, sequences=3), decode_batch(102)]
    assert judge(batches, [decode_batch(102)]) == {}


def test_page_rounding_makes_no_short_prompt(judge: Judge) -> None:
    prefill, decode = handoff("forty", 10**18, 40, 40, 100)
    found = judge([prefill_batch(100, 64), *prefill], decode)
    assert found == {"forty": SAME}


def test_both_sides_may_shorten_a_prompt_alike(judge: Judge) -> None:
    cut = line(
        100,
        "Request length is longer than the KV cache pool size or the max context length. "
        "Truncated. len(req.origin_input_ids)=690000, max_req_input_len=681274.",
    )
    prefill, decode = handoff("short", 10**18, 681_274, 681_274, 100)
    found = judge([cut, *prefill], [cut, *decode], [client("short", 100, 690_000, 200), *CLIENTS])
    assert found["short"][0] == "ruled_out"
    assert "truncated_consistently" in found["short"][1]


# --- retries ---------------------------------------------------------------------------


def test_optimistic_attempts_are_counted_by_the_engine_itself(judge: Judge) -> None:
    found = judge(*handoff("again", 10**18, 9000, 9000, 100, attempts=2))
    assert found == {"again": SAME}


@pytest.mark.parametrize("tokens", [9000, 700_000])
def test_the_last_try_of_an_optimistic_prefill_is_what_was_handed_over(
    judge: Judge, tokens: int
) -> None:
    """One token at first, the whole prompt on the try that the engine counts as its second."""
    room = 10**18
    first = stats("prefill", "p", room, 1, 100)
    found = judge(
        [first, stats("prefill", "p", room, tokens, 101, attempts=1)],
        [stats("decode", "again", room, tokens, 100, queue=3000.0)],
    )
    assert found["again"][0] == "ruled_out"
    assert "same_count" in found["again"][1]


def test_a_last_try_that_sent_one_token_is_no_look_alike(judge: Judge) -> None:
    room = 10**18
    tries = [
        stats("prefill", "p", room, n, 100 + at, attempts=at) for at, n in enumerate((9000, 1))
    ]
    found = judge(tries, [stats("decode", "leak2", room, 9000, 100, queue=3000.0)])
    assert found["leak2"][0] == "probable"


@pytest.mark.parametrize(
    ("rid", "at", "values"),
    [
        ("p", 101, {"attempts": 0}),
        ("q", 101, {"attempts": 1}),
        ("p", 400, {"attempts": 1}),
    ],
    ids=["not counted as a try", "of another id", "after the answer"],
)
def test_where_the_last_try_is_not_known_it_stays_possible(
    judge: Judge, rid: str, at: int, values: dict[str, int]
) -> None:
    room = 10**18
    prefill = [stats("prefill", "p", room, 1, 100), stats("prefill", rid, room, 9000, at, **values)]
    found = judge(prefill, [stats("decode", "again", room, 9000, 100, queue=3000.0)])
    assert found["again"][0] == "possible"


def test_a_late_release_under_a_room_that_nobody_names_is_no_request(
    cases: Callable[..., forensics.Case],
) -> None:
    """It is said all the same, and the line is not dropped: pages may have been written late."""
    text = "Deferred KV release for room {} timed out after 30.0s without a full drain ack from "
    text += "prefill; releasing anyway."
    late = [line(100, text.format(room)) for room in (SOUND, 10**18)]
    case = cases([], late)
    rows = {row["request_id"]: row["reasons"] for row in case.requests.polars().to_dicts()}
    assert rows.keys() == BASE.keys()
    assert "late_release" in rows["sound"]
    (said,) = case.exposure().headline.incomplete
    assert said.startswith("2 hand-offs gave pages back")
    (count,) = case.exposure().read
    assert count.read == count.kept


def test_a_second_room_for_one_request_is_an_attempt_judged_alone(
    cases: Callable[..., forensics.Case],
) -> None:
    first = handoff("r", 10**18, 1, 700_000, 100)
    second = handoff("r", 10**18 + 1, 700_000, 700_000, 130, attempts=1)
    case = cases([*first[0], *second[0]], [*first[1], *second[1]])
    found = case.requests.polars().sort("attempt").to_dicts()
    assert [
        (r["request_id"], r["attempt"], r["tier"]) for r in found if r["request_id"] == "r"
    ] == [
        ("r", 0, "probable"),
        ("r", 1, "ruled_out"),
    ]


def test_a_routers_retry_after_a_failed_transfer_is_one_delivery(judge: Judge) -> None:
    """A new room and new ids: the first try gave nothing, the second was whole."""
    broken = [failed("Prefill", "p-a", 10**18, 100)], [failed("Decode", "a", 10**18, 101)]
    prefill, decode = handoff("b", 10**18 + 1, 9000, 9000, 110)
    found = judge([*broken[0], *prefill], [*broken[1], *decode])
    assert found == {
        "a": ("ruled_out", ["not_delivered"]),
        "b": SAME,
    }


# --- requests that ended ---------------------------------------------------------------


def test_requests_retired_at_the_door_carry_the_hosts_boot_time(judge: Judge) -> None:
    """More of them than of real ones: neither the clock nor the window follows their stamps."""
    rooms = range(10**18, 10**18 + 5)
    prefill = [
        stats("prefill", f"p{n}", room, 1, 100, out=0, queue=0, forward=0, entry=BOOTED)
        for n, room in enumerate(rooms)
    ]
    decode = [failed("Decode", f"d{n}", room, 400) for n, room in enumerate(rooms)]
    found = judge(prefill, decode)
    assert found == {f"d{n}": ("ruled_out", ["not_delivered"]) for n in range(5)}


def test_failure_lines_of_every_tensor_rank_are_one_request(judge: Judge) -> None:
    prefill = [failed("Prefill", "p", 10**18, 100 + rank % 2, rank) for rank in range(8)]
    decode = [failed("Decode", "d", 10**18, 101 + rank % 2, rank) for rank in range(8)]
    assert judge(prefill, decode) == {"d": ("ruled_out", ["not_delivered"])}


@pytest.mark.parametrize(
    ("meta", "tier"),
    [
        ({"completion_tokens": 30}, "probable"),
        ({"completion_tokens": 0}, "possible"),
        ({}, "possible"),
    ],
)
def test_an_abort_by_the_client_ends_a_leak_and_does_not_undo_it(
    judge: Judge, meta: dict[str, int], tier: str
) -> None:
    reason = {"type": "abort", "message": "CANARY-MESSAGE"}
    gone = finished("gone", 10**18, 120, prompt_tokens=700_000, finish_reason=reason, **meta)
    found = judge([stats("prefill", "p", 10**18, 1, 100)], [gone])
    assert found["gone"][0] == tier


def test_an_abort_of_a_sound_request_is_no_leak(judge: Judge) -> None:
    reason = {"type": "abort", "message": "CANARY-MESSAGE"}
    gone = finished(
        "gone", 10**18, 120, prompt_tokens=900, completion_tokens=30, finish_reason=reason
    )
    found = judge([stats("prefill", "p", 10**18, 900, 100)], [gone])
    assert found["gone"][0] == "ruled_out"


def test_what_the_front_end_refuses_reaches_no_engine(judge: Judge) -> None:
    refused = line(
        100,
        "[http_server] Error: The input (1050000 tokens) is longer than the model's context length "
        "(1048576 tokens).",
        "",
    )
    web = line(
        100, 'INFO:     10.12.0.9:48910 - "POST /v1/completions HTTP/1.1" 400 Bad Request', ""
    )
    seen = [received("no", 10**18, 100)]
    asked = [client("no", 100, 1_050_000, 400), *CLIENTS]
    found = judge([refused, web, *seen], [refused, web, *seen], asked)
    assert found["no"][0] == "ruled_out"
    assert "not_delivered" in found["no"][1]


def test_rejection_lines_without_an_id_join_by_size_and_moment(judge: Judge) -> None:
    """0.4.6: once a tensor rank, naming nobody; nothing tells which request it was for sure."""
    text = (
        "Input length (690000 tokens) exceeds the maximum allowed length (681274 tokens). Use a "
        "shorter input or enable --allow-auto-truncate."
    )
    lines = [line(100, text, f"TP{rank}") for rank in range(4)]
    served = stats("decode", "served", 10**18, 690_000, 102)
    found = judge(lines, [served])
    assert found == {
        "served": ("possible", ["joined_by_inference", "over_limit", "rejected_but_served"])
    }


def test_a_rejection_line_that_fits_two_requests_joins_neither(judge: Judge) -> None:
    text = (
        "Input length (690000 tokens) exceeds the maximum allowed length (681274 tokens). Use a "
        "shorter input or enable --allow-auto-truncate., self.rid='refused'"
    )
    served = [stats("decode", f"s{n}", 10**18 + n, 690_000, 102 + n) for n in range(2)]
    found = judge([line(100, text)], served)
    assert {name: tier for name, (tier, _) in found.items()} == {
        "refused": "possible",
        "s0": "possible",
        "s1": "possible",
    }
    assert all("rejected_but_served" not in found[name][1] for name in ("s0", "s1"))


# --- figures that are none -------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("queue", "forward", "shown"),
    [
        (0.0, 0.0, None),
        (-12.5, -3.0, None),
        (6.56, 1_753_355_419_058.33, None),
        (-12.5, 74.17, 74.17),
    ],
    ids=["unset", "negative", "since 1970", "after a retraction"],
)
def test_durations_that_are_none_are_missing_and_the_row_stays(
    cases: Callable[..., forensics.Case], queue: float, forward: float, shown: float | None
) -> None:
    prefill, decode = handoff("odd", 10**18, 9000, 9000, 100, queue=queue, forward=forward)
    case = cases(prefill, [decode_batch(101, retracted=1), *decode])
    rows = {row["request_id"]: row for row in case.requests.polars().to_dicts()}
    assert (rows["odd"]["tier"], rows["odd"]["prefill_ms"]) == ("ruled_out", shown)
    assert (rows["leak"]["tier"], rows["sound"]["tier"]) == ("probable", "ruled_out")
    assert rows["odd"]["received_at"].strftime("%H:%M:%S") == "12:01:40"


def test_a_monotonic_start_is_no_time(judge: Judge) -> None:
    """Up to 0.5.11, with a stamp that was never set."""
    old = (
        "Req Time Stats(rid={rid}, bootstrap_room=1000000000000000001, input len=25000, output "
        "len={out}, type={side}): {lead}_duration=110.00ms, queue_duration=10.00ms, "
        "forward_duration=1753355419058.33ms, start_time=0.0"
    )
    found = judge(
        [line(100, old.format(rid="p", out=1, side="prefill", lead="bootstrap"), "DP0 TP0")],
        [line(105, old.format(rid="old", out=60, side="decode", lead="prealloc"), "DP0 TP0")],
    )
    assert found == {"old": SAME}


# --- nodes -----------------------------------------------------------------------------


def test_a_restart_with_a_larger_pool_moves_the_limit(
    cases: Callable[..., forensics.Case],
) -> None:
    """Prompts of one size, known to the gateway and decode alone, before and after."""
    restart = startup(1800, "prefill", 1_146_880)
    decode = [
        stats("decode", rid, 10**18 + n, 700_001, at)
        for n, (rid, at) in enumerate((("before", 900), ("after", 3 * 3600)))
    ]
    case = cases(restart, decode)
    rows = {row["request_id"]: row for row in case.requests.polars().to_dicts()}
    assert (rows["before"]["tier"], rows["before"]["input_limit_tokens"]) == ("possible", LIMIT)
    # Below the larger limit now, but prefill's log, which holds its neighbours, lacks it.
    assert rows["after"]["input_limit_tokens"] > 700_001
    assert (rows["after"]["tier"], rows["after"]["reasons"]) == (
        "not_assessable",
        ["log_gap", "start_unseen"],
    )
    assert rows["leak"]["tier"] == "probable"


def test_both_nodes_in_one_file_are_still_two_sides(cases: Callable[..., forensics.Case]) -> None:
    case = cases(one_file=True, start=False)
    found = {r["request_id"]: (r["tier"], r["reasons"]) for r in case.requests.polars().to_dicts()}
    assert found == {
        "leak": ("probable", ["placeholder_prefill"]),
        "sound": ("ruled_out", ["same_count"]),
    }


def test_a_room_that_a_client_chose_twice_is_two_requests(judge: Judge) -> None:
    """The router overwrites rooms; who calls an engine directly may repeat one."""
    first, second = handoff("a", 10**18, 500, 500, 100), handoff("b", 10**18, 1, 700_000, 102)
    found = judge([*first[0], *second[0]], [*first[1], *second[1]])
    assert found["b"][0] == "possible"
    assert found["a"][0] in ("ruled_out", "not_assessable")


@pytest.mark.few(2)
@pytest.mark.parametrize("second", ["b", "a"])
@pytest.mark.parametrize("tokens", [9000, 700_000])
def test_a_room_used_again_whose_prefill_record_was_lost_is_not_cleared(
    cases: Callable[..., forensics.Case], second: str, tokens: int
) -> None:
    room = 10**18
    first = stats("prefill", "p-a", room, 9000, 100), stats("decode", "a", room, 9000, 100)
    case = cases([first[0]], [first[1], stats("decode", second, room, tokens, 130)])
    rows = [r for r in case.requests.polars().to_dicts() if r["transfer_id"] == str(room)]
    found = {r["prefill_prompt_tokens"]: (r["tier"], "log_gap" in r["reasons"]) for r in rows}
    tier = "not_assessable" if tokens == 9000 else "possible"
    assert found == {9000: ("ruled_out", False), None: (tier, True)}
    said = case.exposure().headline.incomplete
    assert any("in no prefill log" in sentence for sentence in said)


def test_two_logs_of_one_use_of_a_room_are_no_two_uses(judge: Judge) -> None:
    room, meta = 10**18, {"prompt_tokens": 9000, "completion_tokens": 9, "e2e_latency": 0.9}
    answer = finished("a", room, 101.5, finish_reason={"type": "stop"}, **meta)
    decode = [stats("decode", "a", room, 9000, 100), received("a", room, 99), answer]
    assert judge([stats("prefill", "p", room, 9000, 100)], decode) == {"a": SAME}


def test_no_text_of_a_line_is_kept(cases: Callable[..., forensics.Case]) -> None:
    case = cases(
        [*startup(1800, "prefill", POOL), received("x", 10**18, 100)],
        [finished("x", 10**18, 101, prompt_tokens=5, completion_tokens=1, finish_reason=None)],
    )
    rows = case.analysis.requests.write_csv() + case.analysis.observations.write_csv()
    assert "CANARY" not in rows + repr(case) + str(case.exposure())
