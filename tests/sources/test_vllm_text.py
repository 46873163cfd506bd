"""vLLM logs, message by message: what is taken, what is near and is not."""

import json

import polars as pl
import pytest

from forensics import years

YEAR = {"scope": {"window": ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]}}
UUID = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a"
SECOND = 1_770_091_506_000_000
AT = "INFO 02-03 04:05:06"
NIXL = "(Worker_TP0 pid=64) ERROR 02-03 04:05:06 [nixl_connector.py:1140]"


def late(rid: str) -> str:
    return (
        f"{NIXL} Potentially invalid KV blocks for unrecognized request {rid} were retrieved by a "
        "decode worker. They may have expired."
    )


def received(rid: str, prompt: str = "'p'", extra: str = "") -> str:
    return (
        f"{AT} [logger.py:40] Received request {rid}: prompt: {prompt}, "
        f"params: SamplingParams(n=1, stop=[]{extra}), prompt_token_ids: [1, 2], "
        "prompt_embeds shape: None, lora_request: None."
    )


def handed(sends: object, fetches: object) -> str:
    return (
        ", extra_args={'kv_transfer_params': {'do_remote_decode': "
        f"{sends}, 'do_remote_prefill': {fetches}, 'remote_host': None}}}}"
    )


@pytest.fixture
def log(read):
    def run(*lines: str, name: str = "prefill-03.log", **incident):
        return read("\n".join((*lines, "")), name, form="vllm", **(YEAR | incident))

    return run


def row(seen) -> dict[str, object]:
    (found,) = [{k: v for k, v in r.items() if v is not None} for r in seen.rows.to_dicts()]
    return found


def facts(seen, event: str) -> list[dict[str, object]]:
    if not seen.reading.capacity:
        return []
    rows = seen.capacity.filter(pl.col("event") == event).sort("line")
    return [{k: v for k, v in r.items() if v is not None} for r in rows.to_dicts()]


def ids(seen) -> list[str]:
    return sorted(seen.rows["request_id"].to_list()) if seen.rows.height else []


# --- start-up and pools ----------------------------------------------------------------


def test_the_start_line_names_version_context_and_settings(log):
    seen = log(
        f"(EngineCore_DP0 pid=61) {AT} [core.py:77] Initializing a V1 LLM engine (v0.11.0) with "
        "config: model='CANARY', max_seq_len=131072, tensor_parallel_size=2, quantization=fp8, "
        "kv_cache_dtype=auto, override_generation_config={'x': 'CANARY, max_seq_len=7'}"
    )
    (fact,) = facts(seen, "start")
    assert (fact["node"], fact["engine"], fact["engine_version"]) == (
        "prefill-03",
        "vllm",
        "0.11.0",
    )
    assert (fact["context_tokens"], fact["effective_at"], fact["naive"]) == (131_072, SECOND, True)
    assert fact["config"] == "kv_cache_dtype=auto;quantization=fp8;tp_size=2"


GUESSING = {
    "SpeculativeConfig(method='ngram', num_spec_tokens=4)": "speculative_algorithm=other;tp_size=2",
    "{'method': 'CANARY one', 'x': 4}": "speculative_algorithm=other;tp_size=2",
    "None": "tp_size=2",
}


@pytest.mark.parametrize(("value", "expected"), GUESSING.items(), ids=lambda text: text[:6])
def test_the_start_line_says_that_tokens_are_guessed_ahead(log, value, expected):
    seen = log(
        f"{AT} [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='m', "
        f"speculative_config={value}, max_seq_len=131072, tensor_parallel_size=2"
    )
    (fact,) = facts(seen, "start")
    assert sorted(fact["config"].split(";")) == expected.split(";")


def test_a_setting_that_stands_twice_is_not_believed(log):
    seen = log(
        f"{AT} [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='m', "
        "max_seq_len=131072, draft=Draft(max_seq_len=7), seed=0"
    )
    assert "context_tokens" not in facts(seen, "start")[0]


def test_the_start_line_of_another_rank_begins_no_boot(log):
    seen = log(
        f"(EngineCore_DP3 pid=61) {AT} [core.py:77] Initializing a V1 LLM engine (v0.11.0) with "
        "config: model='m', max_seq_len=131072, seed=0"
    )
    assert facts(seen, "start") == []
    assert facts(seen, "server_pool")[0]["context_tokens"] == 131_072


def test_a_pool_line_has_no_basis_of_its_own(log):
    seen = log(f"(EngineCore_DP1 pid=61) {AT} [x.py:9] GPU KV cache size: 1,049,152 tokens")
    (fact,) = facts(seen, "rank_pool")
    assert (fact["node"], fact["pool_tokens"]) == ("prefill-03/dp1", 1_049_152)
    assert "pool_basis" not in fact


