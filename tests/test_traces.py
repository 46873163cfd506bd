"""Lines that name no request: which requests fit them, and how many they explain."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
PAGE = 64
START = "server_args=ServerArgs(model_path='m', disaggregation_mode='prefill', page_size=64)"
SECOND = 1_788_264_000
"""Epoch of 2026-09-01 12:00:00 UTC."""


def at(second: int, rank: str = " DP1 TP1 EP1") -> str:
    minute, second = divmod(second, 60)
    return f"[2026-09-01 12:{minute:02}:{second:02}{rank}] "


def started(page: int = PAGE) -> str:
    return f"[2026-09-01 00:00:00] {START}".replace("page_size=64", f"page_size={page}")


def mismatch(second: int, pages: int, rank: str = " DP1 TP1 EP1") -> str:
    counts = f"len(prefill_state_indices) = 1, len(dst_state_indices) = {pages}"
    return at(second, rank) + counts


def truncated(second: int, tokens: int, kept: int) -> str:
    return at(second) + (
        "Request length is longer than the KV cache pool size or the max context length. "
        f"Truncated. len(req.origin_input_ids)={tokens}, max_req_input_len={kept}."
    )


def stats(second: int, room: int, tokens: int, side: str = "decode", made: int = 40) -> str:
    return at(second + 1) + (
        f"ReqTimeStats(rid={side}-{room}, bootstrap_room={room}, input_len={tokens}, "
        f"cached_input_len=0, output_len={made}, attempts=0, type={side}): "
        "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=980.00ms, "
        f"entry_time={SECOND + second}.000"
    )


ROOM = 4_000_000_000_000_000_000


def decoded(*prompts: int, seconds: int = 10) -> list[str]:
    return [stats(seconds + n, ROOM + n, tokens) for n, tokens in enumerate(prompts)]


def by_size(case: forensics.Case) -> dict[int, tuple[str, list[str]]]:
    rows = case.requests.polars().sort("prompt_tokens")
    columns = rows.select("prompt_tokens", "tier", "reasons").iter_rows()
    return {tokens: (tier, reasons) for tokens, tier, reasons in columns}


def left(case: forensics.Case) -> int:
    return case.analysis.traces.left("state_mismatch")


def test_a_request_that_fits_is_possible_though_no_limit_is_known(node_logs: NodeLogs) -> None:
    case = node_logs(
        {"prefill-01": [started(), mismatch(11, 157)], "decode-01": decoded(10_000, 5_000)}
    )
    found = by_size(case)
    assert found[10_000] == ("possible", ["state_mismatch"])
    assert found[5_000] == ("not_assessable", [])
    assert left(case) == 0
    row = case.affected.polars().row(0, named=True)
    assert row["rung"] == "delivered"


@pytest.mark.parametrize(
    ("tokens", "fits"), [(9_984, False), (9_985, True), (10_048, True), (10_049, False)]
)
def test_the_size_is_known_to_a_page(node_logs: NodeLogs, tokens: int, fits: bool) -> None:
    case = node_logs({"prefill-01": [started(), mismatch(11, 157)], "decode-01": decoded(tokens)})
    assert (by_size(case)[tokens][0] == "possible") == fits
    assert left(case) == (0 if fits else 1)


def test_a_page_of_another_size_moves_the_range(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [started(32), mismatch(11, 313)], "decode-01": decoded(10_000)})
    assert by_size(case)[10_000][0] == "possible"


@pytest.mark.parametrize(("second", "fits"), [(-110, False), (130, True), (132, False)])
def test_a_line_far_in_time_is_another_request(
    node_logs: NodeLogs, second: int, fits: bool
) -> None:
    line = mismatch(second, 157) if second > 0 else mismatch(11, 157).replace(" 12:00:", " 11:57:")
    zone = '[logs]\ntimezone = "UTC"'
    case = node_logs({"prefill-01": [started(), line], "decode-01": decoded(10_000)}, zone)
    assert (left(case) == 0) == fits


def test_a_line_within_the_run_of_its_request_fits(node_logs: NodeLogs) -> None:
    long_run = stats(10, ROOM, 10_000).replace(
        "forward_duration=980.00", "forward_duration=300000.00"
    )
    zone = '[logs]\ntimezone = "UTC"'
    logs = {"prefill-01": [started(), mismatch(300, 157)], "decode-01": [long_run]}
    assert left(node_logs(logs, zone)) == 0


def test_evidence_of_its_own_is_neither_raised_nor_lowered(node_logs: NodeLogs) -> None:
    logs = {
        "prefill-01": [started(), mismatch(11, 157), stats(10, ROOM, 1, "prefill", 1)],
        "decode-01": decoded(10_000),
    }
    case = node_logs(logs)
    tier, reasons = by_size(case)[10_000]
    assert tier == "probable"
    assert {"placeholder_prefill", "state_mismatch"} <= set(reasons)
    assert left(case) == 0


def test_a_request_with_evidence_takes_the_line_from_others_of_its_size(
    node_logs: NodeLogs,
) -> None:
    logs = {
        "prefill-01": [started(), mismatch(11, 157), stats(10, ROOM, 1, "prefill", 1)],
        "decode-01": decoded(10_000, 10_001),
    }
    found = by_size(node_logs(logs))
    assert found[10_000][0] == "probable"
    assert found[10_001] == ("not_assessable", [])


def test_a_complete_hand_off_never_fits(node_logs: NodeLogs) -> None:
    logs = {
        "prefill-01": [started(), mismatch(11, 157), stats(10, ROOM, 10_000, "prefill", 1)],
        "decode-01": decoded(10_000),
    }
    case = node_logs(logs)
    assert by_size(case)[10_000] == ("ruled_out", ["same_count"])
    assert left(case) == 1


def test_what_was_not_delivered_stays_ruled_out(node_logs: NodeLogs) -> None:
    logs = {
        "prefill-01": [started(), mismatch(11, 157)],
        "decode-01": [stats(10, ROOM, 10_000, made=0)],
    }
    tier, reasons = by_size(node_logs(logs))[10_000]
    assert (tier, set(reasons)) == ("ruled_out", {"not_delivered", "state_mismatch"})


def test_all_that_fit_one_line_get_it_and_it_is_explained_once(node_logs: NodeLogs) -> None:
    lines = [started(), mismatch(11, 157), mismatch(12, 157), mismatch(13, 157)]
    case = node_logs({"prefill-01": lines[:2], "decode-01": decoded(10_000, 10_001)})
    assert [tier for tier, _ in by_size(case).values()] == ["possible", "possible"]
    assert left(case) == 0
    more = node_logs({"prefill-01": lines, "decode-01": decoded(10_000, 10_001)})
    assert left(more) == 1


def test_lines_of_another_node_or_rank_do_not_fit(node_logs: NodeLogs) -> None:
    prefill = stats(10, ROOM, 1, "prefill", 1)
    logs = {
        "prefill-01": [started(), prefill],
        "prefill-02": [started(), mismatch(11, 157)],
        "decode-01": decoded(10_000),
    }
    assert left(node_logs(logs)) == 1
    other_rank = {"prefill-01": [started(), prefill, mismatch(11, 157, " DP2 TP2 EP2")]}
    assert left(node_logs(other_rank | {"prefill-02": [started()]})) == 1


def test_each_tensor_rank_logs_one_event(node_logs: NodeLogs) -> None:
    ranks = [mismatch(11, 157, f" DP1 TP{tensor}") for tensor in (2, 3)]
    logs = {"prefill-01": [started(), *ranks], "decode-01": decoded(10_000)}
    assert left(node_logs(logs)) == 0
    again = [mismatch(20, 157, f" DP1 TP{tensor}") for tensor in (2, 3)]
    assert left(node_logs({**logs, "prefill-01": [started(), *ranks, *again]})) == 1


def overlapping(*files: list[str]) -> dict[str, list[str]]:
    """A log and its rotated copies, which overlap."""
    names = ["prefill-01/app.log", *(f"prefill-01/app.log.{n}" for n in range(1, len(files)))]
    return dict(zip(names, files, strict=True))


def test_a_line_that_a_rotated_copy_repeats_is_one_event(node_logs: NodeLogs) -> None:
    lines = [started(), mismatch(11, 157), mismatch(11, 157), truncated(11, 900_000, 681_274)]
    alone = node_logs(overlapping(lines))
    doubled = node_logs(overlapping([*lines[1:3], mismatch(40, 90)], lines, lines[2:]))
    assert (left(alone), left(doubled)) == (2, 3)
    assert doubled.analysis.traces.left("truncated") == 1
    (count,) = doubled.exposure().read
    assert (count.read, count.kept, count.duplicate) == (9, 5, 4)


def test_a_repeated_line_makes_no_second_request_possible(node_logs: NodeLogs) -> None:
    # The first request has evidence of its own, and takes the line.
    prefill = [started(), stats(10, ROOM, 1, "prefill", 1), mismatch(11, 157)]
    logs = overlapping(prefill, prefill) | {"decode-01": decoded(10_000, 10_001)}
    found = by_size(node_logs(logs))
    assert (found[10_000][0], found[10_001][0]) == ("probable", "not_assessable")


def test_prefills_count_alone_explains_a_line_and_is_possible(node_logs: NodeLogs) -> None:
    lines = [
        mismatch(11, 157),
        stats(10, ROOM, 1, "prefill", 1),
        stats(10, ROOM + 1, 50, "prefill"),
    ]
    case = node_logs({"prefill-01": [started(), *lines]})
    rows = case.requests.polars().sort("prefill_prompt_tokens")
    assert rows["tier"].to_list() == ["possible", "not_assessable"]
    assert left(case) == 0


@pytest.mark.parametrize(
    ("known", "tier"),
    [
        ({}, "possible"),
        ({"hop": "gateway", "prompt_tokens": 1, "http_status": 200}, "not_assessable"),
        ({"hop": "decode", "decode_prompt_tokens": 1, "completion_tokens": 9}, "ruled_out"),
        ({"hop": "decode", "reserved_pages": 1, "transferred_pages": 1}, "ruled_out"),
    ],
    ids=["prefill alone", "client", "decode", "pages"],
)
def test_a_prompt_of_one_token_is_told_from_a_placeholder_by_another_count_alone(
    node_logs: NodeLogs, known: dict[str, Any], tier: str
) -> None:
    """On prefill the two are the same, so a line near by may be either's."""
    prefill = [started(), mismatch(11, 157), stats(10, ROOM, 1, "prefill", 1)]
    record = {"request_id": "r", "transfer_id": str(ROOM), "received_at": "2026-09-01T12:00:10Z"}
    logs = {"prefill-01": prefill}
    if known:
        logs["other.ndjson"] = [json.dumps(record | known)]
    case = node_logs(logs)
    (row,) = case.requests.polars().to_dicts()
    assert row["tier"] == tier
    assert ("state_mismatch" in row["reasons"]) == (not known)
    assert left(case) == (1 if known else 0), "the line is then another request's"


