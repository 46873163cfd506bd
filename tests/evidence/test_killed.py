"""A run that is killed leaves the old report, the new one or none, and never a mixture."""

import json
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forensics.evidence.verify import verify

CALL = "import sys; from forensics.cli import run; sys.exit(run(sys.argv[1:]))"


def start(case: Path, threshold: int) -> subprocess.Popen[bytes]:
    """Start a report that replaces the one that is there; the incident tells them apart."""
    (case / f"{threshold}.toml").write_text(f"[trigger]\nthreshold_tokens = {threshold}\n")
    arguments = ["report", "logs", "-i", f"{threshold}.toml", "-o", "out", "--force", "-q"]
    return subprocess.Popen(
        [sys.executable, "-c", CALL, *arguments],
        cwd=case,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def threshold_of(out: Path) -> int:
    document = json.loads((out / "report.json").read_bytes())
    return int(document["scope"]["threshold_tokens"])


def check(case: Path, allowed: set[int]) -> int | None:
    """Return whose report is there; everything about it holds, and nothing lies open."""
    for path in case.rglob("*"):
        if ".out." in str(path.relative_to(case)):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    if not (case / "out").exists():
        return None
    assert verify(case / "out").exit_code == 0
    assert threshold_of(case / "out") in allowed
    return threshold_of(case / "out")


def kill_at(case: Path, moments: list[float]) -> set[int | None]:
    """Kill one run after another, each at its moment; say which reports were found."""
    found = set()
    for number, moment in enumerate(moments, 1):
        with start(case, number) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
        found.add(check(case, set(range(number + 1))))
    return found


@pytest.fixture
def running(own: Path) -> tuple[Path, float]:
    """A case with a finished report 0, and how long such a run takes, in seconds."""
    shutil.rmtree(own / "out")
    begun = time.monotonic()
    with start(own, 0) as process:
        assert process.wait() == 3
    return own, time.monotonic() - begun


def hidden(case: Path) -> list[str]:
    return [path.name for path in case.iterdir() if path.name.startswith(".out.")]


def finish(case: Path) -> None:
    """The next run succeeds and removes what the killed ones left."""
    with start(case, 99) as process:
        assert process.wait() == 3
    assert check(case, {99}) == 99
    assert hidden(case) == []


@pytest.mark.long
def test_killed_towards_the_end(running):
    case, whole = running
    kill_at(case, [whole * 0.9])
    finish(case)


@pytest.mark.long
def test_killed_at_twenty_random_moments(running):
    case, whole = running
    rng = random.Random(20)
    early = [rng.uniform(0.1, 0.8) for _ in range(6)]
    late = [rng.uniform(0.8, 1.05) for _ in range(14)]
    kill_at(case, [whole * share for share in early + late])
    finish(case)
