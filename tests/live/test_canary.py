"""The canary against the engine that really leaks, and against every fix of it."""

import asyncio
import hashlib
import json
import re
from pathlib import Path

import pytest
from aiohttp import web

import forensics
from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine
from forensics.lab.engine.service import served

KEYS = {"lab-key-a": "lab-a", "lab-key-b": "lab-b"}
ACCOUNTS = ("--account", "lab-a=KEY_A", "--account", "lab-b=KEY_B")
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


@pytest.mark.parametrize(
    "fix",
    [{"retire_rejected": True}, {"edge_reject": True}, {"prefill_pool_tokens": 8_192}],
    ids=str,
)
def test_a_fix_passes(tmp_path, capsys, fix):
    done = Run(tmp_path, **fix)
    assert done.code == 0
    assert done.leaked == set()
    assert {row["verdict"] for row in asked(capsys)} <= {"clean", "refused"}


def test_a_length_check_keeps_the_data_in_but_gives_no_clear_error(tmp_path, capsys):
    done = Run(tmp_path, check_length=True)
    assert (done.code, done.leaked) == (11, set())
    assert "no clear 4xx" in {row["verdict"] for row in asked(capsys)}


def test_cleared_pages_keep_the_data_in_but_serve_what_cannot_fit(tmp_path, capsys):
    done = Run(tmp_path, clear_pages=True)
    assert (done.code, done.leaked) == (11, set())
    assert "served what cannot fit" in {row["verdict"] for row in asked(capsys)}


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
        sizes = ("--limit", "300", "--pool", "306", "--context", "400", "--fill", "1")
        return await asyncio.to_thread(run, ["canary", url, *ACCOUNTS, *sizes, *more, "--json"])
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
    assert {row["verdict"] for row in asked(capsys)} == {"clean", "refused"}


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


def test_a_server_that_counts_nothing_cannot_be_aimed_at(capsys):
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"choices": []})

    assert asyncio.run(_against(answer)) == 2


def test_another_host_is_only_asked_when_told_to(capsys):
    sizes = ("--limit", "300", "--pool", "306", "--context", "400")
    assert run(["canary", "http://canary.invalid", *ACCOUNTS, *sizes]) == 0
    shown = capsys.readouterr()
    assert "dry run" in shown.err
    assert "limit + 1: 301 tokens, streamed, lab-b" in shown.out


def test_keys_come_from_the_environment_and_are_not_shown(capsys, monkeypatch):
    monkeypatch.delenv("KEY_B")
    assert run(["canary", "http://127.0.0.1:9", *ACCOUNTS]) == 2
    assert "KEY_B" in capsys.readouterr().err
    assert run(["canary", "http://127.0.0.1:9", "--account", "a=KEY_A"]) == 2
