"""Health checks and warm-ups are told by more than a room or a name."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
CaseOf = Callable[..., forensics.Case]
NOON = 1_788_264_000
"""2026-09-01T12:00:00Z; the nodes log in UTC."""
READY = 600
"""Seconds after noon at which the server says that it is ready."""
ENGINE = {"node": "n-01", "role": "prefill", "pool_tokens": 9_000, "engine": "sglang"}


def stamp(at: int) -> str:
    return datetime.fromtimestamp(NOON + at, UTC).strftime("[%Y-%m-%d %H:%M:%S]")


def boot(role: str, *, ready: bool = True, start: bool = True) -> list[str]:
    lines = []
    if start:
        args = f"server_args=ServerArgs(model_path='m', disaggregation_mode='{role}', page_size=64)"
        lines.append(f"{stamp(0)} {args}")
    if ready:
        lines.append(f"{stamp(READY)} The server is fired up and ready to roll!")
    return lines


def stats(side: str, room: int, tokens: int, at: int, made: int | None = None) -> str:
    made = (1 if side == "prefill" else 8) if made is None else made
    return (
        f"{stamp(at + 1)[:-1]} DP0 TP0] ReqTimeStats(rid={side}-{room}-{at}, "
        f"bootstrap_room={room}, "
        f"input_len={tokens}, cached_input_len=0, output_len={made}, attempts=0, type={side}): "
        "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=980.00ms, "
        f"entry_time={NOON + at}.000"
    )


def left(case: forensics.Case) -> list[str]:
    return sorted(case.requests.polars()["request_id"])


def test_four_tokens_before_readiness_are_a_warm_up(node_logs: NodeLogs) -> None:
    lines = [stats("prefill", room, 4, READY - 5) for room in range(8)]
    assert left(node_logs({"n-01": [*boot("prefill"), *lines]})) == []


@pytest.mark.parametrize("at", [READY + 3, READY + 7_200])
def test_four_tokens_after_it_are_a_request(node_logs: NodeLogs, at: int) -> None:
    """A start in whose time it lies is not needed to know that."""
    for start in (True, False):
        lines = [*boot("prefill", start=start), stats("prefill", 3, 4, at)]
        assert left(node_logs({"n-01": lines})) == [f"prefill-3-{at}"]


@pytest.mark.few(3)
@pytest.mark.parametrize("at", [READY - 5, READY + 60])
@pytest.mark.parametrize("tokens", [1, 3, 5])
def test_a_prompt_of_another_size_is_never_a_warm_up(
    node_logs: NodeLogs, tokens: int, at: int
) -> None:
    """One token is what a placeholder leaves on prefill."""
    case = node_logs({"n-01": [*boot("prefill"), stats("prefill", 3, tokens, at)]})
    (row,) = case.requests.polars().to_dicts()
    assert row["tier"] == "not_assessable"


def test_a_placeholder_under_a_small_room_is_found(node_logs: NodeLogs) -> None:
    logs = {
        "n-01": [*boot("prefill"), stats("prefill", 3, 1, READY + 60)],
        "d-01": [*boot("decode"), stats("decode", 3, 5_000, READY + 60, 40)],
    }
    (row,) = node_logs(logs).requests.polars().to_dicts()
    assert (row["tier"], row["reasons"]) == ("probable", ["placeholder_prefill"])


def test_a_clients_room_leaves_the_warm_ups_of_that_room_alone(node_logs: NodeLogs) -> None:
    lines = [stats("prefill", 3, 4, READY - 5), stats("prefill", 3, 900, READY + 60)]
    case = node_logs({"n-01": [*boot("prefill"), *lines]})
    assert left(case) == [f"prefill-3-{READY + 60}"]


@pytest.mark.few(2)
@pytest.mark.parametrize("engine", ["sglang", "vllm", None])
@pytest.mark.parametrize(("made", "requests"), [(8, 0), (5, 2)])
def test_where_no_start_is_logged_the_form_alone_tells(
    case_of: CaseOf, made: int, requests: int, engine: str | None
) -> None:
    """Nor does it where the logs hold nothing of what was started: but another engine's may be."""
    told = {"transfer_id": "3", "received_at": "2026-09-01T12:00:00Z"}
    records = [
        {"hop": "prefill", "request_id": "p", "prefill_node": "n-01", "prefill_prompt_tokens": 4},
        {"hop": "decode", "request_id": "d", "decode_node": "d-01", "decode_prompt_tokens": 4,
         "completion_tokens": made},
    ]  # fmt: skip
    engines = [ENGINE | {"engine": engine}, ENGINE | {"engine": engine, "node": "d-01"}]
    started = [engines[0], engines[1] | {"role": "decode"}] if engine else []
    case = case_of(*started, *(record | told for record in records))
    requests = 2 if engine == "vllm" else requests
    assert case.exposure().read[0].ignored.get("probe or warm-up", 0) == 2 - requests
    assert case.requests.polars().height == min(requests, 1)
    alone: dict[str, Any] = records[0] | told
    assert left(case_of(ENGINE, alone)) == ["p"], "nothing tells"


