"""Batch lines: hours in which a node worked and none of its requests was logged."""

from collections.abc import Callable

import polars as pl
import pytest

import forensics
from forensics import activity
from forensics.clock import Clocks

NodeLogs = Callable[..., forensics.Case]
SECOND = 1_788_220_800
"""Epoch of 2026-09-01 00:00:00 UTC."""
ROOM = 4_000_000_000_000_000_000
HOUR = 3_600_000_000


def prefix(hour: int, minute: int = 5, rank: str = " DP1 TP1 EP1") -> str:
    return f"[2026-09-01 {hour:02}:{minute:02}:00{rank}] "


def prefill_batch(hour: int, tokens: int = 8_192, sequences: int = 2, minute: int = 5) -> str:
    return prefix(hour, minute) + (
        f"Prefill batch, #new-seq: {sequences}, #new-token: {tokens}, #cached-token: 0, token "
        "usage: 0.08, #running-req: 0, #queue-req: 0, #pending-token: 0, #bootstrap-req: 0, "
        "#inflight-req: 0, #optimistic-req: 0, cuda graph: False, input throughput (token/s): 9.54"
    )


def decode_batch(hour: int, minute: int = 5) -> str:
    return prefix(hour, minute) + (
        "Decode batch, #running-req: 3, #token: 3776, token usage: 0.00, pre-allocated usage: "
        "0.00, #prealloc-req: 0, #transfer-req: 0, #retracted-req: 0, cuda graph: True, gen "
        "throughput (token/s): 130.36, #queue-req: 0"
    )


def stats(hour: int, minute: int = 5, rank: str = " DP1 TP1 EP1") -> str:
    entry = SECOND + hour * 3_600 + minute * 60 - 1
    return prefix(hour, minute, rank) + (
        f"ReqTimeStats(rid=d-{hour}, bootstrap_room={ROOM + hour}, input_len=5000, "
        "cached_input_len=0, output_len=40, attempts=0, type=decode): bootstrap_duration=15.00ms, "
        f"queue_duration=5.00ms, forward_duration=980.00ms, entry_time={entry}.000"
    )


def hours(case: forensics.Case) -> list[tuple[int, int, int, int]]:
    table = case.coverage.polars()
    columns = table.select(pl.col("hour").dt.hour(), "records", "batches", "sequences")
    return list(columns.iter_rows())


def said(case: forensics.Case) -> bool:
    return any(
        "of work of which no request" in item for item in case.exposure().headline.incomplete
    )


def test_hours_hold_batches_beside_records(node_logs: NodeLogs) -> None:
    lines = [stats(3), decode_batch(3), decode_batch(3, 40)]
    case = node_logs({"decode-01": lines})
    assert hours(case) == [(3, 1, 2, 6)]
    assert not said(case)
    assert set(case.coverage.polars().columns) >= {"records", "gap", "batches", "sequences"}


def test_an_hour_of_batches_without_a_record_is_unlogged_work(node_logs: NodeLogs) -> None:
    case = node_logs({"decode-01": [stats(3), decode_batch(3), decode_batch(7), decode_batch(8)]})
    assert hours(case) == [(3, 1, 1, 3), (7, 0, 1, 3), (8, 0, 1, 3)]
    assert not case.coverage.polars()["gap"].any()
    (node,) = case.exposure().coverage
    assert (node.unlogged_hours, node.batches, node.hours) == (2, 3, 1)
    assert "2 node hours of work of which no request was logged (coverage.csv)" in (
        case.exposure().headline.incomplete
    )
    assert "work_unlogged" in {item.code for item in case.exposure().limitations}


def test_a_request_of_the_hour_before_may_still_run(node_logs: NodeLogs) -> None:
    assert not said(node_logs({"decode-01": [stats(3), decode_batch(4)]}))
    assert said(node_logs({"decode-01": [stats(3), decode_batch(5)]}))


def test_a_node_with_nothing_but_batches_is_in_the_table(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [prefill_batch(3)], "decode-01": [stats(3)]})
    rows = {row.node: row for row in case.exposure().coverage}
    worked = rows["prefill-01/dp1"]
    assert (worked.records, worked.first_at, worked.unlogged_hours) == (0, None, 1)
    assert rows["decode-01/dp1"].unlogged_hours == 0


def test_no_batch_lines_say_nothing(node_logs: NodeLogs) -> None:
    case = node_logs({"decode-01": [stats(3), stats(9)]})
    assert not said(case)
    assert hours(case) == [(3, 1, 0, 0), (9, 1, 0, 0)]


@pytest.mark.parametrize(
    ("tokens", "sequences", "flagged"), [(64, 1, False), (64, 2, True), (128, 1, True)]
)
def test_batches_of_one_page_may_be_health_checks(
    node_logs: NodeLogs, tokens: int, sequences: int, flagged: bool
) -> None:
    case = node_logs({"prefill-01": [prefill_batch(3, tokens, sequences)], "decode-01": [stats(3)]})
    assert said(case) == flagged


def test_records_of_a_server_without_its_rank_cover_its_ranks(node_logs: NodeLogs) -> None:
    case = node_logs({"decode-01": [stats(3, rank=""), decode_batch(3)]})
    assert not said(case)


def test_a_unified_node_logs_both_kinds_of_batches_and_one_record(node_logs: NodeLogs) -> None:
    unified = stats(3).replace("type=decode", "type=unified")
    assert not said(node_logs({"node-01": [unified, prefill_batch(3), decode_batch(3)]}))


def test_records_without_a_time_may_be_of_any_hour(node_logs: NodeLogs) -> None:
    out = (
        "Finish: obj=GenerateReqInput(rid='r-1', bootstrap_room=77), out={'meta_info': "
        "{'id': 'r-1', 'finish_reason': {'type': 'stop'}, 'prompt_tokens': 50, "
        "'completion_tokens': 9}}"
    )
    case = node_logs({"decode-01": [out, stats(3, rank=""), decode_batch(9)]})
    assert case.analysis.requests["received_at"].null_count() == 1
    assert not said(case)


def test_quarters_add_up_to_hours_of_utc_in_any_split() -> None:
    quarter = {
        "node": "p/dp0",
        "hop": "prefill",
        "batches": 2,
        "sequences": 5,
        "single_page_batches": 1,
        "naive": True,
        "source_node": "p",
    }
    rows = [quarter | {"at": n * HOUR // 4} for n in range(8)]
    clocks = Clocks({"p": 2 * HOUR}, None)
    whole = activity.hourly([pl.DataFrame(rows)], clocks)
    split = activity.hourly([pl.DataFrame([row]) for row in rows[::-1]], clocks)
    assert whole.equals(split)
    assert whole["hour"].to_list() == [-2 * HOUR, -HOUR]
    assert whole["batches"].to_list() == [8, 8]
    assert whole["sequences"].to_list() == [20, 20]


def test_a_rotated_copy_counts_once_and_a_log_in_two_parts_twice(node_logs: NodeLogs) -> None:
    lines = [prefill_batch(3, minute=at) for at in range(10)] + [decode_batch(3), stats(3)]
    whole = hours(node_logs({"decode-01": lines}))
    copied = {"decode-01": lines, "decode-01.log.1": lines, "decode-01.log.2": lines[:5]}
    parted = {"decode-01": lines[5:], "decode-01.log.1": lines[:5]}
    assert whole == hours(node_logs(parted)) == [(3, 1, 1, 3), (3, 0, 10, 20)]
    # The start of a quarter of an hour is told from another's by nothing but its lines.
    assert hours(node_logs(copied)) == [(3, 1, 1, 3), (3, 0, 15, 30)]
