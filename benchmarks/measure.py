"""Run commands in processes of their own and keep their time and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
_LAUNCH = (sys.executable, "-I", "-S", str(ROOT / "benchmarks" / "launch.py"))
FORENSICS = (sys.executable, "-c", "from forensics.cli import main; main()")


@dataclass(frozen=True)
class Figure:
    """Some runs of one thing: median seconds, median CPU seconds, largest peak memory."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class _Process:
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    stdout: str


def task(
    name: str, file: Path, runs: int, module: str = "benchmarks.tasks", threads: int | None = None
) -> Figure:
    """Measure one task of a module with ``TASKS``; seconds are the child's own, as it ran."""
    command = (sys.executable, "-m", module, name, str(file))
    done = [_run(command, threads) for _ in range(runs)]
    told = [json.loads(run.stdout) for run in done]
    return _figure(
        name,
        [float(one["seconds"]) for one in told],
        [float(one["cpu_seconds"]) for one in told],
        done,
    )


def command(name: str, arguments: Sequence[str], runs: int) -> Figure:
    """Measure one call of the command line from start to end."""
    done = [_run((*FORENSICS, *arguments)) for _ in range(runs)]
    return _figure(name, [run.seconds for run in done], [run.cpu_seconds for run in done], done)


def _figure(
    name: str, seconds: Sequence[float], cpu: Sequence[float], done: Sequence[_Process]
) -> Figure:
    return Figure(name, median(seconds), median(cpu), max(run.peak_bytes for run in done))


def _run(arguments: Sequence[str], threads: int | None = None) -> _Process:
    """Run one process to its end, started by a small one (:mod:`benchmarks.launch`)."""
    limited = {} if threads is None else {"POLARS_MAX_THREADS": str(threads)}
    with tempfile.NamedTemporaryFile("r") as figures:
        done = subprocess.run(
            (*_LAUNCH, figures.name, *arguments),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | limited,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
        return _Process(*json.load(figures), done.stdout)