@pytest.mark.parametrize(
    ("rid", "tokens", "probe"),
    [
        ("HEALTH_CHECK_1788264123.456", 1, True),
        ("HEALTH_CHECK_9f86d081884c7d659a2feaa0c55ad015", 1, True),
        ("HEALTH_CHECK_mine", 1, False),
        ("HEALTH_CHECK_1788264123.456", 4, False),
    ],
)
def test_a_health_check_has_an_id_of_its_form_and_one_token(
    case_of: CaseOf, rid: str, tokens: int, probe: bool
) -> None:
    record = {"hop": "prefill", "request_id": rid, "transfer_id": "0", "prefill_node": "n-01"}
    told = {"received_at": "2026-09-01T12:00:00Z", "prefill_prompt_tokens": tokens}
    assert left(case_of(ENGINE, record | told)) == ([] if probe else [rid])


@pytest.mark.parametrize(
    ("filled", "tokens", "at", "left_over"),
    [(9, 9, READY + 58, 0), (4, 5, READY + 58, 1), (9, 9, READY + 900, 1), (4, 4, READY + 900, 0)],
    ids=["whole", "of another size", "long after", "too short for a placeholder"],
)
def test_a_health_check_is_no_side_of_a_hand_off_that_is_whole(
    node_logs: NodeLogs, filled: int, tokens: int, at: int, left_over: int
) -> None:
    """Room 0 is that of all health checks, and of whoever calls an engine with it."""
    check = f"HEALTH_CHECK_{NOON + READY + 57}.1"
    health = stats("prefill", 0, 1, READY + 57).replace(f"prefill-0-{READY + 57}", check)
    prefill = [*boot("prefill"), health, stats("prefill", 0, filled, READY + 60)]
    decode = [*boot("decode"), stats("decode", 0, tokens, at)]
    rows = node_logs({"n-01": prefill, "n-02": decode}).requests.polars()
    assert rows["prefill_prompt_tokens"].to_list().count(1) == left_over


def test_a_warm_up_without_a_start_makes_no_requests_of_the_checks_of_its_room(
    case_of: CaseOf,
) -> None:
    """Logs that begin later than the engine hold no start: the checks tell themselves."""
    checks = [
        {"hop": side, "request_id": f"HEALTH_CHECK_{at}a", f"{side}_node": f"{side}-01",
         "received_at": f"2026-09-01T1{at}:00:00Z", f"{side}_prompt_tokens": 1,
         "transfer_id": "0"}
        for side in ("prefill", "decode") for at in range(3)
    ]  # fmt: skip
    warm = {"hop": "decode", "request_id": "w", "decode_node": "decode-01", "transfer_id": "0"}
    told = {"received_at": "2026-09-01T11:01:30Z", "completion_tokens": 1}
    for tokens, left_over in ((4, {"w"}), (9, {"w", *(check["request_id"] for check in checks)})):
        case = case_of(*checks, warm | told | {"decode_prompt_tokens": tokens})
        assert set(left(case)) == left_over
