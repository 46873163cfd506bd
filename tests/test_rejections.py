"""A rejection alone shows no answer, and names no decode node."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
Judge = Callable[..., dict[str, Any]]
REFUSED = {
    "request_id": "r", "received_at": "2026-09-01T12:00:00Z", "prompt_tokens": 700_000,
    "rejected": True,
}  # fmt: skip
LINE = (
    "[2026-09-01 12:00:00 DP0 TP0 EP0] Input length (690000 tokens) exceeds the maximum allowed "
    "length (681274 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='r'"
)
ROLE = (
    "[2026-09-01 11:00:00] server_args=ServerArgs(model_path='m', disaggregation_mode='{}', "
    "page_size=64)"
)


@pytest.mark.parametrize(
    "shown",
    [
        {"http_status": 200},
        {"completion_tokens": 4},
        {"http_status": 200, "stream_error": True},
        {"decode_prompt_tokens": 700_000},
        {"reserved_pages": 9},
    ],
)
def test_with_a_sign_of_an_answer_it_was_served(verdict_of: Judge, shown: dict[str, Any]) -> None:
    assert "rejected_but_served" in verdict_of(REFUSED | shown)["reasons"]


@pytest.mark.parametrize(
    "silent", [{}, {"http_status": 499}, {"http_status": 504}, {"prefill_prompt_tokens": 1}]
)
def test_without_one_it_is_a_rejection_alone(verdict_of: Judge, silent: dict[str, Any]) -> None:
    row = verdict_of(REFUSED | silent)
    assert "rejected_but_served" not in row["reasons"]


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ({"rejection_code": "input_too_long"}, True),
        ({"rejection_code": "capacity"}, True),
        ({"rejection_code": "input_too_long", "rejected": False}, False),
        ({"rejection_code": "timeout"}, False),
    ],
)
def test_a_code_of_refusals_alone_counts_as_one(
    verdict_of: Judge, told: dict[str, Any], counts: bool
) -> None:
    """What ended a request that was taken on is none; and a flag that says no is believed."""
    served = {name: value for name, value in REFUSED.items() if name != "rejected"}
    row = verdict_of(served | told | {"http_status": 200, "completion_tokens": 4})
    assert ("rejected_but_served" in row["reasons"]) is counts


@pytest.mark.parametrize("role", [None, "prefill", "null"])
def test_a_rejection_line_names_the_node_that_refused_as_prefills(
    node_logs: NodeLogs, role: str | None
) -> None:
    lines = [LINE] if role is None else [ROLE.format(role), LINE]
    (row,) = node_logs({"n-01": lines}, '[logs]\ntimezone = "UTC"').requests.polars().to_dicts()
    assert (row["prefill_node"], row["decode_node"]) == ("n-01/dp0", None)
    assert "rejected_but_served" not in row["reasons"]
    assert "over_limit" in row["reasons"]
    assert row["tier"] == ("ruled_out" if role == "null" else "possible")


def test_a_decode_node_may_refuse_too(node_logs: NodeLogs) -> None:
    lines = [ROLE.format("decode"), LINE]
    (row,) = node_logs({"n-01": lines}, '[logs]\ntimezone = "UTC"').requests.polars().to_dicts()
    assert (row["prefill_node"], row["decode_node"]) == (None, "n-01/dp0")
    assert "rejected_but_served" not in row["reasons"]


POOL = "[2026-09-01 11:0{}:00 TP0] max_total_num_tokens={}, context_len=1048576"


def test_the_limit_of_a_refused_request_is_the_one_that_its_refusal_quotes(
    node_logs: NodeLogs,
) -> None:
    lines = [POOL.format(0, 681_280), POOL.format(1, 900_000), LINE]
    (row,) = node_logs({"n-01": lines}, '[logs]\ntimezone = "UTC"').requests.polars().to_dicts()
    assert row["input_limit_tokens"] == 681_274
    assert "over_limit" in row["reasons"]
    assert "limit_uncertain" not in row["reasons"]


def test_a_client_that_counts_fewer_tokens_does_not_undo_a_refusal(node_logs: NodeLogs) -> None:
    gateway = {"request_id": "r", "hop": "gateway", "received_at": REFUSED["received_at"]}
    logs = {"n-01": [LINE], "g.ndjson": [json.dumps(gateway | {"prompt_tokens": 600_000})]}
    (row,) = node_logs(logs, '[logs]\ntimezone = "UTC"').requests.polars().to_dicts()
    assert row["prompt_tokens"] == 600_000
    assert (row["tier"], row["input_limit_tokens"]) == ("possible", 681_274)


def test_what_decode_refuses_by_is_no_limit_of_prefills(node_logs: NodeLogs) -> None:
    prefill = [ROLE.format("prefill"), POOL.format(1, 900_000)]
    logs = {"d-01": [ROLE.format("decode"), LINE], "p-01": prefill}
    (row,) = node_logs(logs, '[logs]\ntimezone = "UTC"').requests.polars().to_dicts()
    assert row["input_limit_tokens"] == 899_994
