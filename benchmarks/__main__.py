"""One command, one run, one set of figures: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import data, measure, table
from benchmarks.tasks import TASKS

SAMPLE = measure.ROOT / "data" / "samples" / "glm53"
TITLE = "# Performance\n\nWritten by `python -m benchmarks --write`; not edited by hand.\n"


def main() -> None:
    """Parse, generate, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="requests (1,000,000)")
    parser.add_argument("--runs", type=int, default=3, help="runs per task, of which the median")
    parser.add_argument("--data", type=Path, help="folder that keeps the generated file")
    parser.add_argument("--write", type=Path, help="write the tables to this Markdown file too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forensics-benchmarks-") as scratch:
        file = _generated(asked.data or Path(scratch), asked.rows)
        text = _measured(file, asked.rows, asked.runs, Path(scratch))
    print(text)
    if asked.write:
        asked.write.parent.mkdir(parents=True, exist_ok=True)
        asked.write.write_text(f"{TITLE}\n{text}\n", encoding="utf-8")


def _generated(folder: Path, rows: int) -> Path:
    """Return the file of that many requests, generating it where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"requests-{rows}.ndjson"
    if not file.exists():
        _say(f"generating {rows:,} requests")
        unfinished = file.with_suffix(".part")
        data.write(unfinished, rows)
        unfinished.rename(file)
    return file


def _measured(file: Path, rows: int, runs: int, scratch: Path) -> str:
    figures = []
    for name in TASKS:
        _say(f"measuring: {name}")
        figures.append(measure.task(name, file, runs))
    _say("measuring: commands")
    report = ("report", str(SAMPLE / "logs"), "-i", str(SAMPLE / "incident.toml"))
    out = ("-o", str(scratch / "report"), "--force")
    commands = [
        measure.command("`forensics --help`", ("--help",), runs),
        measure.command("`forensics report` of the sample", (*report, *out), runs),
    ]
    parts = (
        table.facts(file, rows, runs),
        table.throughput(figures, rows, file.stat().st_size),
        table.startup(commands),
    )
    return "\n\n".join(parts)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
