"""Run commands in processes of their own and keep their time and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
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
    """Run one process to its end.

    ``wait4`` tells time and peak of this very child; ``RUSAGE_CHILDREN`` would keep the
    highest peak of all children so far.
    """
    limited = {} if threads is None else {"POLARS_MAX_THREADS": str(threads)}
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        begun = time.perf_counter()
        process = subprocess.Popen(
            arguments, stdout=stdout, stderr=stderr, cwd=ROOT, env=os.environ | limited
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            stderr.seek(0)
            raise SystemExit(f"{' '.join(arguments)}\n{stderr.read()}")
        stdout.seek(0)
        unit = 1 if sys.platform == "darwin" else 1024
        cpu = usage.ru_utime + usage.ru_stime
        return _Process(seconds, cpu, usage.ru_maxrss * unit, stdout.read())