def test_without_a_page_size_the_one_that_explains_most_lines_is_taken(
    node_logs: NodeLogs,
) -> None:
    lines = [mismatch(11, 157), mismatch(12, 10_957)]
    case = node_logs({"prefill-01": lines, "decode-01": decoded(10_000, 701_234, 314)})
    assert left(case) == 0
    assert case.affected.polars()["prompt_tokens"].sort().to_list() == [10_000, 701_234]


def test_page_sizes_that_explain_as_many_lines_explain_none(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [mismatch(11, 3)], "decode-01": decoded(40, 150)})
    assert left(case) == 1
    assert case.affected.polars().height == 0


def test_without_a_page_size_and_a_fitting_one_the_lines_still_count(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [mismatch(11, 157)], "decode-01": decoded(3)})
    bound = case.exposure().headline.bound
    assert (bound.low, bound.high) == (0, 2)
    assert "1 state-mismatch line that no joined request explains" in bound.sentence


def test_lines_that_no_request_explains_leave_the_evidence_incomplete(
    node_logs: NodeLogs,
) -> None:
    lines = [started(), mismatch(11, 157), truncated(11, 900_000, 681_274)]
    document = node_logs({"prefill-01": lines, "decode-01": decoded(5)}).exposure()
    said = " ".join(document.headline.incomplete)
    assert "1 state-mismatch line that no joined request explains" in said
    assert "1 truncation line that no joined request explains" in said
    assert document.headline.bound.high == 2
    (told,) = [item for item in document.limitations if item.code == "lines_unexplained"]
    assert told.sentence.startswith("2 lines ")
    assert told.sentence.endswith("By node: prefill-01/dp1: 2.")


