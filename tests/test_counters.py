"""What servers count of their requests, read from scrapes, beside the records of their logs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.clock import Clocks
from forensics.coverage.counters import measure, short

MINUTE = 60_000_000
START = 1_788_220_800_000  # 2026-09-01T00:00:00Z, milliseconds


def scrape(minute: int, streamed: int, other: int) -> str:
    """One scrape: the counter split by a label, and a gauge, each with its time."""
    at = START + minute * 60_000
    labels = '{engine_type="decode",is_streaming="%s",model_name="CANARY-NAME"}'
    return (
        "# TYPE sglang:num_requests_total counter\n"
        f"sglang:num_requests_total{labels % 'true'} {streamed}.0 {at}\n"
        f"sglang:num_requests_total{labels % 'false'} {other}.0 {at}\n"
        f"sglang:max_total_num_tokens{labels % 'true'} 4096.0 {at}\n"
    )


def record(minute: int) -> dict[str, Any]:
    return {
        "hop": "decode",
        "request_id": f"r{minute}",
        "decode_node": "d1/dp2",
        "received_at": f"2026-09-01T00:{minute:02}:30Z",
        "completion_tokens": 2,
    }


def read(folder: Path, scrapes: dict[str, str], records: list[dict[str, Any]]) -> forensics.Case:
    for name, text in scrapes.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "records.ndjson").write_text("".join(json.dumps(row) + "\n" for row in records))
    asked = folder.with_suffix(".toml")
    asked.write_text("[logs]\nnode_from = '(?P<node>[^/]+)/[0-9].prom'\n")
    return forensics.read_logs(folder, incident=asked)


SCRAPES = [scrape(0, 40, 5), scrape(10, 46, 6), scrape(20, 50, 8)]


@pytest.mark.parametrize("files", [1, 3])
def test_scrapes_of_one_file_or_of_several_are_held_against_the_records(
    tmp_path: Path, files: int
) -> None:
    texts = {"d1/0.prom": "".join(SCRAPES)}
    if files > 1:
        texts = {f"d1/{number}.prom": text for number, text in enumerate(SCRAPES)}
    case = read(tmp_path, texts, [record(minute) for minute in (0, 2, 4, 12, 19, 21)])
    document = case.exposure()
    (row,) = document.counters
    assert (row.node, row.scrapes, row.counted, row.logged) == ("d1", 3, 13, 5)
    assert (row.first_at, row.last_at) == (
        "2026-09-01T00:00:00.000000Z",
        "2026-09-01T00:20:00.000000Z",
    )
    assert "8 requests that servers counted and their logs lack" in document.headline.incomplete
    assert document.headline.bound.high == 6 + 8
    assert "the 8 that servers counted" in document.headline.bound.sentence
    assert "counted_not_logged" in {limit.code for limit in document.limitations}
    assert set(case.requests.polars()["tier"]) == {"not_assessable"}
    assert case.coverage.polars()["records"].sum() == 6


def test_counters_without_times_say_nothing_and_are_counted_as_such(tmp_path: Path) -> None:
    plain = "\n".join(line.rsplit(" ", 1)[0] for line in SCRAPES[0].splitlines()[1:]) + "\n"
    case = read(tmp_path, {"d1/0.prom": plain}, [record(0)])
    document = case.exposure()
    assert document.counters == []
    (metrics,) = [form for form in document.read if form.ignored.get(UNTIMED)]
    assert (metrics.ignored[UNTIMED], metrics.kept) == (2, 1)


UNTIMED = "counter of a scrape without a time"


def frame(rows: list[tuple[int, int]]) -> pl.DataFrame:
    columns = {"at": [at for at, _ in rows], "finished": [number for _, number in rows]}
    return pl.DataFrame(columns).with_columns(
        node=pl.lit("d1"), naive=pl.lit(value=False), source_node=pl.lit("d1")
    )


def test_a_counter_that_fell_goes_on_from_zero() -> None:
    none = pl.DataFrame(schema={"hop": pl.String, "received_at": pl.Int64})
    scrapes = frame([(0, 100), (MINUTE, 130), (2 * MINUTE, 4), (3 * MINUTE, 9)])
    found = measure([scrapes[2:], scrapes[:3]], Clocks.infer({}, "UTC", None), none, none)
    assert found.select("scrapes", "counted", "logged").rows() == [(4, 39, 0)]
    assert short(found) == 39


def test_probes_are_counted_by_servers_and_one_scrape_says_nothing() -> None:
    clocks = Clocks.infer({}, "UTC", None)
    seen = pl.DataFrame({"hop": ["decode"] * 3, "decode_node": ["d1/dp0"] * 3})
    seen = seen.with_columns(received_at=pl.Series([1, 2, 3]), handoff=pl.Series([1, 1, 2]))
    scrapes = frame([(0, 0), (MINUTE, 3)])
    found = measure([scrapes], clocks, seen, seen.drop("handoff").head(1))
    assert found["logged"].to_list() == [3]
    assert short(found) == 0
    assert not measure([scrapes[:1]], clocks, seen, seen.clear()).height
