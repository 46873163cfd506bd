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
    assert "log 1 of 1 cannot be read" in err
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


ROWS = [{"request_id": one, "text": "CANARY-text"} for one in IDS]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = "time,request_id,text\n" + "".join(f"1,{one},CANARY-text\n" for one in IDS)
FORMS = {
    "lines below a heading": "exported by CANARY-tool\n\n" + LINES,
    "lines below a broken one": LINES[5:40] + "\n" + LINES,
    "a cut first line": '{"request_id": "CANAR\n' + LINES,
    "one document": json.dumps(ROWS),
    "one document, a row a line": "[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n",
    "one document over lines": json.dumps({"object": "list", "data": ROWS}, indent=2),
    "one document that holds a list": json.dumps({"object": "list", "data": ROWS}),
    "a table": TABLE,
    "a table below lines": "# CANARY-tool; version 1, all\n\n" + TABLE,
    "semicolons": TABLE.replace(",", ";"),
    "tabs": TABLE.replace(",", "\t"),
    "bars": TABLE.replace(",", " | "),
    "another spelling": TABLE.replace("request_id", "X-Request-ID"),
    "quoted": TABLE.replace("request_id", '"request_id"').replace("req-1", '"req-1"'),
    "other ends of lines": TABLE.replace("\n", "\r\n"),
}
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32"]


@pytest.mark.parametrize("form", FORMS)
def test_every_usual_form_is_read(form, tmp_path, capsys):
    for encoding in ENCODINGS:
        data = FORMS[form].encode(encoding)
        for name, bytes_ in (("plain.log", data), ("packed.log", gzip.compress(data))):
            (tmp_path / name).write_bytes(bytes_)
            assert check(tmp_path / name) == 0, (encoding, name)
            out, err = capsys.readouterr()
            assert json.loads(out)["ids_found"] == 2
            assert "CANARY" not in out + err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (LINES.encode("utf-16-le"), "no text in UTF-8"),
        (b"PAR1" + bytes(range(256)) * 9, "no text in UTF-8"),
        (b"PK\x03\x04" + bytes(99), "no text in UTF-8"),
        (b"", "no record has a request id"),
        (b"CANARY only text\nand more\n", "no record has a request id"),
        (b"request_id,text\nreq-1,x\nreq-2,y\n"[3:], "no record has a request id"),
        (b'time,request_id\n1,"req-1\n2,req-2\n', "cannot be read (Error)"),
        (b"[" * 9_000, "no record has a request id"),
    ],
)
def test_what_cannot_be_read_is_never_told_as_not_found(data, said, tmp_path, capsys):
    path = tmp_path / "CANARY.log"
    for packed in (False, True):
        path.write_bytes(gzip.compress(data) if packed else data)
        assert check(path) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert "CANARY" not in err


def test_lines_that_are_no_record_are_told_of(tmp_path, capsys):
    path = tmp_path / "log"
    path.write_text("time,request_id\n1,req-1,more\n2\n" + "3,\n")
    assert check(path) == 1
    out, err = capsys.readouterr()
    assert "log 1 of 1: 2 lines or rows are no record; 2 records have no request id" in err
    assert json.loads(out)["logs"]["unreadable_records"] == 2
