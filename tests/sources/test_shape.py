"""A file nobody knows is told by the shape of its first lines, which holds nothing of them."""

import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.cli import run
from forensics.sources.shape import LONGEST, MOST_LINES, NEXT_LINE, SHAPE, shape

CANARY = "CANARY-3d5a"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("2026-08-27 10:00:00 INFO started", "0+-0+-0+ 0+:0+:0+ a+"),
        ("level=info msg=done", "a+=a+ a+=a+"),
        ('{"ts": 1.5, "Kind": "x"}', '{"a+": 0+.0+, "Aa+": "a+"}'),
        ("a\tb\tc", "a+→a+→a+"),
        ("größe 日本", "a+¤a+ ¤"),
        ("-----=====", "-="),
    ],
)
def test_it_tells_what_stands_where(line, wanted):
    assert shape(line.encode()) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sk-aB3dE5f6G7", "sk-zZ9yY8x7W6v5U4t3"),
        ("pin 1234", "pin 123456789"),
        ("Dear doctor, it hurts", "Dear old doctor from the town, it really hurts a lot"),
        ("x", "xxxxxxxxxxxx"),
        ("password=hunter", "password=correcthorse"),
    ],
)
def test_neither_length_nor_number_of_words_can_be_seen(one, other):
    assert shape(one.encode()) == shape(other.encode())


@given(st.binary(max_size=2_000))
def test_no_shape_holds_a_word_a_number_or_much(data):
    found = shape(data)
    assert re.fullmatch(SHAPE, found)
    assert not set(re.findall("[A-Za-z0-9]+", found)) - {"a", "A", "Aa", "a0", "0"}
    assert len(found) <= MOST_LINES * LONGEST + (MOST_LINES - 1) * len(NEXT_LINE)


def test_a_text_with_words_is_none():
    for text in ("hello", "a", "0", "ab+", "a+ secret", "a0+b+", "x+"):
        assert not re.fullmatch(SHAPE, text), text


def test_binary_data_have_none():
    assert shape(b"abc\0def\n") == ""


@pytest.fixture
def unknown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("odd.log").write_text(f"{CANARY} went ({CANARY}): 17\n" * 9)
    return tmp_path


def test_a_run_that_knows_no_file_says_what_they_look_like(unknown, capsys):
    assert run(["report", "odd.log", "-o", "out", "-q"]) == 4
    printed = capsys.readouterr().err
    assert (
        "odd.log: no known format, its lines look like: A+-0+a+" in printed
        or "A+-a0+ a+" in printed
    )
    assert "forensics formats" in printed
    assert CANARY not in printed


def test_reports_sets_and_checks_show_it(unknown, capsys):
    row = {"request_id": "r", "hop": "decode", "received_at": "2026-02-03T04:05:06Z"}
    Path("good.ndjson").write_text(json.dumps(row | {"http_status": 200}) + "\n")
    run(["report", "odd.log", "good.ndjson", "-o", "raw", "-q"])
    run(["ingest", "odd.log", "good.ndjson", "-o", "set", "-q"])
    run(["report", "set", "-o", "again", "-q"])
    run(["check", "odd.log", "good.ndjson"])
    wanted = shape(Path("odd.log").read_bytes())
    assert wanted in capsys.readouterr().out
    for folder in ("raw", "again"):
        with Path(folder, "unreadable.csv").open() as file:
            (line,) = csv.DictReader(file)
        assert (line["reason"], line["shape"]) == ("no known format", wanted)
    for path in (path for path in Path().rglob("*") if path.is_file() and path.name != "odd.log"):
        assert CANARY.encode() not in path.read_bytes(), path


def test_how_sure_a_format_is(unknown):
    Path("a.csv").write_text("request_id,received_at,http_status\nr,2026-02-03T04:05:06Z,200\n")
    Path("b.prom").write_text(
        'sglang:max_total_num_tokens{engine_type="prefill"} 40960 1770000000\n'
    )
    run(["report", "a.csv", "b.prom", "-o", "out", "-q"])
    told = {
        i["name"]: i["detected_by"]
        for i in json.loads(Path("out/manifest.json").read_text())["inputs"]
    }
    assert told["a.csv"].startswith("likely: ")
    assert told["b.prom"].startswith("certain: ")
