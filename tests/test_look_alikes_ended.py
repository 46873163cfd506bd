"""Requests that ended, figures that are none, and nodes: what looks like a leak and is none."""

from collections.abc import Callable
from pathlib import Path

import pytest

import forensics
from tests.handoffs import (
    BOOTED,
    CLIENTS,
    LIMIT,
    POOL,
    SAME,
    Judge,
    client,
    decode_batch,
    failed,
    finished,
    handoff,
    judging,
    line,
    reader,
    received,
    startup,
    stats,
)


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., forensics.Case]:
    return reader(tmp_path)


@pytest.fixture
def judge(cases: Callable[..., forensics.Case]) -> Judge:
    return judging(cases)


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
    assert found == {f"d{n}": ("ruled_out", ["handoff_failed", "not_delivered"]) for n in range(5)}


def test_failure_lines_of_every_tensor_rank_are_one_request(judge: Judge) -> None:
    prefill = [failed("Prefill", "p", 10**18, 100 + rank % 2, rank) for rank in range(8)]
    decode = [failed("Decode", "d", 10**18, 101 + rank % 2, rank) for rank in range(8)]
    assert judge(prefill, decode) == {"d": ("ruled_out", ["handoff_failed", "not_delivered"])}


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
