"""One room on two prefill nodes: two requests, of which decode's is told by time."""

from collections.abc import Callable
from itertools import permutations
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


def test_of_two_near_nodes_the_choice_is_an_inference(case_of: CaseOf) -> None:
    near = [prefill("p1", 10, 1), prefill("p2", 11, 5_000)]
    assert brief(case_of(*near, decode(10)))["d"][::3] == ("p1", "possible")
    assert brief(case_of(*near, decode(12)))["d"][::3] == ("p2", "not_assessable")


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
