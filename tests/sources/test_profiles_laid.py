"""Exports in the other layouts that their vendors give: the same requests as in the usual one."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "_data" / "sources" / "profiles"
COLUMNS = ("request_id", "tenant_id", "model", "received_at", "prompt_tokens", "completion_tokens")


def rows_of(name):
    text = (DATA / name).read_text()
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    return [json.loads(line) for line in text.splitlines()]


def table(rows, delimiter=","):
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(names)
    for row in rows:
        cells = (row.get(name) for name in names)
        writer.writerow([json.dumps(x) if isinstance(x, dict | list) else x for x in cells])
    return out.getvalue()


def millis(text):
    return int(datetime.fromisoformat(text).timestamp() * 1_000)


def same(seen, alone):
    assert seen.facts.format == alone.facts.format
    assert (seen.facts.kept, seen.facts.unread) == (alone.facts.kept, [])
    for name in COLUMNS:
        assert sorted(map(str, seen.column(name))) == sorted(map(str, alone.column(name)))


@pytest.mark.parametrize("name", ["portkey.jsonl", "vertex.jsonl"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_an_export_as_a_table_holds_the_same_requests(read, name, delimiter):
    same(
        read(table(rows_of(name), delimiter), "b.csv"), read((DATA / name).read_bytes(), "a.jsonl")
    )


def test_a_frame_of_spans_as_json_has_its_moments_in_milliseconds(read):
    rows = rows_of("phoenix.csv")
    made = [row | {name: millis(row[name]) for name in ("start_time", "end_time")} for row in rows]
    seen = read("\n".join(map(json.dumps, made)), "b.jsonl")
    alone = read((DATA / "phoenix.csv").read_bytes(), "a.csv")
    whole = [at // 1_000 for at in sorted(alone.column("received_at"))]
    assert [at // 1_000 for at in sorted(seen.column("received_at"))] == whole
    assert sorted(seen.column("request_id")) == sorted(alone.column("request_id"))
