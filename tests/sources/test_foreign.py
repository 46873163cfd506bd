"""Lines of another format in a log are found wherever they stand, or counted as unread."""

import json
from pathlib import Path

import polars as pl
import pytest

from forensics.incident import Incident
from forensics.sources import foreign, telltale
from forensics.sources.context import Context
from forensics.sources.foreign import Foreign

DATA = Path(__file__).parents[1] / "_data" / "sources"
LOGS = [
    *sorted(path for path in (DATA / "other").glob("*.*") if path.stem not in ("README", "truth")),
    *sorted((DATA / "profiles").glob("*.[cj]s*")),
    *sorted((DATA / "sglang_json").glob("*.*")),
    *(DATA / name for name in ("sglang.log", "vllm.log", "plain.ndjson", "plain.csv")),
]
RECORD = "at=04:05:06 request_id=over_one tenant_id=t prompt_tokens=60000"
JSON = '{"request_id": "over-1", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 60000}'


def told(look: Foreign, *lines: str) -> list[int | None]:
    return [one.line for one in look(pl.Series(lines), pl.Series(range(1, len(lines) + 1)))]


@pytest.fixture
def look() -> Foreign:
    return Foreign("sglang", Context(Incident(), 0, "node.log"))


@pytest.mark.few(15)
@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_of_lines_without_a_telling_word_no_reader_takes_anything(read, log):
    words = [word.encode() for word in telltale.words(Incident())]
    lines = log.read_bytes().split(b"\n")
    left = [line for line in lines if not any(word in line for word in words)]
    assert left != lines
    told_by_header = log.suffix in (".csv", ".json")
    names = read(log.read_bytes(), log.name).facts.format.split(" + ")
    for form in [None] if told_by_header else names:
        seen = read(b"\n".join(left), log.name, form=form)
        assert seen.rows.is_empty()
        assert not seen.reading.capacity


def test_a_record_behind_many_lines_of_its_shape_is_found(look):
    other = "at=04:05:06 subject_no=request_id owner_no=t prompt_size=60000"
    quiet = [told(look, *[other] * 300) for _ in range(9)]
    assert not any(quiet)
    assert told(look, other, RECORD) == [2]


SPREAD = json.dumps([json.loads(JSON)], indent=2).split("\n")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["x", *SPREAD, "y"], [2]),
        (["{", '"a": 1', "}", *SPREAD], [4]),
        (SPREAD[1:-1], [1]),
        (SPREAD[:-1], [1]),
        (["{", '"a": 1', "}"], []),
    ],
)
def test_a_record_that_is_spread_over_lines_is_unread(look, lines, found):
    assert told(look, *lines) == found


def test_the_header_of_a_table_is_unread_whatever_its_columns_are_called(look):
    header = (DATA / "other" / "rank_0_send.csv").read_text().split("\n", 1)[0]
    assert told(look, header) == [1]


def test_one_of_more_kinds_than_are_looked_at_is_unread(look, monkeypatch):
    monkeypatch.setattr(foreign, "_MOST", 2)
    lines = [f"at=04:05:06 marker{'=' * at} x" for at in range(2, 5)]
    assert told(look, *lines) == [3]
    assert told(look, RECORD) == [1]


def test_a_record_behind_many_rows_that_look_like_one_is_unread(read):
    row = '{"a": 1,2,3'
    seen = read("request_id,received_at,tenant_id\n" + f"{row}\n" * 60 + JSON + "\n", "rows.csv")
    assert [one.line for one in seen.facts.unread if "another format" in one.reason] == [62]
