"""A capacity record that says little unsets nothing, and changes only what it says."""

import json
from collections.abc import Callable
from typing import Any

import forensics

CaseOf = Callable[..., forensics.Case]
FULL = {
    "node": "prefill-01", "role": "prefill", "engine": "sglang", "engine_version": "0.5.19",
    "pool_tokens": 2_560, "page_tokens": 64, "context_tokens": 4_096, "disaggregated": True,
    "config": "tp_size=8;quantization=fp8",
}  # fmt: skip
PARTIAL = {"node": "prefill-01", "pool_tokens": 2_560, "context_tokens": 4_096}


def on(day: int, record: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"effective_at": f"2026-08-{day:02}T00:00:00Z"} | record | more


def changes(case: forensics.Case) -> list[tuple[str, str | None, str | None]]:
    return [(one.setting, one.before, one.after) for one in case.exposure().changes]


def test_what_a_record_leaves_out_did_not_change(case_of: CaseOf) -> None:
    case = case_of(on(1, FULL), on(2, PARTIAL), on(3, FULL), on(4, PARTIAL))
    assert changes(case) == []
    rows = case.capacity.polars()
    assert rows["page_tokens"].to_list() == [64] * 4
    assert set(rows["role"]) == {"prefill"}


def test_what_changes_over_a_record_that_leaves_it_out_is_a_change(case_of: CaseOf) -> None:
    other = on(3, FULL, page_tokens=128, config="tp_size=4;quantization=fp8")
    assert changes(case_of(on(1, FULL), on(2, PARTIAL), other)) == [
        ("page_tokens", "64", "128"),
        ("tp_size", "8", "4"),
    ]


def test_of_another_start_nothing_is_known_but_what_is_said(case_of: CaseOf) -> None:
    case = case_of(on(1, FULL), on(2, PARTIAL, pool_tokens=8_192))
    assert changes(case) == [("pool_tokens", "2560", "8192")]
    last = case.capacity.polars().row(-1, named=True)
    assert (last["page_tokens"], last["role"], last["engine"]) == (None, "prefill", "sglang")


def test_a_record_without_an_engine_does_not_move_the_limit(case_of: CaseOf) -> None:
    # SGLang rejects a few tokens earlier than an engine of which nothing is known.
    request = {"request_id": "r", "prefill_node": "prefill-01", "prompt_tokens": 2_556}
    request |= {"received_at": "2026-08-05T00:00:00Z", "http_status": 200, "completion_tokens": 3}
    for records in ([on(1, FULL)], [on(1, FULL), on(2, PARTIAL)]):
        rows = case_of(*records, request).requests.polars()
        assert rows.select("tier", "input_limit_tokens").rows() == [("possible", 2_554)]


def test_the_table_of_a_gate_that_says_little_shows_no_change(case_of: CaseOf, tmp_path) -> None:
    case_of(on(1, FULL), on(2, PARTIAL)).report(tmp_path / "out")
    (table,) = (tmp_path / "out").glob("capacity.csv")
    assert "->" not in table.read_text()
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["changes"] == []
