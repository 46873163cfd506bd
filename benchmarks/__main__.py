"""One command, one run, one set of figures: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import data, measure, nodelog, sources, table, timing, triage
from benchmarks.tasks import TASKS, Input

SAMPLE = measure.ROOT / "data" / "samples" / "glm53"
TITLE = "# Performance\n\nWritten by `python -m benchmarks --write`; not edited by hand.\n"
QUARTER = 4


@dataclass(frozen=True)
class Source:
    """A file to generate: what writes it, its name, and lines for each request of the other."""

    write: Callable[[Path, int], None]
    name: str
    share: float
    lines: int


SOURCES: dict[Input, Source] = {
    "requests": Source(data.write, "requests-{}.ndjson", 1, 1),
    "node log": Source(nodelog.write, "decode-00-{}.log", 1 / 3, nodelog.LINES),
}


def main() -> None:
    """Parse, generate, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "part", nargs="?", choices=("reading", "timing", "sources", "triage"), help="one part alone"
    )
    parser.add_argument("--rows", type=int, default=400_000, help="requests (400,000)")
    parser.add_argument("--runs", type=int, default=3, help="runs per task, of which the median")
    parser.add_argument(
        "--timed", type=int, default=1_000_000, help="requests whose times are scored (1,000,000)"
    )
    parser.add_argument(
        "--replayed", type=int, default=1_000_000, help="requests of replays (1,000,000)"
    )
    parser.add_argument(
        "--triaged", type=int, nargs="*", default=[1_000_000, 10_000_000],
        help="requests of evidence sets (1,000,000 10,000,000)",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder that keeps the generated files")
    parser.add_argument("--write", type=Path, help="write the tables to this Markdown file too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forensics-benchmarks-") as scratch:
        text, picture = _asked(asked, asked.data or Path(scratch), Path(scratch))
    print(text)
    if asked.write:
        _write(asked.write, text, picture)


def _write(page: Path, text: str, picture: str | None) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    drawn = page.with_suffix(".svg")
    shown = f"![Triage, in times of a bare scan]({drawn.name})\n\n" if picture else ""
    page.write_text(f"{TITLE}\n{shown}{text}\n", encoding="utf-8")
    if picture:
        drawn.write_text(picture, encoding="utf-8")


def _asked(asked: argparse.Namespace, folder: Path, scratch: Path) -> tuple[str, str | None]:
    """Return the parts that were asked for, and the picture of the triage."""
    parts, picture = [], None
    if asked.part in (None, "reading"):
        parts.append(measured(folder, asked.rows, asked.runs, scratch))
    if asked.part in (None, "timing"):
        _say("measuring: prefill times")
        parts.append(timing.measured(folder, asked.timed))
    if asked.part in (None, "sources"):
        _say("measuring: replays")
        parts.append(sources.part(asked.replayed))
    if asked.part in (None, "triage"):
        _say("measuring: triage")
        found = triage.measured(folder, asked.triaged, asked.runs)
        parts.append(triage.tables(found))
        picture = triage.picture(found)
    return "\n\n".join(parts), picture


def measured(folder: Path, rows: int, runs: int, scratch: Path) -> str:
    """Return the tables as Markdown, measured on files of that many requests in a folder."""
    parts = (
        table.facts(runs),
        table.throughput(_throughput(folder, rows, runs)),
        table.startup(_startup(runs, scratch)),
    )
    return "\n\n".join(parts)


def _throughput(folder: Path, rows: int, runs: int) -> list[table.Row]:
    found: list[table.Row] = []
    for name, task in TASKS.items():
        source = SOURCES[task.reads]
        count = max(1, round(rows * source.share))
        whole = _generated(folder, source, count)
        quarter = _generated(folder, source, max(1, count // QUARTER))
        _say(f"measuring: {name}")
        peers = tuple(row.figure for row in found if _comparable(row.figure.name, name))
        found.append(
            table.Row(
                measure.task(name, whole, runs, threads=task.threads),
                measure.task(name, quarter, 1, threads=task.threads),
                whole.stat().st_size,
                count * source.lines,
                () if "bare" in name else peers,
            )
        )
    return found


def _comparable(bare: str, name: str) -> bool:
    """Say whether a task is the bare scan of what another reads, on as many cores."""
    one, other = TASKS[bare], TASKS[name]
    alone = other.threads == 1 or "report" in name
    return "bare" in bare and one.reads == other.reads and (one.threads == 1) == alone


def _generated(folder: Path, source: Source, rows: int) -> Path:
    """Return the file of that many requests, generating it where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / source.name.format(rows)
    if not file.exists():
        _say(f"generating {file.name}")
        unfinished = file.with_suffix(".part")
        source.write(unfinished, rows)
        unfinished.rename(file)
    return file


def _startup(runs: int, scratch: Path) -> list[measure.Figure]:
    _say("measuring: commands")
    report = ("report", str(SAMPLE / "logs"), "-i", str(SAMPLE / "incident.toml"))
    out = ("-o", str(scratch / "report"), "--force")
    return [
        measure.command("`forensics --help`", ("--help",), runs),
        measure.command("`forensics report` of the sample", (*report, *out), runs),
    ]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
