"""Requests are the same in however many buckets their records were, and in whatever order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import capacity
from forensics.clock import Clocks
from forensics.folding import fold, slim, spread
from forensics.incident import Incident
from forensics.requests import Requests
from forensics.schema import ENGINE_HOP
from tests.folding.drawn import parts, records

CLOCKS = Clocks.infer(Counter(), "UTC")
ROLES = capacity.build([], CLOCKS, Incident()).epochs
BUCKETS = (2, 7, 64)
DECLARED = """
[[capacity]]
node = "prefill-*"
role = "prefill"
engine = "sglang"
pool_tokens = 4102
page_tokens = 64
context_tokens = 1048576
"""


def folded(rows: list[dict[str, Any]], folder: Path, buckets: int) -> Requests:
    """The requests of some records, which lie in an order and in files of their own."""
    folder.mkdir()
    each = -(-len(rows) // buckets)
    return fold(parts(rows, folder, buckets), CLOCKS, ROLES, folder, named=True, rows=each)


def in_order(frame: pl.DataFrame) -> list[Any]:
    """Rows but for what tells equal records of several files apart."""
    apart = ("observation", "file", "line", "attached", "agreed")
    names = sorted(name for name in frame.columns if name not in apart)
    known = pl.col("request_id").str.replace("^(unnamed:.*):[0-9]+$", "${1}")
    return sorted(frame.with_columns(known).select(names).rows(), key=repr)


def told(found: Requests) -> dict[str, Any]:
    """What later stages are told."""
    return {
        "rows": found.frame.select(sorted(found.frame.columns)).sort("handoff").rows(),
        "records": in_order(found.records.read(found.records.names)),
        "behind": in_order(found.behind(found.frame["handoff"])),
        "logged": in_order(found.logged.read(found.logged.names)),
        "within": found.within.to_list(),
        "unsure": sorted(found.unsure),
        "orphans": found.orphans.to_list(),
        "probes": sum(found.probes.values()),
        "doubled": found.doubled.height,
        "clocks": found.clock_pairs.rows(),
        "unpaired": (found.unpaired, found.stood_for),
    }


@pytest.mark.parametrize("seed", range(5))
def test_buckets_and_order_make_no_difference(seed: int, tmp_path: Path) -> None:
    rows = records(seed)
    one = told(folded(rows, tmp_path / "1", 1))
    for buckets in BUCKETS:
        assert told(folded(rows, tmp_path / f"{buckets}", buckets)) == one


def test_what_shares_an_identifier_lies_in_one_bucket(tmp_path: Path) -> None:
    """Over others, however they are spelt; and what has none lies in one."""
    rows = records(1)
    held = spread.spread(parts(rows, tmp_path, 1), tmp_path, 3)
    assert len(held) > 10
    assert sum(one.rows for one in held) == len(rows)
    frames = [pl.concat([pl.read_parquet(p) for p in one.parts]) for one in held]
    where: dict[str, set[int]] = {}
    for at, frame in enumerate(frames):
        for name in ("request_id", "transfer_id"):
            for text in frame[name].drop_nulls():
                where.setdefault(f"{name}:{text.replace('-', '')}", set()).add(at)
        if frame.select(
            pl.all_horizontal(pl.col("request_id", "transfer_id").is_null()).any()
        ).item():
            where.setdefault("none", set()).add(at)
    assert {len(buckets) for buckets in where.values()} == {1}


def test_records_of_an_unknown_side_stay_together(tmp_path: Path) -> None:
    """All records of a server tell its side."""
    rows = records(2)
    rows[0] = {**rows[0], "hop": ENGINE_HOP}
    assert len(spread.spread(parts(rows, tmp_path, 1), tmp_path, 3)) == 1


def test_a_stage_that_asks_for_what_was_not_kept_is_told_its_name(tmp_path: Path) -> None:
    """An absent column would be taken for one that no record filled."""
    found = folded(records(1), tmp_path / "1", 2)
    assert found.records.read(["hop", "finished_at"]).height > len(found.frame)
    for asked in (found.records, found.logged):
        with pytest.raises(LookupError, match="prompt_tokens"):
            asked.read(["hop", "prompt_tokens"])
    assert not found.records.when(wanted=False).read(["hop"]).height


@pytest.mark.parametrize("change", ["buckets", "columns"])
def test_a_report_is_the_same(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In however many buckets; and where later stages could ask records for every column."""
    log, asked = tmp_path / "log.parquet", tmp_path / "incident.toml"
    times = pl.col("received_at", "finished_at", "reserved_at").cast(pl.Datetime("us", "UTC"))
    (part,) = parts(records(3), tmp_path, 1, files=1)
    pl.read_parquet(part).with_columns(times).write_parquet(log)
    asked.write_text(DECLARED, encoding="utf-8")
    case = forensics.read_logs(log, incident=asked)
    assert case.affected.polars().height
    case.report(tmp_path / "one")
    if change == "buckets":
        monkeypatch.setattr(spread, "ROWS", 5)
    else:
        monkeypatch.setattr(slim, "ASKED", (*slim.NUMBERED.dtypes,))
        monkeypatch.setattr(slim, "without_empty", lambda rows: rows)
    forensics.read_logs(log, incident=asked).report(tmp_path / "other")
    own = ("manifest.json", "SHA256SUMS")
    for path in (tmp_path / "one").iterdir():
        if path.name not in own:
            assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes(), path.name
