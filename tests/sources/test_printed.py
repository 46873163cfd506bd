"""What launchers put around lines: names of processes that begin late, and counts of others."""

from pathlib import Path

import pytest

from forensics.sources.printed import IDLE
from forensics.sources.processes import HELD_BACK

DATA = Path(__file__).parents[1] / "_data" / "sources"
ACTOR = "(Engine pid=12, ip=10.0.0.1) "
HINT = (
    " (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
    "https://docs.ray.io/en/master/x.html#log-deduplication for more options.)"
)
ADDED = "INFO 02-03 04:00:0{} [async_llm.py:316] Added request r-{}."
LOAD = "INFO 02-03 04:00:09 [loggers.py:1] Engine 000: Avg prompt throughput: 9.0 tokens/s"
RECORDS = (DATA / "profiles" / "envoy-ai-gateway.jsonl").read_text().splitlines()


def repeated(line: str, times: int, end: str = "") -> str:
    return f"{ACTOR}{line} [repeated {times}x across cluster]{end}"


@pytest.mark.parametrize("end", ["", HINT, "\x1b[0m", "\r"])
def test_lines_that_ray_held_back_are_unreadable_and_the_printed_one_is_read(read, end):
    lines = [ACTOR + ADDED.format(1, 1), repeated(ADDED.format(2, 2), 4, end)]
    seen = read("\n".join(lines) + "\n", "decode.log")
    assert seen.rows["request_id"].sort().to_list() == ["r-1", "r-2"]
    assert seen.reasons == {HELD_BACK: 3}
    assert {one.line for one in seen.facts.unread} == {2}


def test_a_count_before_the_line_says_the_same(read):
    line = f"{ACTOR}[repeated 4x across cluster] {ADDED.format(2, 2)}"
    assert read(line, "decode.log").reasons == {HELD_BACK: 3}


def test_held_back_lines_of_a_kind_that_names_no_request_hide_none(read):
    seen = read(f"{ACTOR}{ADDED.format(1, 1)}\n{repeated(LOAD, 9)}\n", "decode.log")
    assert not seen.facts.unread
    assert seen.facts.ignored[IDLE] == 8


@pytest.mark.parametrize("ahead", [0, 1, 300])
def test_held_back_records_are_counted_wherever_they_stand(read, ahead):
    lines = [RECORDS[0]] * ahead + [repeated(RECORDS[1], 3)] * 2
    seen = read("\n".join(lines), "gateway.jsonl")
    assert seen.facts.kept == ahead + 2
    assert seen.reasons == {HELD_BACK: 4}


@pytest.mark.parametrize("times", [0, 999_999_999])
def test_a_count_that_cannot_be_is_one_unreadable_line(read, times):
    assert read(repeated(ADDED.format(2, 2), times), "decode.log").reasons == {HELD_BACK: 1}


def test_what_a_text_says_of_repeats_is_no_count(read):
    line = RECORDS[0].replace('"x-request-id": "', '"x-request-id": "[repeated 3x across cluster]')
    assert not read(line, "gateway.jsonl").facts.unread


@pytest.mark.parametrize("ahead", [RECORDS[0], "text of something else"])
@pytest.mark.parametrize("names", [ACTOR, ACTOR * 2])
def test_records_are_read_behind_processes_that_begin_late(read, ahead, names):
    seen = read("\n".join([ahead] * 250 + [names + line for line in RECORDS]), "gateway.jsonl")
    alone = read("\n".join(RECORDS), "b/gateway.jsonl")
    assert seen.facts.kept == alone.facts.kept + 250 * (ahead == RECORDS[0])
    assert set(seen.column("request_id")[-3:]) == set(alone.column("request_id"))


def test_a_record_behind_a_process_in_a_log_of_an_engine_is_read_as_its_format(read):
    lines = [ADDED.format(1, 1)] * 250 + [ACTOR + line for line in RECORDS]
    seen = read("\n".join(lines), "decode.log")
    assert seen.facts.format == "envoy-ai-gateway + vllm"
    assert not seen.facts.unread
