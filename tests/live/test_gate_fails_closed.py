"""The gate against what is no whole answer, or none that says pool and window: it fails closed."""

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
import tracemalloc

import pytest
from aiohttp import web

from tests.live.engines import ENOUGH, GOOD, INFO, SECRET, SMALL, states

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
