"""What a check leaves behind: refused before it asks, or written whatever the engine answers."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from forensics.cli import run
from forensics.live import textfile

ACCOUNTS = ("--account", "a=KEY_A", "--account", "b=KEY_B")
SIZES = ("--limit", "300", "--pool", "306", "--context", "400")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("KEY_A", "one")
    monkeypatch.setenv("KEY_B", "two")


def gauge(path: Path, name: str) -> str:
    (line,) = [line for line in path.read_text().splitlines() if line.startswith(f"{name} ")]
    return line.split()[1]


def told_status(told: dict[str, Any]) -> int:
    return told["asked"][0]["status"]


class Files:
    def __init__(self, folder: Path) -> None:
        self.record, self.textfile = folder / "canary.ndjson", folder / "canary.prom"
        self.options = ("--record", str(self.record), "--textfile", str(self.textfile))


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


BUSY = {
    "HTTP 503": lambda: web.Response(status=503),
    "HTTP 503 with an id": lambda: web.json_response({"id": "x-1", "message": "b"}, status=503),
    "no token count": lambda: web.json_response({"id": "x-1", "choices": []}),
    "HTML": lambda: web.Response(text="<html>"),
}


@pytest.mark.parametrize("case", BUSY)
def test_an_engine_that_cannot_be_aimed_at_is_a_verdict_on_record(server, capsys, files, case):
    async def answer(_: web.Request) -> web.Response:
        return BUSY[case]()

    server.answers["/v1/chat/completions"] = answer
    code = run(["canary", server.url, *ACCOUNTS, *SIZES, *files.options, "--json"])
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert (code, told["passed"], "blind" in told["sentence"]) == (11, False, True)
    assert [row["verdict"] for row in told["asked"]] == ["no token count"]
    assert gauge(files.textfile, textfile.PASSED) == "0"
    kept = [json.loads(line) for line in files.record.read_text().splitlines()]
    # An answer of 200 without an id is nobody's: a report could not tell whose it was.
    assert [row["http_status"] for row in kept] == ([] if case == "HTML" else [told_status(told)])
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [200, 503])
def test_an_engine_that_does_not_say_its_sizes_is_a_verdict_too(server, capsys, files, status):
    server.answers["/server_info"] = web.Response(status=status)
    assert run(["canary", server.url, *ACCOUNTS, *files.options]) == 11
    assert "blind: the engine's sizes: " in capsys.readouterr().err
    assert gauge(files.textfile, textfile.PASSED) == "0"
    assert files.record.read_bytes() == b""


@pytest.fixture
def impossible(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    return {
        "no folder": tmp_path / "none" / "x",
        "a folder": tmp_path / "folder",
        "under a file": tmp_path / "file" / "x",
        "a device": Path("/dev/full"),
        "too long": tmp_path / ("x" * 300),
    }


@pytest.mark.parametrize("case", ["no folder", "a folder", "under a file", "a device", "too long"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(
    server, tmp_path, impossible, case
):
    server.answers["/server_info"] = {"max_total_num_tokens": 9_000, "context_length": 4_000}
    place = str(impossible[case])
    assert run(["gate", server.url, "--record", place]) == 2
    for option in ("--record", "--textfile"):
        assert run(["canary", server.url, *ACCOUNTS, option, place]) == 2
        assert run(["canary", server.url, *ACCOUNTS, *SIZES, option, place]) == 2
    assert server.asked == []
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_record_and_gauges_are_two_files_and_a_pipe_that_nobody_reads_is_none(server, tmp_path):

    one = str(tmp_path / "one")
    assert run(["canary", server.url, *ACCOUNTS, "--record", one, "--textfile", one]) == 2
    os.mkfifo(tmp_path / "pipe")
    assert run(["gate", server.url, "--record", str(tmp_path / "pipe")]) == 2
    assert server.asked == []


def test_a_dry_run_writes_nothing(files, tmp_path):
    assert run(["canary", "http://canary.invalid", *ACCOUNTS, *SIZES, *files.options]) == 0
    assert list(tmp_path.iterdir()) == []
