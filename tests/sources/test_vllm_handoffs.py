"""Text lines of vLLM: hand-offs and their times, and which lines may not be believed."""

import json

import polars as pl
import pytest

from forensics import years
from tests.sources.vllmlines import AT, NIXL, SECOND, UUID, facts, ids, late, one_log, row


@pytest.fixture
def log(read):
    return one_log(read)


# --- hand-offs -------------------------------------------------------------------------


def test_a_short_hand_off_has_the_pages_of_both_sides(log):
    found = row(
        log(
            f"{NIXL} req chatcmpl-{UUID}-0115baf0: local blocks(1) < remote blocks(1900) in a KV "
            "cache group (is_mamba_group=False)"
        )
    )
    assert (found["request_id"], found["hop"]) == (UUID, "prefill")
    assert (found["reserved_pages"], found["transferred_pages"]) == (1900, 1)


def test_a_failed_transfer_has_both_ids(log):
    found = row(
        log(
            f"{NIXL} NIXL transfer failure: transfer_failed | Context: {{'failure_type': 'x', "
            "'request_id': 'chatcmpl-0a-a3b212e9', 'remote_request_id': 'chatcmpl-0b-1f0c22aa', "
            "'num_local_blocks': 61, 'num_remote_blocks': 64, "
            "'error_msg': \"CANARY 'request_id': 'y'\"}"
        )
    )
    assert (found["request_id"], found["prefill_request_id"]) == ("0a", "0b")
    assert (found["reserved_pages"], found["transfer_status"]) == (61, "failed")
    assert "transferred_pages" not in found


def test_a_failure_that_names_two_requests_names_none(log):
    seen = log(
        f"{NIXL} NIXL transfer failure: x | Context: {{'request_id': 'chatcmpl-0a-a3b212e9', "
        "'other': {'request_id': 'chatcmpl-0b-a3b212e9'}}"
    )
    assert ids(seen) == []
    assert seen.reasons == {"NIXL transfer failure not in a known form": 1}


def test_only_a_caches_lines_have_a_date(log):
    seen = log("[2026-02-03 04:05:06,811] Finished request CANARY.")
    assert seen.facts.ignored == {"other line": 1}


def test_what_a_cache_loaded_completely_shows_nothing(log):
    line = (
        "(EngineCore_0 pid=61) [2026-02-03 04:05:06,500] LMCache INFO: [req_id=cmpl-0a-0] "
        "Retrieved {} out of 320 required tokens (from 1312 total tokens). size: 0.1 gb"
    )
    seen = log(line.format(320), line.format(64))
    found = row(seen)
    assert (found["reserved_tokens"], found["transferred_tokens"]) == (320, 64)
    assert (found["received_at"], found["request_id"]) == (SECOND + 500_000, "0a")
    assert seen.facts.ignored["tokens that a cache loaded as required"] == 1


def test_lines_of_a_cache_in_one_millisecond_are_each_a_record(log):
    at = "(EngineCore_0 pid=61) [2026-02-03 04:05:06,500] LMCache INFO: "
    seen = log(
        f"{at}Reqid: cmpl-0a-0, Total tokens 1312, LMCache hit tokens: 320, need to load: 320",
        f"{at}[req_id=cmpl-0a-0] Retrieved 64 out of 320 required tokens (from 1312 total tokens).",
    )
    assert (ids(seen), seen.facts.kept) == (["0a", "0a"], 2)


def dump(
    *requests: str, cached: str = "req_ids=[], new_block_ids=[], num_computed_tokens=[]"
) -> str:
    new = ", ".join(requests)
    return (
        "ERROR 02-03 04:05:06 [dump_input.py:76] Dumping scheduler output for model execution: "
        f"SchedulerOutput(scheduled_new_reqs=[{new}], "
        f"scheduled_cached_reqs=CachedRequestData({cached}), total_num_scheduled_tokens=60)"
    )


