"""Temporary folders: gone after a run, and after a killed one by the next; never a living one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.scratch import scratch_folder

RECORD = {"request_id": "r", "received_at": "2026-02-03T04:05:06Z", "hop": "decode"}
HOLD = """
import sys
from forensics.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "part").write_bytes(b"rows")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def other(place: Path):
    """Another run in the middle of its work, and its folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = os.environ | {"TMPDIR": str(place)}
    with subprocess.Popen([sys.executable, "-c", HOLD], env=env, **pipes) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_folder_is_private_and_gone_afterwards(place):
    with scratch_folder() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(place.iterdir())


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["check", "scope", "rerun"])
def test_the_folder_of_a_killed_run_is_removed_by_the_next(command, place, other, tmp_path):
    process, folder = other
    log, out = tmp_path / "d.ndjson", tmp_path / "out"
    log.write_text(json.dumps(RECORD) + "\n")
    if command == "rerun":
        assert run(["report", str(log), "-q", "-o", str(out)]) == 3
    asked = [command, str(out if command == "rerun" else log), "-q"]
    run(asked)
    assert (folder / "part").read_bytes() == b"rows"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert folder.is_dir()
    run(asked)
    assert not list(place.iterdir())


def test_what_others_put_there_is_left(place, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine")
    (place / "forensics-run-link").symlink_to(kept)
    (place / "forensics-run-file").write_text("mine")
    (place / "forensics-notes").mkdir()
    with scratch_folder():
        pass
    assert (kept / "mine").read_text() == "mine"
    assert len(list(place.iterdir())) == 3


def test_a_link_within_a_leftover_is_not_followed(place, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine")
    (place / "forensics-run-left").mkdir()
    (place / "forensics-run-left" / "link").symlink_to(kept)
    with scratch_folder():
        pass
    assert not list(place.iterdir())
    assert (kept / "mine").read_text() == "mine"


@pytest.mark.parametrize("fault", ["another user", "no locks"])
def test_where_it_is_not_certain_nothing_is_removed(fault, place, monkeypatch):
    (place / "forensics-run-left").mkdir()
    if fault == "another user":
        monkeypatch.setattr("os.geteuid", lambda: 12345)
    else:

        def fail(*_):
            raise OSError("no locks here")

        monkeypatch.setattr("fcntl.flock", fail)
    with scratch_folder():
        pass
    assert [path.name for path in place.iterdir()] == ["forensics-run-left"]
