"""vLLM logs, message by message: what is taken, what is near and is not."""

import pytest

from tests.sources.vllmlines import (
    AT,
    NIXL,
    SECOND,
    UUID,
    facts,
    handed,
    ids,
    late,
    one_log,
    received,
    row,
)


@pytest.fixture
def log(read):
    return one_log(read)


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