def new(rid: str, blocks: str, computed: int = 0) -> str:
    return (
        f"NewRequestData(req_id={rid},prompt_token_ids_len=40,mm_features=[],"
        "sampling_params=SamplingParams(n=1, stop=['CANARY block_ids=([7],)']),"
        f"block_ids=({blocks},),num_computed_tokens={computed},lora_request=None)"
    )


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (("[1, 2, 3]", 0), ("[4, 5]", 0), False),
        (("[1, 2, 3]", 0), ("[4, 3]", 0), True),
        (("[1, 2, 3]", 0), ("[1, 2, 4]", 32), False),
        (("[1, 2, 3]", 0), ("[1, 2, 4]", 0), True),
        (("[1, 2, 3]", 16), ("[1, 5, 3]", 16), True),
        (("[0, 2], [0, 3]", 0), ("[0, 4], [0, 5]", 0), False),
        (("[1, 2], [3, 4]", 0), ("[5, 6], [7, 1]", 0), True),
    ],
)
def test_a_block_under_two_requests_is_one_of_a_prefix_or_an_overlap(log, one, other, overlap):
    seen = log(dump(new("chatcmpl-0a", *one), new("chatcmpl-0b", *other)))
    assert ids(seen) == ["0a", "0b"]
    assert seen.column("block_overlap") == [True if overlap else None] * 2
    assert seen.column("prompt_tokens") == [40, 40]
    assert (seen.facts.read, seen.facts.kept) == (2, 2)


@pytest.mark.parametrize(
    ("computed", "resumed", "overlap"),
    [(0, "False", True), (16, "False", False), (0, "True", False)],
)
def test_a_running_request_that_was_given_anothers_block(log, computed, resumed, overlap):
    cached = (
        f"req_ids=['chatcmpl-0c', 'chatcmpl-0d'], resumed_from_preemption=[{resumed}, False], "
        "new_token_ids=[], new_block_ids=[([9],), None], num_computed_tokens=[80, 90]"
    )
    seen = log(dump(new("chatcmpl-0a", "[8, 9]", computed), cached=cached))
    found = dict(zip(seen.rows["request_id"], seen.rows["block_overlap"], strict=True))
    assert found["0a"] is (True if overlap else None)


# --- times -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "line", "year"),
    [
        (("2026-02-01", "2026-03-01"), "02-03", "2026-02-03"),
        (("2025-12-20", "2026-01-20"), "12-28", "2025-12-28"),
        (("2025-12-20", "2026-01-20"), "01-05", "2026-01-05"),
        (("2026-01-05", "2026-01-20"), "12-28", "2025-12-28"),
        (("2024-01-01", "2024-06-01"), "02-29", "2024-02-29"),
        (("2025-01-01", "2026-06-01"), "02-03", None),
        (("2025-06-01", "2025-07-01"), "13-03", None),
    ],
)
def test_the_window_gives_the_year(log, window, line, year):
    scope = {"window": [f"{day}T00:00:00Z" for day in window]}
    seen = log(f"INFO {line} 04:05:06 [async_llm.py:316] Added request 0a.", scope=scope)
    (found,) = seen.column("received_at")
    shown = None if found is None else str(pl.Series([found]).cast(pl.Datetime("us"))[0])
    assert shown == (None if year is None else f"{year} 04:05:06")
    assert seen.facts.bad_values["received_at"] == (year is None)


def test_without_a_window_the_year_stays_untold(read):
    seen = read(f"{AT} [async_llm.py:316] Added request 0a.\n", "a.log", form="vllm")
    assert seen.rows.select(years.is_untold("received_at"))["received_at"].all()
    assert seen.reading.clock == {}


def test_a_collectors_time_has_the_year(read):
    line = f"2026-02-03T05:05:06.250000000Z stdout F {AT} [async_llm.py:316] Added request 0a."
    seen = read(f"{line}\n", "prefill-03.log")
    assert seen.facts.format == "vllm"
    assert seen.column("received_at") == [SECOND + 3_600_250_000]
    assert seen.column("naive") == [False]
    assert not seen.facts.bad_values["received_at"]


# --- what may not be believed ----------------------------------------------------------


def test_a_further_line_of_a_record_is_none(log):
    place = "(EngineCore pid=7) ERROR 02-03 04:05:06 [core.py:9]"
    fact = late("chatcmpl-CANARY").split("] ", 1)[1]
    between = f"{AT} [async_llm.py:316] Added request chatcmpl-0a."
    lines = f"{place} it failed", f"{place} more of it", f"{place} {fact}", between
    seen = log(*lines, f"{place} {fact}")
    assert ids(seen) == ["0a"]
    assert seen.facts.ignored == {"other line": 2}
    assert [one.line for one in seen.facts.unread] == [3, 5]


