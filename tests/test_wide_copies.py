"""Of all requests no stage copies all columns: that would be as much memory as is held of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import analysis

COPYING = ("filter", "join", "sort", "gather", "unique", "drop_nulls", "gather_every", "explode")
WIDE = 30
SAMPLE = Path(__file__).parents[1] / "data" / "samples" / "glm53"


def test_no_stage_after_folding_copies_all_columns_of_most_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    found: set[str] = set()

    def fold(*given: Any, **named: Any) -> Any:
        folded = _fold(*given, **named)
        rows.append(folded.frame.height)
        return folded

    def watched(own: Callable[..., Any]) -> Callable[..., Any]:
        def copied(frame: pl.DataFrame, *given: Any, **named: Any) -> Any:
            made = own(frame, *given, **named)
            if rows and made.height > rows[0] // 2 and made.width > WIDE:
                found.add(traceback.format_stack(limit=2)[0].strip())
            return made

        return copied

    _fold = analysis.fold
    monkeypatch.setattr(analysis, "fold", fold)
    for name in COPYING:
        monkeypatch.setattr(pl.DataFrame, name, watched(getattr(pl.DataFrame, name)))
    case = forensics.read_logs(SAMPLE / "logs", incident=SAMPLE / "incident.toml")
    case.report(tmp_path / "report")
    assert rows[0] > 10_000
    assert not found, "\n".join(sorted(found))
