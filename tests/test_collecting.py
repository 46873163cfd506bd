"""Rows are collected where a runner calls the work, but for what is named here with its reason."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.runners.work import Safely
from forensics.sources import reread
from forensics.triage import scope as triage

PACKAGE = Path(forensics.__file__).parent
IN_SHARDS = {
    "skew.py",
    "sources/reread.py",
    "sources/textlines.py",
    "sources/values.py",
    "triage/counts.py",
    "triage/shards.py",
    "warmups.py",
}
"""Called by a runner, for one shard."""
WHOLE = "what was read is dated, and requests are judged, in one process"
ELSEWHERE = {
    "anyframe.py": "frames that a user hands in",
    "attribution/coresidency.py": WHOLE,
    "continuity.py": WHOLE,
    "coverage/unread.py": WHOLE,
    "evidence/linereread.py": "one line of a file is read again, to explain it",
    "live/watch/ring.py": "a watch holds minutes of records",
    "live/watch/rows.py": "a watch holds minutes of records",
    "years.py": WHOLE,
}


def collects(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that collect a lazy frame: not those of our own functions of that name."""
    own = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("forensics")
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            ours = isinstance(of, ast.Name) and of.id in own
            if name.startswith(("collect", "sink_")) and name != "collect_schema" and not ours:
                yield node


def test_what_collects_is_named_with_its_reason() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(collects(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == IN_SHARDS | ELSEWHERE.keys()


def stack() -> Iterator[Any]:
    """The frames above the caller's."""
    frame = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Functions of shards that collected where no runner had called them."""
    met: list[str] = []
    collect = pl.LazyFrame.collect

    def watched(frame: pl.LazyFrame, *asked: Any, **options: Any) -> Any:
        frames = list(stack())
        name = Path(frames[0].f_code.co_filename)
        if name.is_relative_to(PACKAGE) and name.relative_to(PACKAGE).as_posix() in IN_SHARDS:
            codes = {one.f_code for one in frames}
            # Rows of capacity are few, and asked for before there is a shard.
            if Safely.__call__.__code__ not in codes and reread.small.__code__ not in codes:
                met.append(f"{name.name}:{frames[0].f_lineno}")
        return collect(frame, *asked, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    return met


def test_shards_are_worked_at_where_a_runner_calls(outside: list[str], tmp_path: Path) -> None:
    log = tmp_path / "a.ndjson"
    row = '{{"request_id": "r-{0}", "received_at": "2026-02-03T04:05:{0:02}Z", "prompt_tokens": 9}}'
    log.write_text("\n".join(row.format(number) for number in range(50)), encoding="utf-8")
    assert run(["ingest", str(log), "-o", str(tmp_path / "set"), "-q"]) == 0
    asked = triage.asked(tmp_path / "set")
    assert isinstance(asked, triage.Asked)
    assert isinstance(triage.scope(asked), triage.Scope)
    forensics.read_logs(log)
    forensics.read_logs(tmp_path / "set")
    assert outside == []
