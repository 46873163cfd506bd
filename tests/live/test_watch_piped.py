"""Standard input over restarts: what was read is kept, what was on its way is named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch


def line(name: str) -> bytes:
    row = {"hop": "decode", "request_id": name, "received_at": "2026-09-01T10:00:00Z",
           "reserved_pages": 8, "transferred_pages": 1, "completion_tokens": 20}  # fmt: skip
    return json.dumps(row).encode() + b"\n"


@pytest.fixture
def fed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, Any]]]:
    """Let a watch read some bytes, with their end or without; return what was told so far."""
    out = tmp_path / "found"

    def feed(data: bytes, *, ended: bool) -> list[tuple[str, Any]]:
        out_of, into = os.pipe()
        os.write(into, data)
        if ended:
            os.close(into)
        (scratch := tmp_path / f"scratch-{into}-{len(list(tmp_path.iterdir()))}").mkdir()
        with os.fdopen(out_of, "r") as pipe, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", pipe)
            state, asked = tmp_path / "state", Asked(settle=3600)
            watch = Watch(["-"], Incident(), scratch, Output(out, ()), state, asked)
            watch.step(last=ended)
            watch.close()
        if not ended:
            os.close(into)
        rows = map(json.loads, out.read_text().splitlines() if out.exists() else ())
        return [(row["event"], row.get("request_id") or row["certain"]) for row in rows]

    return feed


def test_what_was_read_before_a_kill_is_told_after_it_and_the_rest_is_named(fed):
    assert fed(line("r1"), ended=False) == []
    told = fed(line("r2"), ended=True)
    assert sorted(told) == [("finding", "r1"), ("finding", "r2"), ("lost", False)]


def test_an_input_that_was_read_to_its_end_lacks_nothing(fed):
    fed(line("r1"), ended=True)
    assert fed(line("r2"), ended=True) == [("finding", "r1"), ("finding", "r2")]
