"""A run that is killed at any moment is gone on with, and leaves no trace in the set."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import forensics
from forensics.cli import run

PROGRAM = """
import os, signal, sys
from forensics.cli import main
from forensics.ingest import disk

left, written = int(sys.argv.pop(1)), disk.put

def counted(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    written(*arguments)

disk.put = counted
main()
"""
NEVER = 0


def start(step: int, *arguments: Path | str) -> subprocess.Popen[bytes]:
    """Start an ingest in a process of its own, which kills itself before its n-th write."""
    command = [sys.executable, "-c", PROGRAM, str(step), "ingest", *map(str, arguments), "-q"]
    path = {"PYTHONPATH": str(Path(forensics.__file__).parents[1])}
    return subprocess.Popen(command, env=os.environ | path, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, small_logs: Path) -> Path:
    """Few files, so that a run has few moments."""
    folder = tmp_path_factory.mktemp("few")
    for path in sorted(small_logs.iterdir())[:2]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def whole(logs: Path, tmp_path: Path, kit: SimpleNamespace) -> dict[str, bytes]:
    kit.ingest(logs, out=tmp_path / "whole")
    return kit.held(tmp_path / "whole")


def go_on(logs: Path, out: Path, whole: dict[str, bytes], kit: SimpleNamespace) -> None:
    """Run the same command again; the set is then as if nothing had happened."""
    assert kit.ingest(logs, out=out) == 0
    kit.same(kit.held(out), whole)
    assert [path.name for path in out.parent.iterdir() if path.name.startswith(".")] == []


def killed(step: int, *arguments: Path | str) -> None:
    process = start(step, *arguments)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def killed_and_gone_on(
    step: int, logs: Path, out: Path, whole: dict[str, bytes], kit: SimpleNamespace
) -> None:
    killed(step, logs, "-o", out)
    assert run(["scope", str(out), "-q"]) == 4, "no part of it passes for the whole"
    go_on(logs, out, whole, kit)


def steps(whole: dict[str, bytes]) -> int:
    """Each file of the set is written once, and manifest and sums at the end."""
    return len(whole) - 2 + 2


@pytest.mark.long
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_killed_while_it_writes(share, logs, whole, tmp_path, kit):
    killed_and_gone_on(round(share * steps(whole)), logs, tmp_path / "set", whole, kit)


@pytest.mark.long
def test_a_killed_run_that_appends_leaves_the_set_as_it_was(logs, whole, tmp_path, kit):
    first, out = min(logs.iterdir()), tmp_path / "set"
    kit.ingest(first, out=out)
    before, report = kit.held(out), kit.report(out, out=tmp_path / "before")
    killed(3, logs, "-o", out)
    kit.same(kit.report(out, out=tmp_path / "after"), report)
    assert before.keys() < kit.held(out).keys(), "it was killed in the middle"
    go_on(logs, out, whole, kit)


def test_what_a_killed_run_had_finished_is_not_read_again(logs, whole, tmp_path, kit, capsys):
    files = sorted(logs.iterdir())
    kit.ingest(files[0], out=tmp_path / "first")
    first = len(kit.held(tmp_path / "first")) - 2
    killed(first + 2, logs, "-o", tmp_path / "set")
    capsys.readouterr()
    go_on(logs, tmp_path / "set", whole, kit)
    assert "1 input added, 1 already there" in capsys.readouterr().err


@pytest.mark.long
def test_killed_before_any_write(logs, whole, tmp_path, kit):
    for step in range(1, steps(whole) + 1):
        process = start(step, logs, "-o", tmp_path / f"set {step}")
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        go_on(logs, tmp_path / f"set {step}", whole, kit)


def killed_at(moment: float, *arguments: Path | str) -> bool:
    """Kill an ingest after so many seconds; tell whether it was still at work."""
    process = start(NEVER, *arguments)
    try:
        process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    return False


def seconds(*arguments: Path | str) -> float:
    """How long such a run takes where nobody kills it."""
    begun = time.monotonic()
    start(NEVER, *arguments).communicate()
    return time.monotonic() - begun


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_killed_again_and_again_at_any_moment(seed, small_logs, tmp_path, kit):
    rng, out = random.Random(seed), tmp_path / "set"
    kit.ingest(small_logs, out=tmp_path / "whole")
    workers = ("--workers", str(1 + seed % 2))
    whole = seconds(small_logs, "-o", tmp_path / "timed", *workers)
    for _ in range(4):
        killed_at(rng.uniform(0.3, 1) * whole, small_logs, "-o", out, *workers)
    assert kit.ingest(small_logs, out=out) == 3
    kit.same(kit.held(out), kit.held(tmp_path / "whole"))


@pytest.mark.long
def test_killed_at_twenty_random_moments(small_logs, tmp_path, kit):
    rng, at_work = random.Random(21), 0
    kit.ingest(small_logs, out=tmp_path / "whole")
    expected = kit.held(tmp_path / "whole")
    took = seconds(small_logs, "-o", tmp_path / "timed")
    for number in range(20):
        out = tmp_path / f"run {number}" / "set"
        out.parent.mkdir()
        moment = took * rng.uniform(*((0.1, 0.6) if number < 5 else (0.6, 1.0)))
        if killed_at(moment, small_logs, "-o", out):
            at_work += 1
            # Killed after its last write, it is whole; before that it passes for nothing.
            assert run(["scope", str(out), "-q"]) in ((3, 4) if out.exists() else (4,))
        assert kit.ingest(small_logs, out=out) == 3
        kit.same(kit.held(out), expected)
        assert [path.name for path in out.parent.iterdir()] == ["set"]
    assert at_work >= 10, "most moments must fall into the run"
