"""The gate against everything a server can answer: a pass only where pool and window are said."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

import forensics
from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine
from forensics.lab.engine.service import served
from forensics.live.document import UnreadableError
from forensics.live.pools import ranks
from tests.live.engines import ENOUGH, GOOD, INFO, SECRET, SMALL, WINDOW, states


@pytest.mark.parametrize(
    "pool",
    [
        {"max_total_num_tokens": ENOUGH},
        {"kv_pool_tokens": ENOUGH},
        {"max_total_tokens": ENOUGH},
        {"max_total_tokens": None, "max_total_num_tokens": ENOUGH},
        states(ENOUGH, ENOUGH + 64),
        {"max_total_num_tokens": ENOUGH, **states(ENOUGH)},
        {"max_total_num_tokens": ENOUGH, "internal_states": [{}]},
    ],
    ids=str,
)
def test_a_pool_of_two_million_passes_under_any_name(server, said, pool):
    server.answers["/server_info"] = INFO | pool
    code, text = said(server.url)
    assert (code, text.count("passed")) == (0, max(1, len(pool.get("internal_states", []))))
    assert "2,040,000" in text


@pytest.mark.parametrize(
    "pool",
    [
        {"max_total_num_tokens": SMALL},
        {"kv_pool_tokens": SMALL},
        {"max_total_num_tokens": ENOUGH, "kv_pool_tokens": SMALL},
        states(ENOUGH, SMALL),
        {"max_total_num_tokens": SMALL, **states(ENOUGH)},
        {"max_total_num_tokens": ENOUGH, **states(SMALL)},
    ],
    ids=str,
)
def test_the_published_pool_fails_and_the_first_rejected_prompt_is_named(server, said, pool):
    server.answers["/server_info"] = INFO | pool
    code, text = said(server.url)
    assert code == 11
    assert "681,280 is 0.65 of the window 1,048,576; 1,310,720 needed" in text
    first = "681,281" if pool == {"kv_pool_tokens": SMALL} else "681,274"
    assert f"first rejected prompt {first} tokens" in text


@pytest.mark.parametrize("factor", ["1.25", "1.9", "1.95"])
def test_the_headroom_decides_to_the_token(server, said, factor):
    server.answers["/server_info"] = INFO | {"max_total_num_tokens": 1_310_720}
    assert said(server.url, "--headroom", factor)[0] == (0 if factor == "1.25" else 11)
    server.answers["/server_info"] = INFO | {"max_total_num_tokens": 1_310_719}
    assert said(server.url, "--headroom", "1.25")[0] == 11


def vllm(*blocks: object) -> str:
    """A scrape of a server with so many engines."""
    samples = (
        f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{number}",engine="{n}"}} 1.0'
        for n, number in enumerate(blocks)
    )
    return "\n".join(["# TYPE vllm:cache_config_info gauge", *samples, ""])


MODELS = {"data": [{"id": "m", "max_model_len": WINDOW}, {"id": "lora", "parent": "m"}]}


def test_vllm_is_read_from_its_metrics_and_models(server, said):
    server.answers |= {"/metrics": vllm(127_500), "/v1/models": MODELS}
    for url in (server.url, f"{server.url}/metrics"):
        code, text = said(url)
        assert (code, "2,040,000 is 1.95 of the window 1,048,576" in text) == (0, True)
    server.answers["/metrics"] = vllm(127_500, 42_580)
    code, text = said(server.url)
    assert (code, "(2 of 2): failed: pool 681,280" in text) == (11, True)


@pytest.mark.parametrize(
    "metrics",
    [
        "up 1",
        vllm("None"),
        vllm(0),
        vllm(-5),
        vllm("12_7500"),
        vllm(10**14),
        vllm(127_500, "?"),
        vllm(127_500) + "vllm:cache_config_info 1.0",
        vllm(127_500).replace("num_gpu_blocks", "blocks"),
        vllm(127_500).replace('engine="0"', 'num_gpu_blocks="127500"'),
        vllm(127_500).replace("} 1.0", "} 0.0"),
    ],
)
def test_vllm_metrics_that_do_not_say_the_pool_fail(server, said, metrics):
    server.answers |= {"/metrics": metrics, "/v1/models": MODELS}
    code, text = said(server.url)
    assert (code, len(text.splitlines()), ": failed: " in text) == (11, 1, True)


@pytest.mark.parametrize("models", [{}, {"data": []}, {"data": [{"id": "m"}]}, {"data": ["m"]}])
def test_vllm_without_a_window_fails(server, said, models):
    server.answers |= {"/metrics": vllm(127_500), "/v1/models": models}
    assert said(server.url)[0] == 11


def test_the_larger_of_two_windows_counts(server, said):
    server.answers["/server_info"] = GOOD
    assert said(server.url, "--context", "4096")[0] == 0
    assert said(server.url, "--context", "2000000")[0] == 11


def test_a_stated_path_and_window_serve_an_engine_that_nobody_knows(server, said):
    server.answers["/pool"] = {"cache": [{"tokens": ENOUGH}], "note": SECRET}
    stated = (f"{server.url}/pool", "--json-path", "cache.0.tokens")
    assert said(*stated, "--context", str(WINDOW))[0] == 0
    assert said(*stated)[0] == 11
    assert said(f"{server.url}/pool", "--json-path", "cache.1.tokens", "--context", "9")[0] == 11


def test_a_decode_that_accepts_what_prefill_rejects_is_the_dangerous_pair(server, said):
    prefill = GOOD | {"max_total_num_tokens": SMALL, "max_req_input_len": SMALL - 6}
    decode = GOOD | {"disaggregation_mode": "decode"}
    server.answers["/server_info"] = {"prefill": [prefill], "decode": [decode]}
    code, text = said(server.url)
    assert code == 11
    assert "accepts prompts of 681,274 to 1,048,569 tokens that" in text
    assert "the smallest limit is 681,274 tokens" in text
    assert "-prefill-0 rejects" in text
    assert "-decode-0 accepts" in text
    server.answers["/server_info"] = {"prefill": [GOOD], "decode": [decode]}
    assert said(server.url)[0] == 0


def test_who_says_no_role_is_named_where_pairs_are_compared(server, other, said):
    server.answers["/server_info"] = GOOD
    other.answers["/server_info"] = GOOD | {"disaggregation_mode": None}
    code, text = said(f"one={server.url}", f"two={other.url}")
    assert (code, "two says no role" in text) == (0, True)


def test_the_record_is_evidence_that_a_report_reads(server, said, tmp_path):
    server.answers["/server_info"] = INFO | {"max_total_num_tokens": SMALL}
    record = tmp_path / "gate.ndjson"
    for _ in range(2):
        said(f"prefill-01={server.url}", "--record", str(record))
    assert record.stat().st_mode & 0o777 == 0o600
    assert SECRET not in record.read_text()
    row = {"request_id": "r", "received_at": "2030-01-01T00:00:00Z", "prompt_tokens": 700_000}
    row |= {"prefill_node": "prefill-01", "http_status": 200, "completion_tokens": 3}
    (tmp_path / "log.ndjson").write_text(json.dumps(row))
    case = forensics.read_logs(record, tmp_path / "log.ndjson")
    assert case.affected.polars()["input_limit_tokens"].to_list() == [681_274]


def test_a_record_has_one_line_a_server_and_the_smallest_rank_speaks(server, said, tmp_path):
    prefill, decode = INFO | states(SMALL, ENOUGH), GOOD | {"disaggregation_mode": "decode"}
    server.answers["/server_info"] = {"prefill": [prefill], "decode": [decode]}
    record = tmp_path / "gate.ndjson"
    code, text = said(f"r={server.url}", "--record", str(record))
    assert (code, "r-prefill-0 (1 of 2): failed" in text) == (11, True)
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(row["node"], row["role"], row["pool_tokens"]) for row in rows] == [
        ("r-prefill-0", "prefill", SMALL),
        ("r-decode-0", "decode", ENOUGH),
    ]


def test_no_secret_is_shown_or_stored_whatever_holds_it(server, said, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    server.answers["/server_info"] = GOOD | {"version": SECRET, "disaggregation_mode": SECRET}
    record, host = tmp_path / "gate.ndjson", server.url.removeprefix("http://")
    for url in (f"http://me:{SECRET}@{host}", f"{server.url}?key={SECRET}", f"{host}?key={SECRET}"):
        for more in ((), ("--json",)):
            assert said(url, "--record", str(record), *more)[0] == 0
    assert said(server.url, "--api-key-env", "MY_KEY", "--json")[0] == 0
    assert said(f"http://me:{SECRET}@{host}", "--api-key-env", "MY_KEY")[0] == 2
    assert SECRET not in record.read_text()
    assert set(server.asked) == {"/server_info"}


def test_the_environment_names_the_engine_and_the_key(server, said, monkeypatch):
    async def guarded(request: web.Request) -> web.StreamResponse:
        known = request.headers.get("Authorization") == f"Bearer {SECRET}"
        return web.json_response(GOOD if known else {}, status=200 if known else 401)

    server.answers["/server_info"] = guarded
    assert said()[0] == 2
    monkeypatch.setenv("PREFILL_URL", server.url)
    monkeypatch.setenv("MY_KEY", SECRET)
    assert said()[0] == 11
    assert said("--api-key-env", "MY_KEY")[0] == 0
    assert said("--api-key-env", "NO_KEY")[0] == 2


def test_usage_that_would_let_anything_pass_is_refused(server, said):
    for factor in ("0.5", "x", "1/0", "nan", "inf", "-2", "1e999999999"):
        assert said(server.url, "--headroom", factor)[0] == 2
    for timeout in ("0", "-1", "nan", "inf"):
        assert said(server.url, "--timeout", timeout)[0] == 2
    assert said("http://[bad")[0] == 2
    assert server.asked == []


@pytest.mark.parametrize(("pool", "code"), [(2_560, 11), (8_192, 0)])
def test_the_lab_engine_before_and_after_its_pool_is_raised(tmp_path: Path, pool: int, code: int):
    async def ask() -> int:
        engine = LabEngine(EngineOptions(prefill_pool_tokens=pool), tmp_path / "logs")
        async with served(engine, {}) as at:
            return await asyncio.to_thread(run, ["gate", at.prefill, at.decode])

    assert asyncio.run(ask()) == code


@pytest.mark.parametrize(
    "answer",
    [
        {
            "context_length": 1000,
            "max_total_num_tokens": 5000,
            "internal_states": [{"max_total_num_tokens": 5000, "context_length": 9000}],
        },
        {
            "context_length": 1000,
            "max_total_num_tokens": 5000,
            "prefill": {"max_total_num_tokens": 1},
        },
        {
            "context_length": 1000,
            "max_total_num_tokens": 1,
            "prefill": [{"context_length": 1000, "max_total_num_tokens": 5000}],
        },
    ],
)
def test_what_a_part_says_against_the_whole_is_unreadable(answer):
    with pytest.raises(UnreadableError):
        ranks(json.dumps(answer).encode())


def test_a_path_to_one_rank_is_a_path_to_all_of_them(server, said):
    path = ("--json-path", "cache.0.tokens", "--context", str(WINDOW))
    ranks_of = [{"tokens": ENOUGH}, {"tokens": SMALL}, {"tokens": ENOUGH}]
    server.answers["/server_info"] = {"cache": ranks_of}
    code, text = said(f"x={server.url}", *path)
    assert (code, text.count(" of 3): ")) == (11, 3)
    assert "x (2 of 3): failed: pool 681,280" in text
    assert "x: pools differ: 681,280 at cache[1].tokens (2 of 3), 2,040,000 at" in text
    server.answers["/server_info"] = {"cache": {str(n): one for n, one in enumerate(ranks_of)}}
    assert said(server.url, *path)[0] == 11
    server.answers["/server_info"] = {"cache": [{"tokens": ENOUGH}] * 2}
    assert said(server.url, *path)[0] == 0


@pytest.mark.parametrize(
    "more",
    [
        states(ENOUGH, SMALL),
        states(SMALL),
        {"kv_pool_tokens": SMALL},
        {"dp_size": 2},
        {"prefill": [{"max_total_num_tokens": SMALL, "context_length": WINDOW}]},
        {"cache": [{"tokens": ENOUGH}, {}]},
        {"cache": [{"tokens": ENOUGH}, {"tokens": None}]},
        {"cache": [{"tokens": ENOUGH}, {"tokens": "1"}]},
        {"cache": [{"tokens": ENOUGH}, 7]},
        {"cache": [{"tokens": ENOUGH}] * 5_000},
        {"cache": []},
        {"cache": {"0": {"tokens": ENOUGH}, "1": {}}},
    ],
    ids=str,
)
def test_a_path_does_not_hide_what_the_answer_says_besides(server, said, more):
    stated = ("--json-path", "cache.0.tokens", "--context", str(WINDOW))
    answer = {"cache": [{"tokens": ENOUGH}]}
    server.answers["/server_info"] = answer | {"prefill": {"own": 1}}
    assert said(server.url, *stated)[0] == 0
    server.answers["/server_info"] = answer | more
    code, text = said(server.url, *stated)
    assert (code, ": failed: " in text) == (11, True)
    assert len(text.splitlines()) < 7


def test_ranks_that_differ_are_named_under_known_names_too(server, said):
    server.answers["/server_info"] = INFO | states(ENOUGH, ENOUGH + 64)
    code, text = said(f"x={server.url}")
    assert (code, "x: pools differ: 2,040,000 at internal_states[0]" in text) == (0, True)
    server.answers["/server_info"] = INFO | states(ENOUGH, ENOUGH)
    assert "pools differ" not in said(server.url)[1]


def test_more_ranks_than_any_server_has_are_no_ranks(server, said):
    server.answers["/server_info"] = INFO | states(*([ENOUGH] * 5_000))
    code, text = said(server.url)
    assert (code, len(text.splitlines())) == (11, 1)


def test_a_limit_far_below_the_window_is_shown_but_is_not_the_fault(server, other, said):
    server.answers["/server_info"] = GOOD | {"max_req_input_len": 8_000}
    code, text = said(f"p={server.url}")
    assert code == 0
    assert "first rejected prompt 8,000 tokens (reported); note: 8,000 to 1,048,575 tokens" in text
    # With a decode side that accepts them it is.
    other.answers["/server_info"] = GOOD | {"disaggregation_mode": "decode"}
    code, text = said(f"p={server.url}", f"d={other.url}")
    assert (code, "dangerous pair" in text) == (11, True)
    for limit in (WINDOW - 6, WINDOW + 5):
        server.answers["/server_info"] = GOOD | {"max_req_input_len": limit}
        assert "note:" not in said(server.url)[1]