def test_lines_that_no_request_explains_are_counted_by_node(node_logs: NodeLogs) -> None:
    logs = {f"prefill-{n:02}": [started(), mismatch(11, 157)] for n in range(22)}
    logs["prefill-05"].append(mismatch(40, 99))
    document = node_logs(logs | {"decode-01": decoded(5)}).exposure()
    (told,) = [item for item in document.limitations if item.code == "lines_unexplained"]
    assert "By node: prefill-05/dp1: 2, prefill-00/dp1: 1, " in told.sentence
    assert told.sentence.endswith(", prefill-19/dp1: 1, 2 other nodes: 2.")


def test_lines_outside_the_window_stand_for_nothing_in_it(node_logs: NodeLogs) -> None:
    window = '[scope]\nwindow = ["2026-09-01T13:00:00Z", "2026-09-02T00:00:00Z"]\n'
    zone = '[logs]\ntimezone = "UTC"\n'
    logs = {"prefill-01": [started(), mismatch(11, 157)]}
    assert left(node_logs(logs, zone)) == 1
    assert left(node_logs(logs, window + zone)) == 0


def test_a_shortened_prompt_of_that_length_is_possible(node_logs: NodeLogs) -> None:
    logs = {
        "prefill-01": [started(), truncated(11, 700_001, 681_274)],
        "decode-01": decoded(700_001, 700_000),
    }
    found = by_size(node_logs(logs))
    assert found[700_001][0] == "possible"
    assert "truncated_prefill" in found[700_001][1]
    assert "truncated_prefill" not in found[700_000][1]