@pytest.mark.parametrize("left", [2, 9, 20])
def test_a_first_line_that_was_cut_off_hides_no_whole_one(log, left):
    whole = late("chatcmpl-0a")
    begin = whole.index("] ") + len("] ")
    seen = log(whole[: begin + left], whole, late("chatcmpl-0b"))
    assert ids(seen) == ["0a", "0b"]
    assert seen.reasons == {"line cut off": 1}


def test_the_same_message_twice_in_a_second_is_two(log):
    assert ids(log(late("chatcmpl-0a"), late("chatcmpl-0b"))) == ["0a", "0b"]


def test_what_only_engines_print_is_not_believed_of_the_api_server(log):
    fact = late("chatcmpl-CANARY").split("] ", 1)[1]
    seen = log(f"(APIServer pid=7) ERROR 02-03 04:05:06 [core.py:9] {fact}")
    assert seen.facts.kept == 0
    assert seen.facts.ignored == {"message from a place that does not print it": 1}


def test_a_module_that_quotes_clients_prints_no_message_of_the_engine(log):
    seen = log(f"{AT} [serving_chat.py:9] Finished request CANARY.")
    assert seen.facts.ignored == {"message from a place that does not print it": 1}


def test_lines_within_an_open_record_are_not_believed(log):
    seen = log(
        f"{AT} [logger.py:40] Received request chatcmpl-0a: prompt: 'CANARY",
        f"{AT} [async_llm.py:187] Finished request CANARY-1.",
        late("CANARY-2"),
        "', params: SamplingParams(n=1), prompt_token_ids: None, lora_request: None.",
        late("chatcmpl-0b"),
    )
    assert ids(seen) == ["0b"]
    assert seen.facts.ignored == {"further line of a record": 3}
    assert seen.reasons == {"received request not in a known form": 1}


def test_a_record_that_was_cut_off_hides_nothing(log):
    seen = log(f"{AT} [logger.py:40] Received request chatcmpl-0a: prompt: 'CANARY", late("0b"))
    assert ids(seen) == ["0b"]


def test_a_line_without_a_prefix_is_no_record(log):
    seen = log(late("chatcmpl-CANARY").split("] ", 1)[1], f"he wrote: {late('CANARY-2')}")
    assert seen.facts.ignored == {"other line": 1}
    assert dict(seen.reasons) == {"log line behind other text": 1}
    assert seen.rows.is_empty()


def test_a_word_before_the_prefix_is_the_operators(log):
    assert ids(log(f"[pod-7] {late('chatcmpl-0a')}", f"pod-7: {late('chatcmpl-0b')}")) == [
        "0a",
        "0b",
    ]


def test_colours_are_taken_out(log):
    place = f"\x1b[1;36m(APIServer pid=9)\x1b[0;0m \x1b[32m{AT} \x1b[90m[a.py:1]\x1b[0m"
    line = f"{place} Added request 0a."
    assert ids(log(line)) == ["0a"]


def test_a_json_record_is_one_whatever_it_holds(log):
    seen = log(
        '(APIServer pid=9) {"asctime": "2026-02-03 04:05:06,250", "levelname": "INFO", '
        '"name": "vllm.x", "processName": "APIServer", "message": "Added request chatcmpl-0a."}',
        '{"asctime": "2026-02-03 04:05:06,250", "name": "vllm.x", "processName": "EngineCore_DP2", '
        '"message": "GPU KV cache size: 49,152 tokens"}',
        '{"asctime": "2026-02-03 04:05:06,250", "name": "vllm.x", "processName": "APIServer", '
        '"message": "it failed\\nAdded request CANARY."}',
        '{"asctime": "2026-02-03 04:05:06,250", "message": "CANARY',
    )
    assert (ids(seen), seen.column("received_at")) == (["0a"], [SECOND + 250_000])
    assert facts(seen, "rank_pool")[0]["node"] == "prefill-03/dp2"
    assert len(seen.facts.unread) == 1
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("order", [1, -1], ids=["as vLLM writes them", "turned round"])
def test_records_are_told_whatever_the_order_of_their_keys(read, order):
    record = {
        "asctime": "2026-02-03 04:05:06,811",
        "levelname": "INFO",
        "name": "vllm.v1.engine.async_llm",
        "processName": "MainProcess",
        "message": "Added request chatcmpl-a.",
    }
    line = json.dumps(dict(list(record.items())[::order]))
    seen = read(f"(APIServer pid=5) {line}\n", "node-1.log")
    assert seen.facts.format == "vllm"
    assert seen.column("request_id") == ["a"]
