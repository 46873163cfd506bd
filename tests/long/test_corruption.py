"""Corrupted logs of every kind, each with a canary of its own: nothing of it ever comes out.

Fifty files a run, the whole command line in a process of its own, and every byte that it
wrote or printed searched, those of temporary files included: a watcher links them the moment
they appear, so that they are still there when the run has deleted them.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import polars as pl
import pytest
import zstandard

from forensics import lab

RUNS = int(os.environ.get("CORRUPTION_RUNS", "200"))
FILES = 50
COMMAND = [sys.executable, "-c", "from forensics.cli import main; main()"]
PLANTED = b"SYNTHETIC-CANARY"
PHRASE = b"my name is"
"""Part of every canary: shows one whose own number the damage has cut off."""


def canary(run: int, number: int) -> bytes:
    """Return a text that no file but one holds, too long and too spacious to be a name."""
    return b"CANARY-%04d-%04d %s and I live at " % (run, number, PHRASE) * 12


@pytest.fixture(scope="module")
def clean() -> list[tuple[str, bytes]]:
    """Small whole files of every format; each holds the planted text somewhere."""
    run = lab.simulate(lab.small(requests=60))
    files: dict[str, bytes] = {}
    for name, surface in lab.SURFACES.items():
        for node in run.nodes[::2]:
            files |= {f"{name}/{path}": data for path, data in surface(run, node).items()}
    rows = [
        {"request_id": f"r-{n}", "received_at": "2026-03-02T08:00:00Z", "http_status": 200}
        | {"prompt": PLANTED.decode(), "messages": [{"content": PLANTED.decode()}], "n": n}
        for n in range(20)
    ]
    files["plain.ndjson"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    flat = pl.DataFrame(rows).drop("messages")
    files["plain.csv"] = flat.write_csv().encode()
    buffer = io.BytesIO()
    flat.write_parquet(buffer)
    files["plain.parquet"] = buffer.getvalue()
    info = {"disaggregation_mode": "prefill", "max_total_num_tokens": 40_960, "page_size": 64}
    secret = {"api_key": f"sk-{PLANTED.decode()}", "internal_states": [], "version": "0.5.19"}
    files["server_info.json"] = json.dumps(info | secret, indent=1).encode()
    files["odd.txt"] = PLANTED * 3 + b"\nTraceback (most recent call last):\n" + PLANTED
    return sorted(files.items())


def planted(data: bytes, mark: bytes) -> bytes:
    return data.replace(PLANTED, mark) if PLANTED in data else data + b"\n" + mark


def corrupted(data: bytes, mark: bytes, draw: Random) -> bytes:
    """Return the bytes after one to four kinds of damage."""
    for _ in range(draw.randint(1, 4)):
        at, to = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        match draw.randrange(8):
            case 0:
                data = data[:at]
            case 1 if data:
                at = draw.randrange(len(data))
                data = data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
            case 2:
                data = data[:at] + mark + data[at:]
            case 3:
                data = data[:at] + data[at : min(to, at + 500)] * 2 + data[at:]
            case 4:
                data = data[:at] + data[min(to, at + 300) :]
            case 5:
                data = data.replace(b"\n", draw.choice([b"\r\n", b"", b"\n\n", b"\0"]), 3)
            case 6:
                data = data[:at] + draw.randbytes(draw.randint(1, 60)) + data[at:]
            case _:
                data = data[:at] + b'{"prompt": "' + mark + data[at:]
    return data


def packed(data: bytes, draw: Random) -> tuple[bytes, str]:
    """Return the bytes as a plain, gzip or zstd file, now and then damaged once more."""
    kind = draw.choice(["", "", ".gz", ".zst"])
    if kind == ".gz":
        data = gzip.compress(data, 1)
    elif kind == ".zst":
        data = zstandard.ZstdCompressor().compress(data)
    if kind and draw.random() < 0.3:
        data = data[: draw.randrange(len(data))]
    return data, kind


class Watcher(threading.Thread):
    """Links every file that appears below some folders into another, under a number."""

    def __init__(self, folders: list[Path], stash: Path) -> None:
        super().__init__(daemon=True)
        self._folders, self._stash = folders, stash
        self._seen: set[int] = set()
        self._ended = threading.Event()
        stash.mkdir()

    def run(self) -> None:
        while not self._ended.wait(0.004):
            self.look()

    def look(self) -> None:
        for folder in self._folders:
            for root, _, names in os.walk(folder):
                for name in names:
                    self._link(Path(root, name))

    def _link(self, path: Path) -> None:
        try:
            number = path.stat().st_ino
            if number not in self._seen:
                (self._stash / str(number)).hardlink_to(path)
                self._seen.add(number)
        except OSError:
            pass  # gone between two looks

    def close(self) -> None:
        self._ended.set()
        self.join()
        self.look()


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes, and as text what compression hides in them."""
    data = path.read_bytes()
    yield data
    if data.startswith(b"PAR1"):
        try:
            frame = pl.read_parquet(io.BytesIO(data))
        except pl.exceptions.PolarsError:
            return
        yield str(frame.schema).encode()
        yield frame.with_columns(pl.col(pl.List(pl.String)).list.join(";")).write_csv().encode()


@pytest.mark.long
@pytest.mark.parametrize("number", range(RUNS))
def test_nothing_of_fifty_corrupted_files_comes_out(clean, tmp_path, number):
    draw = Random(number)
    logs, temporary, outs = tmp_path / "logs", tmp_path / "tmp", tmp_path / "outs"
    for folder in (logs, temporary, outs):
        folder.mkdir()
    marks = [PHRASE]
    for position in range(FILES):
        name, data = draw.choice(clean)
        mark = canary(number, position)
        marks.append(mark[:16])
        data, kind = packed(corrupted(planted(data, mark), mark, draw), draw)
        (logs / f"{position:02}-{name.replace('/', '-')}{kind}").write_bytes(data)
    watcher = Watcher([temporary, outs], tmp_path / "stash")
    watcher.start()
    arguments = ["report", str(logs), "-o", str(outs / "out"), "--json"]
    arguments += ["--workers", str(draw.choice([1, 2]))]
    environment = os.environ | {"TMPDIR": str(temporary), "POLARS_TEMP_DIR": str(temporary)}
    done = subprocess.run(
        [*COMMAND, *arguments], check=False, capture_output=True, env=environment, timeout=240
    )
    watcher.close()
    assert done.returncode in (0, 3, 4), done.stderr[-300:]
    assert (outs / "out").exists() == (done.returncode != 4)
    stashed = list((tmp_path / "stash").iterdir())
    if done.returncode != 4:
        assert len(stashed) > 10, "the watcher must have seen the report's files"
    assert list(temporary.iterdir()) == []
    for data in (done.stdout, done.stderr, *(d for path in stashed for d in unpacked(path))):
        shown = [mark for mark in marks if mark in data]
        assert not shown
