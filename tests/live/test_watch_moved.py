"""What happens to logs beside their growing: copied and emptied by rotation, clocks that jump."""

import json
import os
import shutil
from pathlib import Path

import pytest

import forensics
from forensics import lab
from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("moved") / "logs"
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    return folder


@pytest.fixture(scope="module")
def affected(logs) -> list[tuple[str, str]]:
    return sorted(forensics.read_logs(logs).affected.polars().select("request_id", "tier").rows())


@pytest.fixture
def begun(tmp_path):
    """A watch over an empty folder, that folder, and the file with what the watch told."""
    folder, scratch, out = tmp_path / "logs", tmp_path / "scratch", tmp_path / "found.ndjson"
    folder.mkdir()
    scratch.mkdir()
    asked = Asked(settle=3600)
    watch = Watch([str(folder)], Incident(), scratch, Output(out, ()), None, asked)
    yield watch, folder, out
    watch.close()


def told(path: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Findings, and what else happened."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = [(row["request_id"], row["tier"]) for row in rows if row["event"] == "finding"]
    return sorted(found), [row["event"] for row in rows if row["event"] != "finding"]


def halves(path: Path) -> tuple[bytes, bytes]:
    data = path.read_bytes()
    cut = data.rfind(b"\n", 0, len(data) // 2) + 1
    return data[:cut], data[cut:]


def test_a_log_that_is_copied_and_emptied_is_found_in_both_and_told_once(logs, affected, begun):
    watch, folder, out = begun
    for path in logs.iterdir():
        (folder / path.name).write_bytes(halves(path)[0])
    watch.step()
    for path in logs.iterdir():
        name = folder / path.name
        shutil.copy(name, folder / f"{path.name}.1")
        with name.open("r+b") as file:
            file.truncate()
        with name.open("ab") as file:
            file.write(halves(path)[1])
    watch.step()
    watch.step(last=True)
    found, events = told(out)
    assert found == affected
    assert set(events) == {"truncated"}


def test_clocks_that_step_lose_and_repeat_nothing(logs, affected, begun, monkeypatch):
    """The machine's clock jumps back and forth, and so do the times of the files."""
    watch, folder, out = begun
    jumps = [2_000_000_000.0, 4_000_000_000.0, 86_400.0]
    for at, jump in enumerate(jumps):
        monkeypatch.setattr("time.time", lambda jump=jump: jump)
        for path in logs.iterdir():
            data = path.read_bytes()
            share = data[len(data) * at // 3 : len(data) * (at + 1) // 3]
            with (folder / path.name).open("ab") as file:
                file.write(share)
            os.utime(folder / path.name, (jump, jump))
        watch.step(last=at == 2)
    found, events = told(out)
    assert found == affected
    assert events == []
