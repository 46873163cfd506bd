"""Where a file, or the rest of one, was not read, there is no highest number, anywhere."""

import csv
import gzip
import json
import zlib
from pathlib import Path

import msgspec
import pytest

import forensics
from forensics.cli import run
from tests.bounds.test_in_report import ROWS

LINES = [json.dumps(row).encode() + b"\n" for row in ROWS]
LOG = b"".join(LINES)
LISTED, SPREAD = json.dumps(ROWS), json.dumps(ROWS, indent=1)
"""Of the fifteen rows three are short."""
CUT = gzip.compress(LOG)[:-60]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(99)


def bound(tmp_path: Path, *files: tuple[str, bytes]) -> tuple[int, int | None, str]:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, data in files:
        (logs / name).write_bytes(data)
    found = forensics.read_logs(logs).exposure().headline.bound
    return found.low, found.high, found.sentence


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("day1.gpg", b"\x85\x01\0" + zlib.compress(LOG)),
        ("app.log", b"2026-09-01 served somebody\n" * 9),
        ("cut.ndjson.gz", CUT),
    ],
)
def test_what_may_hold_any_number_leaves_no_highest_one(tmp_path, name, data):
    low, high, sentence = bound(tmp_path, ("a.ndjson", LOG), (name, data))
    assert (low, high) == (3, None)
    assert "1 file could not be read, or not as a whole, and may hold any number" in sentence
    assert "Between" not in sentence


@pytest.mark.parametrize(
    ("name", "data"), [("core.1", b"\x7fELF\2\1\1" + bytes(99)), ("a.png", PNG), ("b.log", b"")]
)
def test_what_is_known_to_be_no_log_changes_no_bound(tmp_path, name, data):
    low, high, sentence = bound(tmp_path, ("a.ndjson", LOG), (name, data))
    assert (low, high) == (3, 3)
    assert "3 responses at the least and at the most" in sentence


@pytest.mark.parametrize(
    ("data", "read", "affected"),
    [
        (LISTED + LISTED.replace(': "r', ': "s'), 30, (6, 6)),
        (
            json.dumps(ROWS, indent=1) + json.dumps(ROWS, indent=1).replace(': "r', ': "s'),
            30,
            (6, 6),
        ),
        # From the damaged entry on it cannot be told what is an object of the list.
        (LISTED.replace('"r10", ', '"r10" '), 15, (1, 1 + 7)),
        (LINES[0].decode() + LISTED, 16, (1, 1 + 15)),
        ("[" + LISTED[1:-1] + "\n", 16, (3, 4)),
    ],
)
def test_lists_that_are_glued_or_damaged_count_what_they_may_hold(tmp_path, data, read, affected):
    log = tmp_path / "log.json"
    log.write_text(data)
    document = forensics.read_logs(log).exposure()
    assert sum(one.read for one in document.read) == read
    assert (document.headline.bound.low, document.headline.bound.high) == affected


def test_no_page_of_a_report_or_notice_has_a_highest_number(tmp_path):
    logs, out, notices = (tmp_path / name for name in ("logs", "out", "notices"))
    logs.mkdir()
    (logs / "a.ndjson").write_bytes(LOG)
    (logs / "b.ndjson.gz").write_bytes(CUT)
    assert run(["report", str(logs), "-o", str(out)]) == 3
    assert run(["verify", str(out)]) == 0
    stated = msgspec.json.decode((out / "report.json").read_bytes())["headline"]["bound"]
    assert (stated["low"], stated["high"]) == (3, None)
    assert "at least 3" in (out / "report.html").read_text()
    assert r"at least 3 \(arithmetic\)" in (out / "report.md").read_text()
    with (out / "notifications.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert {row["bound_high"] for row in rows} == {""}
    assert run(["notify", str(out), "-o", str(notices)]) in (0, 3)
    letters = [page.read_text() for page in notices.glob("packets/*/notice.md")]
    assert letters
    for letter in letters:
        assert "There is no upper number" in letter
        assert "are the same" not in letter
    public = msgspec.json.decode((notices / "public_summary.json").read_bytes())
    assert public["bound"] is None or public["bound"]["high"] is None


def test_none_found_beside_an_unread_file_does_not_reassure(tmp_path):
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    (logs / "a.ndjson").write_bytes(LINES[-1])
    (logs / "b.gpg").write_bytes(b"\x85\x01\0" + zlib.compress(LOG))
    assert run(["report", str(logs), "-o", str(out)]) == 3
    assert "the bound allows for any number" in (out / "report.html").read_text()


def test_a_log_that_decides_nothing_does_not_say_that_none_was_found(tmp_path):
    log, out = tmp_path / "gateway.ndjson", tmp_path / "out"
    told = [
        {name: row[name] for name in ("request_id", "tenant_id", "received_at", "http_status")}
        for row in ROWS
    ]
    log.write_text("".join(json.dumps(row | {"hop": "gateway"}) + "\n" for row in told))
    assert run(["report", str(log), "-o", str(out)]) == 3
    head = msgspec.json.decode((out / "report.json").read_bytes())["headline"]
    assert head["sentence"].startswith("None of 15 requests could be judged.")
    page = (out / "report.html").read_text()
    assert "None of the requests could be judged." in page
    assert "No affected response was found" not in page
    log.write_text(log.read_text() + LINES[-1].decode().replace("r22", "s1"))
    sentence = forensics.read_logs(log).exposure().headline.sentence
    assert "No affected response was found among 16 requests, 15 of which could not" in sentence
