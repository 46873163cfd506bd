"""Files of several formats: read as what most lines say, and the rest read apart or named."""

import json

import pytest

from tests.sources.vllmlines import AT, late

ROW = "request_id,prompt_tokens,received_at,http_status\n"


def plain(count):
    at = {"received_at": "2026-02-03T04:05:06Z", "http_status": 200}
    records = ({"request_id": f"p-{n}", "prompt_tokens": 7 + n} | at for n in range(count))
    return "".join(json.dumps(record) + "\n" for record in records)


def table(count):
    return ROW + "".join(f"p-{n},7,2026-02-03T04:05:06Z,200\n" for n in range(count))


def engine(count):
    return "".join(f"{AT} [async_llm.py:316] Added request e-{n}.\n" for n in range(count))


def ids(seen):
    return sorted(seen.column("request_id"))


@pytest.mark.parametrize("records", [1, 250])
def test_records_ahead_of_a_longer_log_are_read_and_so_is_the_log(read, records):
    seen = read(plain(records) + engine(300), "node-1.log")
    assert seen.facts.format == "plain-ndjson + vllm"
    assert seen.facts.kept == records + 300
    assert not seen.facts.unread


def test_a_few_lines_of_a_log_behind_many_records_are_named(read):
    seen = read(plain(300) + engine(3), "node-1.log")
    assert (seen.facts.format, seen.facts.kept) == ("plain-ndjson", 300)
    assert [one.line for one in seen.facts.unread] == [301, 302, 303]


@pytest.mark.parametrize("rows", [1, 2, 30])
def test_a_table_ahead_of_a_longer_log_is_named_and_the_log_read(read, rows):
    seen = read(table(rows) + engine(80), "node-1.log")
    assert (seen.facts.format, seen.facts.kept) == ("vllm", 80)
    assert [one.line for one in seen.facts.unread] == list(range(1, rows + 2))


def test_a_log_behind_a_longer_table_is_named_and_the_table_read(read):
    seen = read(table(80) + engine(3), "x.csv")
    assert (seen.facts.format, seen.facts.kept) == ("plain-csv", 80)
    assert len(seen.facts.unread) == 3


def test_the_rows_of_a_table_within_a_log_are_unreadable(read):
    log = engine(5) + "Uvicorn, running, on, it\n" + table(3) + "a, b\n" + late("e-9") + "\n"
    seen = read(log, "node-1.log")
    assert [one.line for one in seen.facts.unread] == [7, 8, 9, 10]
    assert seen.facts.ignored == {"other line": 2}
    assert ids(seen) == ["e-0", "e-1", "e-2", "e-3", "e-4", "e-9"]


def test_the_lines_of_a_quoted_cell_say_nothing_of_a_file(read):
    header = "request_id,prompt_tokens,received_at,prompt\n"
    rows = "".join(f'p-{n},7,2026-02-03T04:05:06Z,"\n{engine(20)}"\n' for n in range(4))
    seen = read(header + rows, "x.csv")
    assert (seen.facts.format, ids(seen)) == ("plain-csv", ["p-0", "p-1", "p-2", "p-3"])
    assert not seen.facts.unread
