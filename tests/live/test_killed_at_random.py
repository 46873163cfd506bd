"""At whatever moment a canary is killed, nothing of a prompt or an answer is left anywhere."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics.lab.engine import Answer, Ask, EngineOptions, LabEngine
from forensics.lab.engine.service import served

FORENSICS = [sys.executable, "-c", "from forensics.cli import main; main()"]
PHRASES = re.compile(rb"(?i)canary-[0-9a-f]{4}|mentions|ends there|code word|list of words|lab-key")
"""The lab's own way of speaking, the beginning of a marker, the prompt's, and the keys."""
MARKER = re.compile(r"canary-([0-9a-f]{32})")
PIECE = 12
"""Characters of a marker's random part that no other figure shares by chance."""
MOMENTS = 20
MOST = 15.0


class Listening(LabEngine):
    """A lab engine that keeps every marker it was sent, and whether one leaked."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.pieces: set[bytes] = set()

    async def answer(self, ask: Ask, *more: object) -> Answer:
        for found in MARKER.finditer(" ".join(ask.words)):
            word = found[1].encode()
            self.pieces |= {word[at : at + PIECE] for at in range(len(word) - PIECE + 1)}
        return await super().answer(ask, *more)  # type: ignore[arg-type]


class Served:
    """The engine in a thread of its own, asked by one canary after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = Listening(EngineOptions(), folder / "logs")
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._thread.start()
        assert self._ready.wait(10)

    async def _run(self) -> None:
        self._ended = asyncio.Event()
        async with served(self.engine, {"lab-key-a": "a", "lab-key-b": "b"}) as self.at:
            self._ready.set()
            await self._ended.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(20)


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served_at = Served(tmp_path_factory.mktemp("engine"))
    yield served_at
    served_at.stop()


def start(folder: Path, at: Served) -> subprocess.Popen[bytes]:
    for name in ("home", "temp", "work"):
        (folder / name).mkdir(parents=True)
    own = {"KEY_A": "lab-key-a", "KEY_B": "lab-key-b", "HOME": str(folder / "home")}
    own |= {name: str(folder / "temp") for name in ("TMPDIR", "TMP", "TEMP")}
    own |= {name: str(folder / "home") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    asked = ["canary", at.at.router, "--engine", at.at.prefill, "--fill", "3", "--pause", "0.02"]
    asked += ["--account", "a=KEY_A", "--account", "b=KEY_B", "--json"]
    asked += ["--record", "record.ndjson", "--textfile", "canary.prom"]
    return subprocess.Popen(
        [*FORENSICS, *asked], cwd=folder / "work", env=os.environ | own,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def left(folder: Path, *printed: bytes) -> list[bytes]:
    return [*printed, *(path.read_bytes() for path in folder.rglob("*") if path.is_file())]


def searched(texts: list[bytes], pieces: set[bytes]) -> None:
    for text in texts:
        assert not PHRASES.search(text)
        runs = (found[0] for found in re.finditer(rb"[0-9a-fA-F]{%d,}" % PIECE, text))
        for run in map(bytes.lower, runs):
            assert pieces.isdisjoint(run[at : at + PIECE] for at in range(len(run) - PIECE + 1))


@pytest.mark.long
def test_no_text_is_left_whenever_a_canary_is_killed(tmp_path, leaking):
    begun = time.monotonic()
    whole = start(tmp_path / "whole", leaking)
    printed = whole.communicate(timeout=120)
    lasts = min(MOST, time.monotonic() - begun)
    assert whole.returncode == 11, "the engine leaks"
    assert leaking.engine.pieces
    searched(left(tmp_path, *printed), leaking.engine.pieces)
    draw, hits, ends = random.Random(20_301), 0, set()
    for number in range(MOMENTS):
        folder = tmp_path / f"run-{number}"
        child = start(folder, leaking)
        time.sleep(draw.uniform(0, lasts))
        child.send_signal((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[number % 3])
        texts = left(folder, *child.communicate(timeout=60))
        ends.add(child.returncode)
        hits += any(b'"marker"' in text for text in texts)
        searched(texts, leaking.engine.pieces)
    searched(left(leaking.folder), leaking.engine.pieces)
    # Some were killed before, some after markers had come back.
    assert 0 < hits < MOMENTS
    assert {-signal.SIGKILL, 130} <= ends
