"""One room used again: which prefill is decode's, and what may be said where nothing tells."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
ROOM = "5392444535701028124"


def at(second: int) -> str:
    return f"2026-09-01T12:{second // 60:02}:{second % 60:02}Z"


def prefill(node: str, second: int, size: int, **values: Any) -> dict[str, Any]:
    named = {"hop": "prefill", "request_id": f"of-{node}", "transfer_id": ROOM}
    told = {"received_at": at(second), "prefill_node": node, "prefill_prompt_tokens": size}
    return named | told | values


def decode(second: int, size: int = 5_000, **values: Any) -> dict[str, Any]:
    named = {"hop": "decode", "request_id": "d", "transfer_id": ROOM, "decode_node": "d1"}
    told = {"received_at": at(second), "decode_prompt_tokens": size, "completion_tokens": 9}
    return named | told | values


def brief(case: forensics.Case) -> dict[str, tuple[Any, ...]]:
    names = ("prefill_node", "prefill_prompt_tokens", "decode_prompt_tokens", "tier")
    rows = case.requests.polars().to_dicts()
    assert len({row["request_id"] for row in rows}) == len(rows)
    return {row["request_id"]: tuple(row[name] for name in names) for row in rows}


def test_the_nearest_node_is_decodes_and_the_other_a_request_of_its_own(case_of: CaseOf) -> None:
    logged = [prefill("p1", 0, 1, cached_tokens=0), prefill("p2", 300, 5_000, prefill_ms=70.0)]
    for records in permutations([*logged, decode(301)]):
        case = case_of(*records)
        assert brief(case) == {
            "d": ("p2", 5_000, 5_000, "ruled_out"),
            "of-p1": ("p1", 1, None, "not_assessable"),
        }
        cached = dict(case.analysis.requests.select("request_id", "cached_tokens").iter_rows())
        assert cached["d"] is None, "of the other node"
    found = brief(case_of(*logged, decode(1)))
    assert found["d"] == ("p1", 1, 5_000, "probable")
    assert found["of-p2"] == ("p2", 5_000, None, "not_assessable")


POOLS = [
    {"node": node, "role": "prefill", "engine": "sglang", "effective_at": "2026-09-01T00:00:00Z"}
    | {"pool_tokens": 1_000_000, "page_tokens": 64, "context_tokens": 1_048_576}
    for node in ("p1", "p2")
]


@pytest.mark.parametrize("second", [9, 12, 60])
@pytest.mark.parametrize("first", ["p1", "p2"])
def test_of_two_near_nodes_decodes_is_the_one_that_clears_least(
    case_of: CaseOf, second: int, first: str
) -> None:
    """Times of nodes differ by seconds: nobody is cleared by the record of another request."""
    near = [prefill("p1", 10, 1), prefill("p2", 11, 5_000)]
    near = near if first == "p1" else near[::-1]
    found = brief(case_of(*POOLS, *near, decode(second)))
    assert found["d"] == ("p1", 1, 5_000, "possible")
    assert found["of-p2"] == ("p2", 5_000, None, "not_assessable")


@pytest.mark.parametrize(
    ("least", "most"),
    [
        ({"rejected": True}, {}),
        ({"transferred_pages": 1}, {"transferred_pages": 79}),
    ],
)
def test_what_a_near_node_rejected_or_did_not_send_clears_nobody(
    case_of: CaseOf, least: dict[str, Any], most: dict[str, Any]
) -> None:
    near = [prefill("p1", 10, 5_000) | least, prefill("p2", 12, 5_000) | most]
    found = brief(case_of(*POOLS, *near, decode(12, reserved_pages=79)))
    assert found["d"][::3] == ("p1", "possible")


def test_a_decode_timed_at_its_end_is_near_to_all_that_came_before(tmp_path: Path) -> None:
    rest = "queue_duration=1.00ms, forward_duration=9000000000.00ms, start_time=9.000"
    line = "[2026-09-01 12:{}:00] Req Time Stats(rid={}, bootstrap_room={}, input len={}, {}): {}"
    for name, minute, size, kind in (
        ("p1", "10", 1, "output len=1, type=prefill"),
        ("p2", "19", 5_000, "output len=1, type=prefill"),
        ("d1", "20", 5_000, "output len=40, type=decode"),
    ):
        text = line.format(minute, name * 16, ROOM, size, kind, rest)
        (tmp_path / f"{name}.log").write_text(text + "\n")
    found = brief(forensics.read_logs(tmp_path))
    assert found["d1" * 16] == ("p1", 1, 5_000, "possible")


@pytest.mark.parametrize("nodes", [("p1", "p1"), ("p1", "p2")])
@pytest.mark.parametrize("apart", [1, 30])
def test_a_placeholder_may_be_of_each_of_two_requests(
    case_of: CaseOf, apart: int, nodes: tuple[str, str]
) -> None:
    """Decode took the second on first: time gives the placeholder to the wrong one."""
    one, other = nodes
    sides = [
        prefill(one, 10, 1, request_id="a1"),
        prefill(other, 10 + apart, 5_000, request_id="a2"),
        decode(11 + apart, request_id="d2"),
        decode(12 + apart, request_id="d1"),
    ]
    for records in (sides, sides[::-1]):
        found = brief(case_of(*POOLS, *records))
        assert [found[name][1:] for name in ("d1", "d2")] == [(1, 5_000, "possible")] * 2


def test_a_placeholder_is_of_none_whose_prefill_is_told(case_of: CaseOf) -> None:
    sides = [
        prefill("p1", 10, 1, request_id="a1"),
        prefill("p1", 11, 5_000, request_id="d2"),
        decode(12, request_id="d2"),
        decode(13, request_id="d1"),
    ]
    found = brief(case_of(*POOLS, *sides))
    assert found["d1"][1::2] == (1, "possible")
    assert found["d2"][1::2] == (5_000, "ruled_out")


def test_a_node_that_counted_more_than_decode_is_not_decodes(case_of: CaseOf) -> None:
    found = brief(case_of(prefill("p1", 10, 9_000), prefill("p2", 40, 5_000), decode(10)))
    assert found["d"] == ("p2", 5_000, 5_000, "ruled_out")
    assert found["of-p1"][1] == 9_000


def test_a_node_that_decode_names_is_its_own_however_far(case_of: CaseOf) -> None:
    logged = [prefill("p1", 10, 1), prefill("p2", 40, 5_000)]
    assert brief(case_of(*logged, decode(10, prefill_node="p2")))["d"][0] == "p2"


def test_without_decode_each_node_has_its_own_row(case_of: CaseOf) -> None:
    found = brief(case_of(prefill("p1", 10, 1), prefill("p2", 40, 5_000)))
    assert found == {
        "of-p1": ("p1", 1, None, "not_assessable"),
        "of-p2": ("p2", 5_000, None, "not_assessable"),
    }


@pytest.mark.parametrize(
    ("second", "rows"), [({}, 1), ({"prefill_prompt_tokens": 7}, 2), ({"received_at": at(400)}, 2)]
)
def test_two_logs_of_one_node_are_one_hand_off(
    case_of: CaseOf, second: dict[str, Any], rows: int
) -> None:
    """The same id and count at the same time, under another file's name."""
    one = prefill("p1", 10, 5_000, request_id="p")
    other = prefill("p1-requests", 10, 5_000, request_id="p") | second
    case = case_of(one, other, decode(10))
    assert case.requests.polars().height == rows


def test_ranks_of_one_server_are_one_node(case_of: CaseOf) -> None:
    case = case_of(prefill("p1/dp1", 10, 5_000), prefill("p1", 11, 5_000), decode(10))
    assert brief(case) == {"d": ("p1/dp1", 5_000, 5_000, "ruled_out")}
