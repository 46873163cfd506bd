"""Following what is named as a file: tables that grow, and a file that is gone for a moment."""

import json
from pathlib import Path

import pytest

from forensics.errors import NoInputError
from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

HEAD = "request_id,tenant_id,received_at,reserved_pages,transferred_pages,completion_tokens\n"


def row(number: int) -> str:
    return f"r{number},a,2026-09-01T10:0{number}:00Z,8,1,20\n"


def begin(tmp_path: Path, log: Path, state: Path | None = None) -> Watch:
    scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
    scratch.mkdir()
    output = Output(tmp_path / "found.ndjson", ())
    return Watch([str(log)], Incident(), scratch, output, state, Asked(settle=3600))


def found(tmp_path: Path) -> list[str]:
    told = map(json.loads, (tmp_path / "found.ndjson").read_text().splitlines())
    return [line["request_id"] for line in told if line["event"] == "finding"]


@pytest.mark.parametrize("again", [False, True], ids=["one run", "a run for each piece"])
def test_rows_that_are_added_to_a_table_are_under_its_header(tmp_path: Path, again: bool) -> None:
    log, state = tmp_path / "requests.csv", tmp_path / "state"
    log.write_text(HEAD + row(0))
    watch = begin(tmp_path, log, state)
    for number in range(1, 5):
        watch.step()
        if again:
            watch.close()
            watch = begin(tmp_path, log, state)
        with log.open("a") as file:
            file.write(row(number))
    watch.step(last=True)
    watch.close()
    assert found(tmp_path) == [f"r{number}" for number in range(5)]


def test_a_file_that_was_moved_aside_may_be_gone_for_a_moment(tmp_path: Path) -> None:
    log = tmp_path / "requests.ndjson"
    record = {"request_id": "r0", "received_at": "2026-09-01T10:00:00Z", "completion_tokens": 2}
    record |= {"reserved_pages": 8, "transferred_pages": 1}
    log.write_text(json.dumps(record) + "\n")
    watch = begin(tmp_path, log)
    watch.step()
    log.rename(tmp_path / "requests.ndjson.1")
    watch.step()
    log.write_text(json.dumps(record | {"request_id": "r1"}) + "\n")
    watch.step()
    watch.step(last=True)
    watch.close()
    assert sorted(found(tmp_path)) == ["r0", "r1"]


def test_a_log_that_was_never_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoInputError):
        begin(tmp_path, tmp_path / "none.ndjson").step()


@pytest.mark.parametrize(
    ("end", "left"), [("my notes", "my notes\n"), ('{"event": "fin', ""), ('{"ev', "")]
)
def test_a_last_line_of_somebody_else_stays_in_the_file(
    tmp_path: Path, end: str, left: str
) -> None:
    path = tmp_path / "found.ndjson"
    path.write_text("other\n" + end)
    Output(path, ())
    assert path.read_text() == "other\n" + left
