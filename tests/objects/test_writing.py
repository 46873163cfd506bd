"""An evidence set in object storage is what it would be on disk, and is gone on with there."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.cli import run
from forensics.errors import Exit
from forensics.objects import store
from forensics.triage import scope as triage

ROW = '{{"request_id": "r-{0}", "received_at": "2026-02-03T04:05:{0:02}Z", "prompt_tokens": {0}}}\n'


def write(path: Path, *numbers: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(ROW.format(number) for number in numbers), encoding="utf-8")
    return path


def ingest(*asked: object) -> int:
    return run(["ingest", *map(str, asked), "-q"])


def held(folder: Path) -> dict[str, bytes]:
    left = ("manifest.json", "SHA256SUMS")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in left
    }


def test_a_set_is_made_there_and_gone_on_with(bucket: Any, tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.ndjson", 1, 2), write(tmp_path / "b.ndjson", 3)
    address, here = "s3://incident/made/set", tmp_path / "here"
    for log in (first, second):
        assert ingest(log, "-o", address) == ingest(log, "-o", here) == Exit.COMPLETE
    assert bucket.get("made/set") == held(here)
    assert run(["verify", address]) == Exit.COMPLETE


def test_what_names_the_others_is_written_behind_them(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, sent = [], store.write

    def noted(key: str, data: bytes) -> int:
        written.append(key.removeprefix("incident/order/set/").split("/")[0])
        return sent(key, data)

    monkeypatch.setattr(store, "write", noted)
    assert ingest(write(tmp_path / "a.ndjson", 1), "-o", "s3://incident/order/set") == Exit.COMPLETE
    rows = written.count("observations") + written.count("states")
    assert set(written[:rows]) <= {"observations", "states"}
    assert written[rows:] == ["inputs", "SHA256SUMS", "manifest.json"]


def test_what_a_log_has_outgrown_is_removed(bucket: Any, tmp_path: Path) -> None:
    log, address = write(tmp_path / "a.ndjson", 1, 2), "s3://incident/grown/set"
    assert ingest(log, "-o", address) == Exit.COMPLETE
    before = bucket.get("grown/set")
    write(log, 1, 2, 3)
    assert ingest(log, "-o", address) == Exit.COMPLETE
    after = bucket.get("grown/set")
    assert not before.keys() & after.keys()
    assert run(["verify", address]) == Exit.COMPLETE


def test_what_is_no_set_is_not_replaced(bucket: Any, tmp_path: Path) -> None:
    log = write(tmp_path / "a.ndjson", 1)
    bucket.put("other/notes.txt", b"kept")
    assert ingest(log, "-o", "s3://incident/other") == Exit.OUTPUT_EXISTS
    assert bucket.get("other") == {"notes.txt": b"kept"}
    assert ingest(log, "-o", "s3://incident/other", "--force") == Exit.OUTPUT_EXISTS
    assert bucket.get("other") == {"notes.txt": b"kept"}


def test_force_replaces_a_set(bucket: Any, tmp_path: Path) -> None:
    for number in (1, 2):
        log = write(tmp_path / f"{number}.ndjson", number)
        assert ingest(log, "-o", "s3://incident/forced", "--force") == Exit.COMPLETE
    assert len(forensics.read_logs("s3://incident/forced").requests) == 1


def test_logs_are_not_replaced_by_the_set_that_is_made_of_them(bucket: Any, tmp_path: Path) -> None:
    log = bucket.put("replaced/logs/a.ndjson", write(tmp_path / "a.ndjson", 1).read_bytes())
    assert ingest(log, "-o", "s3://incident/replaced/logs", "--force") == Exit.USAGE
    assert bucket.get("replaced/logs").keys() == {"a.ndjson"}


def test_a_run_that_fails_leaves_the_set_as_it_was(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "s3://incident/failed/set"
    assert ingest(write(tmp_path / "a.ndjson", 1, 2), "-o", address) == Exit.COMPLETE
    before, sent = bucket.get("failed/set"), store.write

    def until_ledgers(key: str, data: bytes) -> int:
        if "/inputs/" in key:
            raise PermissionError(13, "access denied", key)
        return sent(key, data)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write", until_ledgers)
        assert ingest(write(tmp_path / "b.ndjson", 3), "-o", address) == Exit.USAGE
    assert before.items() <= bucket.get("failed/set").items()
    assert run(["scope", address, "-q"]) in (Exit.COMPLETE, Exit.INCOMPLETE)


def test_a_bucket_that_is_not_there_is_named(
    bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "a.ndjson", 1)
    assert ingest(log, "-o", "s3://no-such-bucket/set") == Exit.USAGE
    assert "s3://no-such-bucket/set: cannot be read (no such bucket)" in capsys.readouterr().err


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("states", [True, False])
def test_a_triage_finds_the_same_there(
    bucket: Any, tmp_path: Path, times: bool, states: bool
) -> None:
    here = whole_requests(tmp_path)
    if not states:
        shutil.rmtree(here / "states")
    there = bucket.put_folder(here, f"triaged/{times}-{states}")
    found = [triaged(place, times=times) for place in (str(here), there)]
    assert found[0].affected.height == 1
    assert found[0].affected.equals(found[1].affected)
    assert found[0].sentence == found[1].sentence
    assert len(found[0].unused) == len(found[1].unused)


def triaged(place: str, *, times: bool) -> triage.Scope:
    asked = triage.asked(place)
    assert isinstance(asked, triage.Asked), asked
    found = triage.scope(asked, workers=1, times=times)
    assert isinstance(found, triage.Scope), found
    return found


def whole_requests(folder: Path) -> Path:
    """A set of requests that each log tells whole; of one, pages are missing."""
    log = folder / "requests.ndjson"
    made = [
        {
            "request_id": f"r-{n}", "tenant_id": "t", "received_at": f"2026-02-03T04:05:{n:02}Z",
            "prefill_node": "prefill-1", "decode_node": "decode-1", "prompt_tokens": 640 + n,
            "prefill_ms": 70.0 + n, "reserved_pages": 11, "completion_tokens": 5,
            "transferred_pages": 1 if n == 7 else 11, "http_status": 200,
        }
        for n in range(60)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    assert ingest(log, "-o", folder / "set") == Exit.COMPLETE
    return folder / "set"
