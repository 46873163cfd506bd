"""The gate against everything a server can answer: a pass only where pool and window are said."""

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import forensics
from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine
from forensics.lab.engine.service import served
from forensics.live.document import UnreadableError
from forensics.live.pools import ranks

SMALL, ENOUGH, WINDOW = 681_280, 2_040_000, 1_048_576
SECRET = "sk-SYNTHETIC-SECRET-DO-NOT-STORE"
INFO = {
    "version": "0.5.19", "api_key": SECRET, "admin_api_key": SECRET, "page_size": 64,
    "context_length": WINDOW, "disaggregation_mode": "prefill",
    "launch_command": f"python -m sglang.launch_server --api-key {SECRET}",
}  # fmt: skip


def states(*pools: Any) -> dict[str, Any]:
    return {"internal_states": [{"memory_usage": {"token_capacity": pool}} for pool in pools]}


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


GOOD = INFO | {"max_total_num_tokens": ENOUGH}
WRONG = {
    "no pool": INFO,
    "pool null": INFO | {"max_total_num_tokens": None},
    "pool zero": INFO | {"max_total_num_tokens": 0},
    "pool negative": INFO | {"max_total_num_tokens": -1},
    "pool as text": INFO | {"max_total_num_tokens": str(ENOUGH)},
    "pool a fraction": INFO | {"max_total_num_tokens": float(ENOUGH)},
    "pool true": INFO | {"max_total_num_tokens": True},
    "pool nested": INFO | {"data": {"max_total_num_tokens": ENOUGH}},
    "one pool odd": GOOD | {"kv_pool_tokens": "many"},
    "rank zero": GOOD | states(ENOUGH, 0),
    "rank null": GOOD | states(ENOUGH, None),
    "rank text": GOOD | states("9999999"),
    "ranks no list": GOOD | {"internal_states": {"0": {}}},
    "rank no object": GOOD | {"internal_states": [ENOUGH]},
    "no window": {"max_total_num_tokens": ENOUGH},
    "window null": GOOD | {"context_length": None},
    "window zero": GOOD | {"context_length": 0},
    "window text": GOOD | {"context_length": "1048576"},
    "limit odd": GOOD | {"max_req_input_len": "none"},
    "pool NaN": GOOD | {"max_total_num_tokens": float("nan")},
    "pool infinite": GOOD | {"max_total_num_tokens": float("inf")},
    "pool without bound": GOOD | {"max_total_num_tokens": 2**63 - 1},
    "pool huge": GOOD | {"max_total_num_tokens": 10**400},
    "pool of too many digits": json.dumps(GOOD).replace(str(ENOUGH), "9" * 5_000),
    "pool in a list": GOOD | {"max_total_num_tokens": [ENOUGH]},
    "pool twice": json.dumps(INFO)[:-1]
    + f', "max_total_num_tokens": {SMALL}, "max_total_num_tokens": {ENOUGH}}}',
    "limit true": GOOD | {"max_req_input_len": True},
    "page zero": GOOD | {"page_size": 0},
    "two windows": GOOD | {"max_model_len": 8_192},
    "fewer ranks than there are": INFO | {"dp_size": 8} | states(ENOUGH, ENOUGH),
    "only the first rank": GOOD | {"dp_size": 8},
    "no ranks listed": GOOD | {"dp_size": 2, "internal_states": []},
    "one rank silent": GOOD | {"internal_states": [*states(ENOUGH)["internal_states"], {}]},
    "rank also odd": GOOD | {"internal_states": [{"max_total_num_tokens": SECRET}]},
    "ranks are zero": GOOD | {"internal_states": 0},
    "router without servers": {"prefill": [], "decode": []},
    "router with half a server": {"prefill": [GOOD], "decode": [INFO]},
    "no UTF-8": web.Response(body=json.dumps(GOOD).encode() + b"\xff"),
    "packed": web.Response(
        body=gzip.compress(json.dumps(GOOD).encode()), headers={"Content-Encoding": "gzip"}
    ),
    "a list": [GOOD],
    "a number": 7,
    "empty": "",
    "html": "<html><body>" + SECRET,
    "cut": json.dumps(GOOD)[:-9],
    "deep": "[" * 100_000,
    "HTTP 500": web.Response(status=500, text=SECRET),
    "HTTP 401": web.Response(status=401, text=SECRET),
    "redirect": web.Response(status=302, headers={"Location": f"http://other.test/{SECRET}"}),
    "HTTP 204": web.Response(status=204),
}


@pytest.mark.parametrize("case", WRONG)
def test_anything_else_fails_closed_in_one_line(server, said, case):
    server.answers["/server_info"] = WRONG[case]
    code, text = said(server.url)
    assert code == 11
    assert len(text.splitlines()) == 1
    assert ": failed: " in text
    assert len(text) < 200


def test_the_older_address_is_asked_where_the_newer_one_is_not_there(server, said):
    server.answers["/get_server_info"] = GOOD
    assert said(server.url)[0] == 0
    assert server.asked == ["/server_info", "/get_server_info"]


def test_a_redirect_sends_neither_request_nor_key_to_another_host(server, other, said, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    other.answers["/server_info"] = GOOD
    for status in (301, 302, 303, 307, 308):
        moved = web.Response(status=status, headers={"Location": f"{other.url}/server_info"})
        server.answers["/server_info"] = moved
        code, text = said(server.url, "--api-key-env", "MY_KEY")
        assert (code, "a redirect; it is not followed" in text) == (11, True)
    assert other.asked == []


def test_an_answer_that_unpacks_to_much_is_never_unpacked(server, said):
    bomb = gzip.compress(b" " * (200 << 20), 1)
    packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    server.answers["/server_info"] = web.Response(body=bomb, headers=packed)
    tracemalloc.start()
    try:
        code, text = said(server.url)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert (code, "compressed" in text) == (11, True)


def test_an_answer_without_end_is_given_up_within_bounds(server, said):
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" " * (1 << 20))
        return response

    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.1)
        return response

    for answer, reason in ((endless, "larger than 4 MiB"), (slow, "no whole answer within 0.5 s")):
        server.answers["/server_info"] = answer
        begun = time.monotonic()
        tracemalloc.start()
        try:
            code, text = said(server.url, "--timeout", "5" if answer is endless else "0.5")
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()
        assert (code, reason in text) == (11, True)
        assert time.monotonic() - begun < 6


RAW = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "closed at once": b"",
    "closed in the head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "closed in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    "a length below zero": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    "a chunk without a size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a long header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * (8 << 20),
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * (1 << 20),
    "only interim answers": b"HTTP/1.1 102 Processing\r\n\r\n" * 20_000,
}


@pytest.mark.parametrize("case", RAW)
def test_what_is_no_whole_http_answer_fails_closed(said, case):
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        client, _ = listener.accept()
        with client, contextlib.suppress(OSError):
            client.recv(65_536)
            client.sendall(RAW[case])

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        code, text = said(f"http://127.0.0.1:{listener.getsockname()[1]}", "--timeout", "1")
    finally:
        thread.join(10)
        listener.close()
    assert (code, len(text.splitlines()), ": failed: " in text) == (11, 1, True)


def test_nobody_there_or_no_address_fails(said):
    for url in (
        "http://127.0.0.1:9",
        "http://",
        "nonsense://x",
        "http://user:" + SECRET + "@127.0.0.1:9",
    ):
        code, text = said(url, "--timeout", "2")
        assert (code, ": failed: " in text) == (11, True)


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
