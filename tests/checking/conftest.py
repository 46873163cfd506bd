"""Nodes that write time stats, and files that count what is read of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from forensics.sources.files import Input

START = datetime(2026, 8, 28, 3, 0, tzinfo=UTC)
LIMIT = 681_274
START_UP = (
    (
        "server_args={'model_path': '/m', 'api_key': 'CANARY-KEY', 'disaggregation_mode': '%s', "
        "'page_size': 64, 'context_length': 1048576, 'dp_size': 1, 'allow_auto_truncate': False}"
    ),
    (
        "max_total_num_tokens=681280, chunked_prefill_size=16384, max_prefill_tokens=16384, "
        "max_running_requests=32, context_len=1048576, available_gpu_mem=12.31 GB"
    ),
)


@dataclass
class Fleet:
    """Lines of prefill and decode nodes, by node, in order of time."""

    begin: ClassVar[datetime] = START
    limit: ClassVar[int] = LIMIT
    sizes: ClassVar[tuple[int, ...]] = (912, 25_000, 118_000, 700_000, 1_830, 690_275)

    zone: timedelta = timedelta(hours=2)
    lines: dict[str, list[tuple[datetime, str]]] = field(default_factory=dict)

    def say(self, node: str, at: datetime, message: str) -> None:
        """Let a node print a message at a time of UTC."""
        self.lines.setdefault(node, []).append((at, message))

    def start(self, node: str, role: str, at: datetime = START - timedelta(minutes=5)) -> None:
        """Print what a start prints."""
        self.say(node, at, START_UP[0] % role)
        self.say(node, at, START_UP[1])

    def request(
        self,
        number: int,
        tokens: int,
        at: datetime,
        *,
        prefill: str | None = "prefill-01",
        decode: str | None = "decode-01",
    ) -> None:
        """Serve a request; one over the limit is handed over as a placeholder."""
        room = 4_000_000_000_000_000_000 + number * 7919
        epoch = f"{at.timestamp():.3f}"
        counted = 1 if tokens >= LIMIT else tokens
        if prefill is not None:
            self.say(
                prefill,
                at + timedelta(seconds=1),
                f"ReqTimeStats(rid={number:032x}, bootstrap_room={room}, input_len={counted}, "
                "cached_input_len=0, output_len=1, attempts=0, type=prefill): "
                "bootstrap_duration=15.00ms, queue_duration=6.56ms, forward_duration=974.17ms, "
                f"entry_time={epoch}, transfer_speed=0.41 GB/s, transfer_total=3.75 MB",
            )
        if decode is not None:
            self.say(
                decode,
                at + timedelta(seconds=3),
                f"ReqTimeStats(rid={number + 2**64:032x}, bootstrap_room={room}, "
                f"input_len={tokens}, cached_input_len=0, output_len=90, attempts=0, type=decode): "
                "bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, transfer_duration=86.72ms,"
                f" queue_duration=15.56ms, forward_duration=2830.00ms, entry_time={epoch}",
            )

    def write(self, folder: Path) -> Path:
        """Write one file for each node."""
        folder.mkdir(parents=True, exist_ok=True)
        for node, lines in self.lines.items():
            said = sorted(lines, key=lambda line: line[0])
            text = "".join(f"[{at + self.zone:%Y-%m-%d %H:%M:%S}] {line}\n" for at, line in said)
            (folder / f"{node}.log").write_text(text)
        return folder


@pytest.fixture(scope="session")
def new_fleet() -> type[Fleet]:
    """Make fleets."""
    return Fleet


@pytest.fixture
def fleet() -> Fleet:
    """A fleet that has not said anything yet."""
    return Fleet()


@pytest.fixture
def pair(fleet: Fleet, tmp_path: Path) -> Path:
    """Both sides of six requests, two of them handed over as placeholders."""
    fleet.start("prefill-01", "prefill")
    for number, tokens in enumerate(fleet.sizes):
        fleet.request(number, tokens, START + timedelta(minutes=number))
    return fleet.write(tmp_path / "logs")


class Counted:
    """A path whose streams count every byte that is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name
        self.read = 0

    def stat(self) -> Any:
        return self._path.stat()

    def open(self, _: str = "rb", **__: Any) -> io.RawIOBase:
        return _CountedStream(self._path, self)


class _CountedStream(io.FileIO):
    def __init__(self, path: Path, owner: Counted) -> None:
        super().__init__(path, "rb")
        self._owner = owner

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size)
        self._owner.read += len(data)
        return data


@pytest.fixture
def counted() -> Callable[[Path], tuple[Input, Counted]]:
    """Make an input of a file, and what counts its bytes."""

    def make(path: Path, number: int = 0) -> tuple[Input, Counted]:
        counter = Counted(path)
        return Input(number, cast("Path", counter), str(path), path.name), counter

    return make
