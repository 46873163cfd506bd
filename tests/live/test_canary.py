"""The canary against the engine that really leaks, and against every fix of it."""

import asyncio
import gzip
import hashlib
import json
import re
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web

import forensics
from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine
from forensics.lab.engine.service import served
from forensics.live.local import is_local

KEYS = {"lab-key-a": "lab-a", "lab-key-b": "lab-b"}
ACCOUNTS = ("--account", "lab-a=KEY_A", "--account", "lab-b=KEY_B")
SIZES = ("--limit", "300", "--pool", "306", "--context", "400")
MARKER = re.compile(r"canary-[0-9a-f]{32}")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "lab-key-a")
    monkeypatch.setenv("KEY_B", "lab-key-b")


class Run:
    """One canary run against an engine of its own."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.logs, self.record = folder / "logs", folder / "canary.ndjson"
        self.code = asyncio.run(self._run(EngineOptions(step_seconds=0, **options)))  # type: ignore[arg-type]

    async def _run(self, options: EngineOptions) -> int:
        self.engine = LabEngine(options, self.logs)
        async with served(self.engine, KEYS) as at:
            arguments = ["canary", at.router, *ACCOUNTS, "--fill", "3", "--engine", at.prefill]
            arguments += ["--record", str(self.record), "--json"]
            return await asyncio.to_thread(run, arguments)

    @property
    def leaked(self) -> set[str]:
        return {one.request_id for one in self.engine.served if one.foreign}


def asked(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return json.loads(capsys.readouterr().out)["asked"]


def test_with_the_fault_markers_leak_from_the_limit_on_and_confirm_in_the_report(tmp_path, capsys):
    done = Run(tmp_path)
    rows = asked(capsys)
    assert done.code == 11
    foreign = {row["request_id"] for row in rows if row["foreign_markers"]}
    assert foreign == done.leaked
    steps = {row["step"] for row in rows if row["foreign_markers"]}
    assert steps == {"limit", "limit + 1", "pool", "pool + 1"}
    below = [row for row in rows if row["step"] == "limit - 1"]
    assert {row["verdict"] for row in below} == {"clean"}
    assert {row["prompt_tokens"] for row in below} == {2_553}
    case = forensics.read_logs(done.logs, done.record)
    rows = case.requests.polars()
    confirmed = set(rows.filter(rows["tier"] == "confirmed")["request_id"])
    assert confirmed == done.leaked


def test_a_run_that_passes_is_evidence_that_the_failure_path_was_tested(tmp_path, capsys):
    done = Run(tmp_path, prefill_pool_tokens=8_192)
    assert done.code == 0
    asked_of = tmp_path / "incident.toml"
    asked_of.write_text("[trigger]\nthreshold_tokens = 2560\n")
    case = forensics.read_logs(done.logs, done.record, incident=asked_of)
    assert case.affected.polars().is_empty()
    assert case.exposure().checklist[3].result == "pass"
    # Each answer that gave its own last word back says so; the refused ones have none to give.
    clean = {row["request_id"] for row in asked(capsys) if row["verdict"] == "clean"}
    rows = [json.loads(line) for line in done.record.read_text().splitlines()]
    found = [(row["planted_request_id"], row["seen_request_id"]) for row in rows if "marker" in row]
    assert {(one, one) for one in clean} <= set(found)
    assert all(planted == seen for planted, seen in found)


def test_neither_record_nor_output_holds_a_marker_or_a_key(tmp_path, capsys):
    done = Run(tmp_path)
    shown = capsys.readouterr()
    kept = done.record.read_text()
    for text in (kept, shown.out, shown.err):
        assert not MARKER.search(text)
        assert "mentions" not in text
        assert "lab-key" not in text
    assert done.record.stat().st_mode & 0o777 == 0o600
    hashes = {json.loads(line)["marker"] for line in kept.splitlines() if "marker" in line}
    assert hashes
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)


async def _against(handler, *more: str) -> int:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        stated = (*SIZES, "--fill", "1", *more)
        return await asyncio.to_thread(run, ["canary", url, *ACCOUNTS, *stated, "--json"])
    finally:
        await runner.cleanup()


def echoing(**more: object):
    """A server that repeats the last word of each prompt, and counts words as tokens."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        words = body["messages"][0]["content"].split()
        if len(words) >= 300 and "long" not in more:
            return web.json_response({"object": "error", "message": "too long"}, status=400)
        said = str(more.get("say", words[-1]))
        usage = {"prompt_tokens": len(words), "completion_tokens": 1}
        if not body["stream"]:
            choice = {"message": {"content": said}}
            return web.json_response({"id": "x", "choices": [choice], "usage": usage})
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (said[:9], said[9:]):
            frame = {"id": "x", "choices": [{"delta": {"content": part}}]}
            await response.write(f"data: {json.dumps(frame)}\n\n".encode())
        await response.write(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    return answer


def test_a_sound_server_passes_and_a_marker_cut_in_two_frames_is_seen(capsys):
    assert asyncio.run(_against(echoing())) == 0
    assert {row["verdict"] for row in asked(capsys)} == {"measured", "clean", "refused"}


@pytest.mark.parametrize("spelt", [str.upper, str.title, "**{}**,".format])
def test_a_marker_is_seen_however_it_is_spelt(capsys, spelt):
    held: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        words = (await request.json())["messages"][0]["content"].split()
        held.append(words[-1])
        return await echoing(say=f"{spelt(held[-1])} {spelt(held[-2])}" if held[3:] else held[-1])(
            request
        )

    assert asyncio.run(_against(answer)) == 11
    assert "foreign marker" in {row["verdict"] for row in asked(capsys)}


def test_a_server_that_repeats_nothing_is_no_proof_of_anything(capsys):
    assert asyncio.run(_against(echoing(say="nothing"))) == 11
    assert "blind" in capsys.readouterr().err


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_marker_in_an_error_body_counts(capsys, status):
    held: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        words = (await request.json())["messages"][0]["content"].split()
        if len(words) < 300:
            held.append(words[-1])
            return await echoing()(request)
        return web.json_response({"message": f"page held {held[0]} already"}, status=status)

    assert asyncio.run(_against(answer)) == 11
    planted = hashlib.sha256(held[0].encode()).hexdigest()
    rows = asked(capsys)
    # The first marker of all was a probe's, of no request of the plan: foreign all the same.
    assert any(planted in row["foreign_markers"] for row in rows if row["step"] != "fill")


def over_limit(answer):
    """A sound server, but for what it does with a prompt over the limit; it holds markers."""
    held: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        words = body["messages"][0]["content"].split()
        if len(words) < 300:
            held.append(words[-1])
            return await echoing()(request)
        return await answer(request, held[-1], body["stream"])

    return handle


async def _frames(request: web.Request, *frames: object) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for frame in frames:
        await response.write(f"data: {json.dumps(frame)}\n\n".encode())
    return response


def in_tool_call(part: str) -> dict[str, object]:
    call = {"index": 0, "function": {"arguments": part}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


async def _tool_call(request, marker, stream):
    if stream:
        return await _frames(request, in_tool_call(marker[:12]), in_tool_call(marker[12:]))
    return web.json_response({"choices": []})


async def _indented(request, marker, stream):
    escaped = marker.replace("canary", "\\u0063anary")
    return web.Response(
        text='{\n "choices": [\n {"message": {"content": "' + escaped + '"}}]\n}',
        content_type="application/json",
    )


async def _error_frame(request, marker, stream):
    frame = {"error": {"message": f"page holds {marker}", "code": 500}}
    return await _frames(request, frame) if stream else web.json_response(frame, status=500)


async def _then_silence(request, marker, stream):
    response = await _frames(request, {"choices": [{"delta": {"content": marker}}]})
    await asyncio.sleep(1)
    return response


async def _endless(request, marker, stream):
    response = await _frames(request, {"choices": [{"delta": {"content": marker}}]})
    for _ in range(200):
        await response.write(b"x" * (1 << 20))
    return response


@pytest.mark.parametrize(
    "answer",
    [_tool_call, _indented, _error_frame, _then_silence, _endless],
    ids=lambda one: one.__name__,
)
def test_a_marker_is_seen_wherever_it_stands_and_whatever_follows(tmp_path, capsys, answer):
    record = tmp_path / "canary.ndjson"
    few = ("--pool", "300", "--context", "302")
    # Only silence has to be waited for: on a busy machine other answers take their time.
    seconds = "0.5" if answer is _then_silence else "30"
    more = (*few, "--timeout", seconds, "--record", str(record))
    tracemalloc.start()
    try:
        assert asyncio.run(_against(over_limit(answer), *more)) == 11
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    hit = [row for row in asked(capsys) if row["foreign_markers"]]
    assert {row["step"] for row in hit} >= {"limit", "limit + 1"}
    assert not MARKER.search(record.read_text())
    assert '"marker"' in record.read_text()


def clear(message: str, status: int):
    async def answer(request, marker, stream):
        return web.json_response({"object": "error", "message": message}, status=status)

    return answer


async def _proxy(request, marker, stream):
    return web.Response(status=413, text="<html>413 Request Entity Too Large</html>")


async def _moved(request, marker, stream):
    return web.Response(status=307, headers={"Location": "http://canary.invalid/"})


async def _packed(request, marker, stream):
    body = gzip.compress(b'{"object": "error", "message": "the prompt is too long"}')
    return web.Response(status=400, body=body, headers={"Content-Encoding": "gzip"})


async def _in_stream(request, marker, stream):
    frame = {"error": {"message": "Input length exceeds the maximum", "code": 400}}
    return await _frames(request, frame) if stream else web.json_response(frame, status=400)


async def _after_words(request, marker, stream):
    words = {"choices": [{"delta": {"content": "Some"}}]}
    frame = {"error": {"message": "Input length exceeds the maximum", "code": 400}}
    return await _frames(request, words, frame)


TOLD = {
    "the engine's own error": (clear("The input is longer than the context", 400), "refused"),
    "an error frame at once": (_in_stream, "refused"),
    "an error frame after words": (_after_words, "served what cannot fit"),
    "a rate limit": (clear("rate limit exceeded: too many tokens per minute", 429), "no clear 4xx"),
    "no access": (clear("the account may not use this model", 403), "no clear 4xx"),
    "another 400": (clear("unknown field", 400), "no clear 4xx"),
    "a failure": (clear("the input is too long", 500), "no clear 4xx"),
    "a proxy's page": (_proxy, "no clear 4xx"),
    "a redirect": (_moved, "no answer"),
    "packed": (_packed, "no answer"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_only_the_original_error_is_a_clear_refusal(capsys, case):
    answer, verdict = TOLD[case]
    code = asyncio.run(_against(over_limit(answer)))
    over = [row for row in asked(capsys) if row["tokens"] >= 300]
    assert {row["verdict"] for row in over} == {verdict}
    assert code == (0 if verdict == "refused" else 11)


def test_pages_that_were_not_filled_show_nothing(capsys):
    count = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal count
        count += 1
        # Three to measure with, then two that fill.
        return web.Response(status=503) if count in (4, 5) else await echoing()(request)

    assert asyncio.run(_against(answer)) == 11
    assert "not served for both accounts" in capsys.readouterr().err


@pytest.mark.parametrize("rid", ["two words", "\x1b[2J", "x" * 129, 7, None, "canary-" + "0" * 32])
def test_an_id_that_is_none_is_not_kept(tmp_path, capsys, rid):
    async def answer(request: web.Request) -> web.StreamResponse:
        words = (await request.json())["messages"][0]["content"].split()
        usage = {"prompt_tokens": len(words), "completion_tokens": 2**70}
        choice = {"message": {"content": words[-1]}}
        return web.json_response({"id": rid, "choices": [choice], "usage": usage})

    record = tmp_path / "canary.ndjson"
    asyncio.run(_against(answer, "--record", str(record)))
    assert {row["request_id"] for row in asked(capsys)} == {None}
    assert record.read_bytes() == b"" or b'"request_id"' not in record.read_bytes()


def test_requests_are_no_faster_than_stated(capsys):
    times: list[float] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        times.append(time.monotonic())
        return await echoing()(request)

    assert asyncio.run(_against(answer, "--pause", "0.02")) == 0
    assert min(after - before for before, after in pairwise(times)) >= 0.02
    assert run(["canary", "http://127.0.0.1:9", *ACCOUNTS, *SIZES, "--pause", "-1"]) == 2


def test_a_server_that_counts_nothing_cannot_be_aimed_at(capsys):
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"choices": []})

    assert asyncio.run(_against(answer)) == 11
    assert "blind" in capsys.readouterr().err


def test_another_host_is_only_asked_when_told_to(capsys):
    assert run(["canary", "http://canary.invalid", *ACCOUNTS, *SIZES]) == 0
    shown = capsys.readouterr()
    assert "dry run" in shown.err
    assert "limit + 1: 301 tokens, streamed, lab-b" in shown.out


@pytest.mark.parametrize("local", ["router", "engine", "neither"])
def test_a_dry_run_asks_no_other_host_not_even_for_sizes(capsys, monkeypatch, local):
    came: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        came.append(request.path)
        return web.json_response({"max_total_num_tokens": 306, "context_length": 400})

    async def ask() -> int:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        at = f"127.0.0.1:{runner.addresses[0][1]}"
        monkeypatch.setattr("forensics.commands.canary.is_local", lambda _: local == "router")
        monkeypatch.setattr("forensics.live.aim.is_local", lambda _: local == "engine")
        urls = (f"http://{at}/router", "--engine", f"http://{at}/engine")
        try:
            return await asyncio.to_thread(run, ["canary", *urls, *ACCOUNTS])
        finally:
            await runner.cleanup()

    assert asyncio.run(ask()) == 0
    assert came == (["/engine"] if local == "engine" else [])
    shown = capsys.readouterr()
    assert "dry run" in shown.err
    assert ("limit: 300 tokens" in shown.out) == (local == "engine")


@pytest.mark.parametrize(
    ("url", "is_it"),
    [
        ("http://127.0.0.1:1", True), ("http://127.9.9.9", True), ("http://[::1]:1", True),
        ("http://localhost:1", True), ("http://10.0.0.1", False), ("http://0.0.0.0", False),
        ("http://127.0.0.1.example.org", False), ("http://127.0.0.1@example.org", False),
        ("http://localhost.example.org", False), ("http://2130706433.example", False),
    ],
)  # fmt: skip
def test_only_this_host_is_local(url, is_it):
    assert is_local(url) is is_it


def test_what_is_no_address_is_not_asked(capsys):
    for url in ("http://[bad", "ftp://127.0.0.1", "http://", "file:///etc/passwd"):
        assert run(["canary", url, *ACCOUNTS, *SIZES]) == 2
    assert run(["canary", "http://127.0.0.1:9", "--path", "@example.org/", *ACCOUNTS, *SIZES]) == 2


def test_keys_come_from_the_environment_and_are_not_shown(capsys, monkeypatch):
    monkeypatch.delenv("KEY_B")
    assert run(["canary", "http://127.0.0.1:9", *ACCOUNTS]) == 2
    assert "KEY_B" in capsys.readouterr().err
    assert run(["canary", "http://127.0.0.1:9", "--account", "a=KEY_A"]) == 2


def test_two_accounts_are_two(capsys):
    for second in ("lab-a=KEY_B", "lab-b=KEY_A"):
        both = ("--account", "lab-a=KEY_A", "--account", second)
        assert run(["canary", "http://127.0.0.1:9", *both, *SIZES]) == 2
    assert run(["canary", "http://canary.invalid", *ACCOUNTS, *SIZES]) == 0
