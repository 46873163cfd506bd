"""What looks like the fault in SGLang's logs and is none: each beside a request that has it.

Two hand-offs are in every log: a leak that has to stay ``probable`` and a sound one that
has to stay ``ruled_out``. Whatever is added may only add its own row, or none.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import forensics
from tests.handoffs import (
    BASE,
    CLIENTS,
    SAME,
    SOUND,
    Judge,
    client,
    decode_batch,
    failed,
    handoff,
    ignored,
    judging,
    line,
    prefill_batch,
    reader,
    stats,
)


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., forensics.Case]:
    return reader(tmp_path)


@pytest.fixture
def judge(cases: Callable[..., forensics.Case]) -> Judge:
    return judging(cases)


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
        "a": ("ruled_out", ["handoff_failed", "not_delivered"]),
        "b": SAME,
    }