def test_the_form_of_one_line_says_what_it_counts(log):
    seen = log(
        f"(EngineCore pid=61) {AT} [x.py:9] GPU KV cache size: 49,152 tokens, Maximum concurrency "
        "for 32,768 tokens per request: 1.50x"
    )
    (fact,) = facts(seen, "rank_pool")
    assert (fact["pool_tokens"], fact["pool_basis"]) == (49_152, "concurrency_x_len")
    assert facts(seen, "server_pool")[0]["context_tokens"] == 32_768


def test_a_pool_that_reaches_into_the_host_is_not_the_devices(log):
    seen = log(
        f"(EngineCore pid=61) {AT} [x.py:9] GPU + host KV cache size: 49,152 tokens, Maximum "
        "concurrency for 32,768 tokens per request: 1.50x"
    )
    assert facts(seen, "rank_pool") == []
    assert facts(seen, "server_pool")[0]["context_tokens"] == 32_768


@pytest.mark.parametrize(
    ("blocks", "context", "times", "pool"),
    [
        (3072, 49152, "1.00", 3072 * 16),
        (7042, 2048, "55.02", 7042 * 16),
        (1000, 4096, "7.81", 1000 * 32),
        (1000, 4096, "6.20", None),
        (10, 131072, "0.00", None),
    ],
)
def test_the_size_of_a_block_follows_from_the_concurrency(log, blocks, context, times, pool):
    seen = log(
        f"{AT} gpu_executor.py:76] # GPU blocks: {blocks}, # CPU blocks: 2048",
        f"{AT} gpu_executor.py:80] Maximum concurrency for {context} tokens per request: {times}x",
    )
    found = [
        (f["pool_tokens"], f["page_tokens"], f["pool_basis"]) for f in facts(seen, "rank_pool")
    ]
    assert found == ([] if pool is None else [(pool, pool // blocks, "blocks")])


def test_blocks_of_another_engine_or_another_time_are_not_used(log):
    seen = log(
        f"(EngineCore_DP0 pid=1) {AT} x.py:76] # GPU blocks: 3072, # CPU blocks: 2048",
        f"(EngineCore_DP1 pid=2) {AT} x.py:80] Maximum concurrency for 49152 tokens per request: "
        "1.00x",
        "(EngineCore_DP0 pid=1) INFO 02-03 05:05:06 x.py:80] Maximum concurrency for 49152 tokens "
        "per request: 1.00x",
    )
    assert facts(seen, "rank_pool") == []


# --- requests --------------------------------------------------------------------------


TEXT = "a 'quoted'\ntext, prompt_token_ids: [1, 2], of some tokens "
LISTED = ", ".join(map(str, range(100, 117)))


def listed(prompt: str, ids: str) -> str:
    return received("chatcmpl-0a", prompt).replace("prompt_token_ids: [1, 2], p", f"{ids}, p")


@pytest.mark.parametrize(
    ("prompt", "ids", "tokens"),
    [
        (repr(TEXT), f"prompt_token_ids: [{LISTED}]", 17),
        (repr(TEXT[:18]), f"prompt_token_ids: [{LISTED}]", 17),
        (repr(TEXT[:17]), f"prompt_token_ids: [{LISTED}]", None),
        (repr("\n" * 17), f"prompt_token_ids: [{LISTED}]", None),
        (repr(TEXT * 3), f"prompt_token_ids: [{LISTED}]", None),
        (repr(TEXT), "prompt_token_ids: [1, 2, 3]", None),
        (repr(TEXT), "prompt_token_ids: None", None),
        ("None", f"prompt_token_ids: [{LISTED}]", None),
    ],
)
def test_ids_are_counted_where_they_are_those_of_the_whole_prompt(log, prompt, ids, tokens):
    assert log(listed(prompt, ids)).column("prompt_tokens") == [tokens]


def test_an_arrival_without_a_hand_off_may_be_of_either_side(log):
    found = row(log(received(f"chatcmpl-{UUID}")))
    assert (found["request_id"], found["hop"], found["received_at"]) == (UUID, "engine", SECOND)
    assert found["prefill_node"] == found["decode_node"] == "prefill-03"
    assert not {"prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"} & set(found)


@pytest.mark.parametrize(
    ("extra", "hop"),
    [
        (handed(True, False), "prefill"),
        (handed(False, True), "decode"),
        (handed(True, True), "engine"),
        (handed(False, False), "engine"),
        (", stop=['\\'do_remote_decode\\': True}']", "engine"),
        (", stop=[\"'do_remote_decode': True}\"]", "engine"),
    ],
)
def test_the_side_stands_in_the_parameters_and_not_in_texts(log, extra, hop):
    assert log(received("chatcmpl-0a", extra=extra)).column("hop") == [hop]


def test_a_side_is_not_taken_from_the_prompt(log):
    prompt = "\"'do_remote_decode': True}, params: {'do_remote_decode': True}\""
    assert log(received("chatcmpl-0a", prompt)).column("hop") == ["engine"]


def test_requests_tell_the_role_of_their_engine(log):
    seen = log(received("chatcmpl-0a", extra=handed(True, False)))
    (fact,) = facts(seen, "role")
    assert (fact["node"], fact["role"], fact["disaggregated"]) == ("prefill-03", "prefill", True)


@pytest.mark.parametrize(
    ("printed", "client"),
    [
        (f"chatcmpl-{UUID}", UUID),
        (f"chatcmpl-{UUID}-f93bc8f3", UUID),
        (f"1_chatcmpl-{UUID}-f93bc8f3", UUID),
        (f"cmpl-{UUID}-0-f93bc8f3", UUID),
        (f"cmpl-{UUID}-1", f"{UUID}-1"),
        ("chatcmpl-job-0", "job-0"),
        ("chatcmpl-job-f93bc8f3", "job-f93bc8f3"),
        ("0", "0"),
    ],
)
def test_only_what_the_engine_added_is_taken_off_an_id(log, printed, client):
    assert ids(log(f"{AT} [async_llm.py:316] Added request {printed}.")) == [client]


def test_digits_are_taken_off_where_only_versions_print_that_add_them(log):
    line = (
        f"{NIXL} Releasing expired KV blocks for request chatcmpl-job-f93bc8f3 which were "
        "retrieved by {} before lease expired."
    )
    assert ids(log(line.format("0 remote worker(s)"))) == ["job"]


def test_a_late_read_of_those_versions_has_the_same_id(log):
    read = late("chatcmpl-job-f93bc8f3").replace("a decode worker", "a remote worker")
    assert ids(log(read)) == ["job"]


@pytest.mark.parametrize(
    ("start", "named"),
    [
        ("core.py:77] Initializing a V1 LLM engine (v0.16.0) with config: model='m'", "job"),
        ("api_server.py:1896] vLLM API server version 0.33.0rc1", "job"),
        ("core.py:77] Initializing a V1 LLM engine (v0.13.2) with config: a=1", "job-f93bc8f3"),
        ("core.py:78] no start", "job-f93bc8f3"),
    ],
)
def test_digits_are_taken_off_where_the_start_says_that_they_were_added(log, start, named):
    seen = log(
        f"{AT} [{start}",
        late("chatcmpl-job-f93bc8f3"),
        f"{AT} [async_llm.py:9] Added request chatcmpl-own-f93bc8f3.",
    )
    assert ids(seen) == sorted([named, "own-f93bc8f3"])


def test_an_id_with_white_space_is_named_by_its_place(log):
    seen = log(received("chatcmpl-CANARY and words"), late("chatcmpl-x"))
    assert ids(seen) == ["redacted:prefill-03.log:1", "x"]
    assert seen.facts.bad_values["request_id"] == 1


def test_several_aborted_requests_are_several(log):
    seen = log(f"{AT} [async_llm.py:494] Aborted request(s) chatcmpl-0a,chatcmpl-0b.")
    assert ids(seen) == ["0a", "0b"]
    assert set(seen.column("finish_reason")) == {"abort"}
    assert (seen.facts.read, seen.facts.kept) == (2, 2)


def test_an_answers_reason_is_the_one_behind_it(log):
    seen = log(
        f"{AT} [logger.py:70] Generated response chatcmpl-0a: output: "
        "'CANARY, finish_reason: stop', output_token_ids: None, finish_reason: length",
        f"{AT} [logger.py:70] Generated response chatcmpl-0b (streaming delta): output: 'CANARY', "
        "output_token_ids: [5], finish_reason: None",
    )
    assert (ids(seen), seen.column("finish_reason")) == (["0a"], ["length"])
    assert seen.facts.ignored["part of a streamed answer"] == 1


def test_a_refused_prompt_gives_its_length_and_the_limit(log):
    seen = log(
        f"{AT} scheduler.py:946] Input prompt (50000 tokens) is too long and exceeds limit of 32768"
    )
    found = row(seen)
    assert (found["prompt_tokens"], found["rejected"]) == (50_000, True)
    assert found["rejection_code"] == "input_too_long"
    assert "request_id" not in found
    assert facts(seen, "limit")[0]["input_limit_tokens"] == 32_769
    assert found["refusal_limit_tokens"] == 32_769


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
    seen = log(f"{place} it failed", f"{place} {fact}", between, f"{place} {fact}")
    assert ids(seen) == ["0a"]
    assert seen.facts.ignored == {"other line": 1, "further line of a record": 2}


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
