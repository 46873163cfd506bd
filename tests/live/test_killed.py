"""Killed at any moment, neither canary, gate nor engine leaves a word of a prompt or an answer."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FORENSICS = [sys.executable, "-c", "from forensics.cli import main; main()"]
TEXT = re.compile(rb"canary-[0-9a-f]{32}|mentions|code word|DRIPPED-SECRET|lab-key")
ACCOUNTS = ["--account", "lab-a=KEY_A", "--account", "lab-b=KEY_B"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Killed:
    """One command in a folder of its own, killed when it has come so far."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.folder, self.temp = folder, folder / "temp"
        self.temp.mkdir()
        self.record = folder / "record.ndjson"
        self._made = self.temp.stat().st_mtime_ns
        self.said = b""
        keys = {"KEY_A": "lab-key-a", "KEY_B": "lab-key-b", "TMPDIR": str(self.temp)}
        self._child = subprocess.Popen(
            [*FORENSICS, *arguments, "--record", str(self.record)],
            cwd=folder, env=os.environ | keys, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def wait(self, far_enough: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not far_enough() and self._child.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        assert self._child.poll() is None, "the run must still be under way"

    def kill(self, number: int, far_enough: Callable[[], bool]) -> int:
        """Wait, kill, and search all that is left and all that was printed."""
        self.wait(far_enough)
        self._child.send_signal(number)
        return self.end()

    def end(self) -> int:
        printed = self._child.communicate(timeout=20)
        self.said = printed[1]
        assert self._made == self.temp.stat().st_mtime_ns, "a temporary file was made"
        search(self.folder, *printed)
        return self._child.returncode

    def lines(self) -> list[bytes]:
        return self.record.read_bytes().splitlines() if self.record.exists() else []


def search(folder: Path, *printed: bytes) -> None:
    for text in (*printed, *(path.read_bytes() for path in folder.rglob("*") if path.is_file())):
        assert not TEXT.search(text)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Engine"]:
    """A leaking engine that is asked by all; the last test kills it."""
    folder = tmp_path_factory.mktemp("engine")
    serve = ["lab", "serve", "--logs", str(folder / "logs"), "--port", "0"]
    child = subprocess.Popen(
        [*FORENSICS, *serve], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    assert child.stdout is not None
    yield Engine(json.loads(child.stdout.readline()), folder, child)
    child.kill()
    search(folder, *child.communicate())


@dataclass
class Engine:
    at: dict[str, str]
    folder: Path
    child: subprocess.Popen[bytes]

    def asking(self, *more: str) -> list[str]:
        asked = ["canary", self.at["router"], "--engine", self.at["prefill"], "--fill", "3"]
        return [*asked, *ACCOUNTS, *more]


def moments() -> Iterator[object]:
    for number, lines, long in (
        (signal.SIGKILL, 0, False), (signal.SIGTERM, 1, False), (signal.SIGINT, 7, True),
        (signal.SIGKILL, 8, True), (signal.SIGTERM, 14, True), (signal.SIGKILL, 40, False),
        (signal.SIGINT, 60, True),
    ):  # fmt: skip
        yield pytest.param(number, lines, marks=[pytest.mark.long] if long else [])


@pytest.mark.parametrize(("number", "lines"), list(moments()))
def test_a_killed_canary_leaves_no_text(tmp_path, engine, number, lines):
    killed = Killed(tmp_path, engine.asking("--pause", "0.05"))
    far = (lambda: len(killed.lines()) >= lines) if lines else killed.record.exists
    code = killed.kill(number, far)
    assert code == (-number if number == signal.SIGKILL else 130)
    assert (b"canary: interrupted; the record holds" in killed.said) == (code == 130)
    # Each line is whole, whenever the end came; a hit before it is on record.
    kept = [json.loads(line) for line in killed.lines()]
    assert any("marker" in row for row in kept) or lines < 40
    search(engine.folder)


@pytest.fixture
def dripping() -> Iterator[tuple[str, list[int]]]:
    """A server that sends an answer with a secret and a text in it, and never ends it."""
    listener, sent, ended = socket.create_server(("127.0.0.1", 0)), [], threading.Event()

    listener.settimeout(0.1)

    def drip() -> None:
        while not ended.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            said = b'{"api_key": "sk-DRIPPED-SECRET", "text": "canary-' + b"0" * 32 + b'", '
            try:
                client.recv(65_536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + said)
                while not ended.is_set():
                    sent.append(client.send(b" "))
                    ended.wait(0.01)
            except OSError:
                client.close()

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", sent
    ended.set()
    thread.join(10)
    listener.close()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_killed_gate_leaves_nothing(tmp_path, dripping, number):
    url, sent = dripping
    killed = Killed(tmp_path, ["gate", url, "--timeout", "30"])
    code = killed.kill(number, lambda: len(sent) > 5)
    assert code == (-number if number == signal.SIGKILL else 130)
    assert (b"interrupted" in killed.said) == (code == 130)
    assert killed.lines() == []


def test_a_canary_whose_engine_is_killed_fails_and_leaves_no_text(tmp_path, engine):
    asking = Killed(tmp_path, engine.asking("--pause", "0.05"))
    asking.wait(lambda: len(asking.lines()) > 20)
    engine.child.kill()
    assert asking.end() == 11
