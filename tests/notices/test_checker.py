"""The customer's checker on logs as they come: a plain word and a code, never a traceback."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from forensics.notices import check_my_logs

IDS = ["req-1", "req-2"]


@pytest.fixture(autouse=True)
def packet(tmp_path, monkeypatch) -> Path:
    """The files of a packet that the checker reads, beside it."""
    folder = tmp_path / "packet"
    folder.mkdir()
    files = {
        "facts.json": json.dumps({"notice": "t-0"}),
        "requests.jsonl": "".join(json.dumps({"request_id": one}) + "\n" for one in IDS),
    }
    sums = ""
    for name, text in files.items():
        (folder / name).write_text(text)
        sums += f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
    (folder / "SHA256SUMS").write_text(sums)
    monkeypatch.setattr(check_my_logs, "HERE", folder)
    return folder


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "CANARY-log.csv"
    path.write_text("request_id\n" + "\n".join(IDS) + "\n")
    return path


def check(*arguments: object) -> int:
    return check_my_logs.main([str(one) for one in arguments])


def damaged(how: str) -> bytes:
    whole = gzip.compress("".join(f"request_id\nreq-{at}\n" for at in range(2000)).encode())
    middle = len(whole) // 2
    if how == "cut":
        return whole[:middle]
    if how == "other bytes":
        return whole[:middle] + bytes(40) + whole[middle + 40 :]
    if how == "other sum":
        return whole[:-8] + bytes(8)
    return whole[:10] + b"\xff" * 40


@pytest.mark.parametrize("how", ["cut", "other bytes", "other sum", "no blocks"])
def test_a_damaged_gz_is_said_and_is_not_usable(how, tmp_path, capsys):
    path = tmp_path / "CANARY-log.csv.gz"
    path.write_bytes(damaged(how))
    assert check(path) == 2
    out, err = capsys.readouterr()
    assert "a log cannot be read" in err
    assert "CANARY" not in out + err


@pytest.mark.parametrize("place", ["there.txt", "no/such/found.txt", "."])
def test_a_file_for_the_ids_that_cannot_be_made_is_said(place, log, tmp_path, capsys):
    (tmp_path / "there.txt").write_text("kept")
    assert check(log, "--found", tmp_path / place) == 2
    assert "cannot be made" in capsys.readouterr().err
    assert (tmp_path / "there.txt").read_text() == "kept"


def test_what_fails_while_it_is_written_is_said(log, tmp_path, capsys, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(check_my_logs, "keep", full)
    assert check(log, "--found", tmp_path / "found.txt") == 2
    assert "cannot be made (OSError)" in capsys.readouterr().err


def test_a_log_without_ids_beside_one_with_them_is_told_of(log, tmp_path, capsys):
    other = tmp_path / "CANARY-other.csv"
    other.write_text("rid\nreq-2\n")
    assert check(log, other) == 0
    out, err = capsys.readouterr()
    assert "log 2 of 2: no record has a request id" in err
    assert json.loads(out)["logs"]["files_without_id"] == 1
    assert "CANARY" not in out + err


def test_all_logs_with_ids_leave_nothing_to_say(log, capsys):
    assert check(log, log) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["logs"]["files_without_id"] == 0
