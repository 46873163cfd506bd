"""Records per node and hour, missing hours, and what is said of the time since."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import forensics
from forensics.coverage.doubled import again, attach

SCOPE = '[scope]\nwindow = ["2026-09-01T00:00:00Z", "2026-09-02T00:00:00Z"]\n'
CaseOf = Callable[..., forensics.Case]


def busy(hours: list[int], each: int, node: str = "d1") -> list[dict[str, Any]]:
    return [
        {
            "hop": "decode",
            "request_id": f"{node}-{hour}-{n}",
            "decode_node": node,
            "received_at": f"2026-09-01T{hour:02}:{n * 60 // each:02}:00Z",
            "http_status": 200,
        }
        for hour in hours
        for n in range(each)
    ]


@pytest.mark.parametrize(("each", "gaps"), [(30, 1), (20, 1), (8, 0)])
def test_an_empty_hour_is_a_gap_only_where_the_node_is_busy(
    case_of: CaseOf, each: int, gaps: int
) -> None:
    case = case_of(*busy([3, 4, 6, 7], each))
    table = case.coverage.polars()
    assert table.filter("gap").height == gaps
    assert table["records"].sum() == 4 * each
    said = any("node hour without a record" in f for f in case.exposure().headline.incomplete)
    assert said == bool(gaps)
    (node,) = case.exposure().coverage
    assert (node.hours, node.hours_with_records, node.gaps) == (5, 4, gaps)


def test_hours_before_the_first_and_after_the_last_record_are_no_gaps(case_of: CaseOf) -> None:
    case = case_of(*busy([3, 4], 30), *busy([6, 7], 30, node="d2"))
    assert not case.coverage.polars()["gap"].any()


def test_gateways_that_no_record_tells_apart_are_said_to_count_as_one(
    case_of: Callable[..., forensics.Case],
) -> None:
    clients = [{"request_id": f"g{n}", "hop": "gateway", "prompt_tokens": 9} for n in range(3)]
    stamped = [row | {"received_at": "2026-09-01T03:00:00Z"} for row in clients]

    def codes(*rows: dict[str, Any]) -> set[str]:
        return {limit.code for limit in case_of(*rows).exposure().limitations}

    assert "gateways_as_one" in codes(*stamped)
    assert "gateways_as_one" not in codes(*busy([3], 2), *stamped)


def test_equal_records_are_counted_where_they_were_left_out(case_of: CaseOf) -> None:
    once, timeless = busy([3, 4], 2), {"request_id": "t", "hop": "decode", "decode_node": "d1"}
    case = case_of(*once, *once[:3], *once[:1], timeless, timeless)
    rows = case.coverage.polars().select("node", "hop", pl.col("hour").dt.hour(), "duplicates")
    assert rows.rows() == [
        ("d1", "decode", None, 1),
        ("d1", "decode", 3, 3),
        ("d1", "decode", 4, 1),
    ]
    document = case.exposure()
    assert [node.duplicates for node in document.coverage] == [5]
    assert sum(form.duplicate for form in document.read) == 5


def test_repeated_lines_are_of_the_side_that_their_node_logs() -> None:
    hour = 3_600_000_000
    hours = pl.DataFrame(
        {"node": ["a", "b", "b"], "hop": ["decode", "decode", "prefill"], "hour": [0] * 3}
    ).with_columns(records=pl.lit(9, dtype=pl.Int64), gap=pl.lit(value=False))
    lines = pl.DataFrame({"node": ["a", "a", "b"], "at": [5, hour, 7]})
    left_out = again(pl.DataFrame({"hop": []}, schema={"hop": pl.String}), lines)
    found = attach(hours, left_out).filter(pl.col("duplicates") > 0)
    assert found.select("node", "hop", "hour", "records", "duplicates").rows() == [
        ("a", "decode", 0, 9, 1),
        ("a", "decode", hour, 0, 1),
        ("b", "engine", 0, 0, 1),
    ]


CALL = "0f8fad5b-d9cb-469f-a165-70867728950e"
VLLM = "INFO 09-01 04:05:0{n} [async_llm.py:316] Added request {name}.\n"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("names", "skipped"),
    [
        ([f"cmpl-{CALL}-0", f"cmpl-{CALL}-1", f"cmpl-{CALL}-2"], 0),
        ([f"cmpl-{CALL}-0", f"cmpl-{CALL}-3"], 2),
        ([f"cmpl-{CALL}-1"], 1),
        (["cmpl-mine-3-0", "chatcmpl-mine-5"], 0),
    ],
)
def test_a_number_that_a_calls_ids_skip_is_a_prompt_without_a_record(
    tmp_path: Path, names: list[str], skipped: int
) -> None:
    lines = [VLLM.format(n=n, name=name) for n, name in enumerate(names)]
    (tmp_path / "engine.log").write_text("".join(lines) * 2)
    (tmp_path / "incident.toml").write_text(SCOPE)
    case = forensics.read_logs(tmp_path / "engine.log", incident=tmp_path / "incident.toml")
    document = case.exposure()
    assert case.coverage.polars()["skipped"].sum() == skipped
    assert sum(node.skipped for node in document.coverage) == skipped
    bound = document.headline.bound
    assert bound.high - bound.low == case.requests.polars().height + skipped
    assert ("numbers_skipped" in {limit.code for limit in document.limitations}) == bool(skipped)
    said = any("that numbered ids prove" in sentence for sentence in document.headline.incomplete)
    assert said == bool(skipped)
    assert set(case.requests.polars()["tier"]) == {"not_assessable"}


def span(state: str | None) -> dict[str, Any]:
    known = {"module": "sglang::request", "rid": "0a", "bootstrap_room": "0x2a"}
    return {
        "traceId": "00000000000000001f2e3d4c5b6a7988",
        "spanId": "a1",
        "name": "decode Req 0a",
        "startTimeUnixNano": "1788235200000000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in known.items()],
    } | ({} if state is None else {"traceState": state})


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("state", "sampled"),
    [
        ("ot=th:8", True),
        ("CANARY=private text,ot=rv:6e6d1a75832a2f;th:fd70a", True),
        ("ot=th:0", False),
        ("vendor=th:8", False),
        ("ot=th:8000000000000001", False),
        (None, False),
    ],
)
def test_spans_that_are_a_sample_say_so(tmp_path: Path, state: str | None, sampled: bool) -> None:
    listed = {"resourceSpans": [{"scopeSpans": [{"spans": [span(state)]}]}]}
    (tmp_path / "spans.jsonl").write_text(json.dumps(listed) + "\n")
    case = forensics.read_logs(tmp_path / "spans.jsonl")
    document = case.exposure()
    assert case.requests.polars().height == 1
    assert ("spans_sampled" in {limit.code for limit in document.limitations}) == sampled
    said = "1 span of a sample, by what the trace itself says"
    assert (said in document.headline.incomplete) == sampled
    assert b"private" not in msgspec.json.encode(document)


@pytest.mark.parametrize("state", ["ot=th:8", "ot=th:0"])
def test_spans_lack_no_request_whatever_a_sampler_kept(tmp_path: Path, state: str) -> None:
    """One that kept all kept all of callers that are traced."""
    listed = {"resourceSpans": [{"scopeSpans": [{"spans": [span(state)]}]}]}
    (tmp_path / "spans.jsonl").write_text(json.dumps(listed) + "\n")
    told = {"hop": "gateway", "received_at": "2026-09-01T02:00:00Z", "prompt_tokens": 9}
    rows = [json.dumps(told | {"request_id": name}) for name in ("0a", "0b", "0c")]
    (tmp_path / "gateway.ndjson").write_text("\n".join(rows) + "\n")
    reach = {row.hop: row for row in forensics.read_logs(tmp_path).exposure().reach}
    assert not reach["decode"].kept
    assert not reach["decode"].lost


@pytest.mark.parametrize(("rate", "sampled"), [("1.0", False), ("0.1", True)])
def test_hours_of_a_sample_say_so(case_of: CaseOf, rate: str, sampled: bool) -> None:
    case = case_of(*busy([3, 5], 20), incident=f"[logs]\nsampling_rate = {rate}\n")
    table = case.coverage.polars()
    assert table.filter("gap")["sampled"].to_list() == [False]
    assert table.filter(pl.col("records") > 0)["sampled"].to_list() == [sampled] * 2


POOL = {"node": "p1", "role": "prefill", "pool_tokens": 1000, "engine": "sglang"}


def long_one(hour: int, **values: Any) -> dict[str, Any]:
    return {
        "request_id": f"long-{hour}",
        "received_at": f"2026-09-01T{hour:02}:00:00Z",
        "prefill_node": "p1",
        "prompt_tokens": 5000,
        "reserved_pages": 80,
    } | values


AFFECTED = {"transferred_pages": 1, "completion_tokens": 9}
SERVED = {"transferred_pages": 80, "completion_tokens": 9}
UNSENT = {"transferred_pages": 1, "completion_tokens": 0}
REFUSED = {"rejected": True, "http_status": 400}
WINDOW = {"rejection_code": "context_exceeded"}


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ([], "cannot tell"),
        ([long_one(1, **AFFECTED)], "yes"),
        ([long_one(1, **AFFECTED), *busy([2, 3], 5)], "cannot tell"),
        ([long_one(1, **AFFECTED), long_one(2, **SERVED)], "no"),
        ([long_one(1, **SERVED), long_one(2, **AFFECTED)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT), *busy([4], 5)], "cannot tell"),
        ([long_one(1, **AFFECTED), long_one(2, **SERVED), long_one(3, **UNSENT)], "yes"),
        ([long_one(1, **AFFECTED), long_one(2, **UNSENT), long_one(3, **REFUSED)], "no"),
        ([long_one(1, **AFFECTED), long_one(3, **REFUSED, **WINDOW)], "cannot tell"),
        ([long_one(1, **SERVED)], "no"),
    ],
)
def test_it_has_stopped_only_where_later_prompts_of_that_size_show_it(
    case_of: CaseOf, records: list[dict[str, Any]], answer: str
) -> None:
    ongoing = case_of(POOL, *records).exposure().headline.ongoing
    assert ongoing.answer == answer
    if records and records[0] == long_one(1, **AFFECTED):
        assert ongoing.last_affected_at == "2026-09-01T01:00:00.000000Z"


def test_the_funnel_narrows_and_the_days_add_up(case_of: CaseOf) -> None:
    case = case_of(POOL, long_one(1, **AFFECTED), long_one(2, **SERVED), *busy([3], 5))
    document = case.exposure()
    steps = [step.requests for step in document.funnel]
    assert steps == [7, 7, 2, 2]
    assert sum(day.requests for day in document.days) == 7
    assert sum(day.probable for day in document.days) == 1
    assert sum(cell.requests for cell in document.lengths) == 2
    assert {point.tier for point in document.points} == {"probable", "ruled_out"}
    assert document.headline.bound.low == 1
    assert pl.Series(r.requests for r in document.reasons).sum() > 0


def test_a_stamp_of_another_century_has_four_digits_for_its_year(case_of: CaseOf) -> None:
    odd = [row | {"received_at": "0826-09-01T03:00:00Z"} for row in busy([3], 1)]
    (node,) = case_of(*odd).exposure().coverage
    assert node.first_at == "0826-09-01T03:00:00.000000Z"