def test_a_prompt_that_decode_shortened_as_well_explains_the_line(node_logs: NodeLogs) -> None:
    logs = {
        "prefill-01": [started(), truncated(11, 700_001, 681_274)],
        "decode-01": decoded(681_274),
    }
    case = node_logs(logs)
    assert case.analysis.traces.left("truncated") == 0
    assert "truncated_prefill" not in by_size(case)[681_274][1]


def test_a_decode_node_that_shortens_prompts_shows_nothing(node_logs: NodeLogs) -> None:
    decode = f"[2026-09-01 00:00:00] {START}".replace("'prefill'", "'decode'")
    case = node_logs({"decode-01": [decode, truncated(11, 700_001, 681_274), *decoded(681_274)]})
    assert case.analysis.traces.lines.height == 0


def test_an_assumed_zone_widens_the_time_by_any_zone(node_logs: NodeLogs) -> None:
    late = mismatch(11, 157).replace(" 12:00:", " 20:00:")
    logs = {"prefill-01": [started(), late], "decode-01": decoded(10_000)}
    assert by_size(node_logs(logs))[10_000][0] == "possible"
    assert left(node_logs(logs, '[logs]\ntimezone = "UTC"')) == 1


def test_a_request_without_a_time_may_be_of_any_line(case_of: Any, node_logs: NodeLogs) -> None:
    old = at(12) + (
        "Req Time Stats(rid=d-1, bootstrap_room=77, input len=10000, output len=9, type=decode): "
        "prealloc_duration=120.00ms, transfer_duration=1340.00ms, queue_duration=10.00ms, "
        "forward_duration=1930.00ms, start_time=89999.600"
    )
    case = node_logs({"prefill-01": [started(), mismatch(11, 157)], "decode-01": [old]})
    assert left(case) == 0


def test_the_order_of_files_and_lines_changes_nothing(node_logs: NodeLogs) -> None:
    lines = [mismatch(11 + n, 157) for n in range(3)]
    requests = decoded(10_000, 10_001, 10_002, 10_003)
    one = node_logs({"a-prefill": [started(), *lines], "b-decode": requests})
    two = node_logs({"a-prefill": [started(), *lines[::-1]], "b-decode": requests[::-1]})
    rows = [case.requests.polars() for case in (one, two)]
    assert rows[0].equals(rows[1])
    assert one.exposure().headline == two.exposure().headline


def test_a_line_no_request_explains_leaves_open_whether_it_has_stopped(
    node_logs: NodeLogs,
) -> None:
    logs = {"prefill-01": [started(), mismatch(59, 157)], "decode-01": decoded(10)}
    ongoing = node_logs(logs).exposure().headline.ongoing
    assert ongoing.answer == "cannot tell"
    assert "fits no request" in ongoing.sentence


def test_the_checklist_passes_no_rejection_while_lines_are_unexplained(
    node_logs: NodeLogs,
) -> None:
    stopped = {
        "decode-01": [
            *decoded(10),
            at(20) + "Input length (900000 tokens) exceeds the maximum allowed length (681274 "
            "tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='x-1'",
            stats(19, ROOM + 9, 900_000, made=0).replace(f"decode-{ROOM + 9}", "x-1"),
        ]
    }
    items = [
        case.exposure().checklist[1]
        for case in (
            node_logs(stopped),
            node_logs(stopped | {"prefill-01": [started(), mismatch(11, 157)]}),
        )
    ]
    assert [item.result for item in items] == ["pass", "not observable"]
    assert "1 line of a hand-off cut short, of no request" in items[1].evidence


def test_unexplained_lines_are_polars_rows_with_their_node(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [started(), mismatch(11, 157)]})
    lines = case.analysis.traces.unexplained()
    assert lines["node"].to_list() == ["prefill-01/dp1"]
    assert lines.schema["at"] == pl.Int64
