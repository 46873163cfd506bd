"""A compressed log that breaks off at its end gives all that stands before."""

import gzip
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "_data" / "sources"
KINDS = {".log", ".csv", ".json", ".jsonl", ".ndjson", ".prom"}
FILES = sorted(path for path in DATA.rglob("*") if path.suffix in KINDS)


@pytest.mark.few(12)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_that_came_through_is_lost(path, read):
    data = path.read_bytes()
    whole = read(data, f"whole/{path.name}").facts
    cut = read(gzip.compress(data)[:-4], f"cut/{path.name}").facts
    assert cut.kept == whole.kept
    assert cut.ignored == whole.ignored
    assert [one.reason for one in cut.unread[len(whole.unread) :]] == ["compressed data ends early"]


def test_parts_of_a_line_that_waited_for_the_rest_are_counted(read):
    record = b'{"request_id": "r", "http_status": 200, "received_at": "2026-08-27T03:14:06Z"}'
    data = b"2026-08-27T03:14:06.1Z stdout %s %s\n"
    lines = data % (b"F", record) + data % (b"P", record[:20]) * 3
    seen = read(gzip.compress(lines)[:-4], "node-1.log").facts
    assert {one.reason for one in seen.unread} == {
        "line whose last part is missing",
        "compressed data ends early",
    }
    assert (seen.read, seen.kept) == (5, 1)
