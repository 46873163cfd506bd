"""Names that others chose, wherever a command shows them to a person."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from forensics.cli import run
from forensics.shown import shown

KEY = "sk-9f3aC07bQ2xY5kLm8Zt1Vw4R"
ODD = "de\ncode\x1b[31m\u202e\u2028.ndjson"
NAMES = [ODD, f"team {KEY} b.ndjson"]
RECORD = {
    "request_id": "r-1", "received_at": "2026-02-03T04:05:06Z", "hop": "decode",
    "decode_node": "decode-1", "http_status": 200, "reserved_pages": 9, "transferred_pages": 1,
    "completion_tokens": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decode-1.log", "decode-1.log"),
        ("Käse 本.log", "Käse 本.log"),
        ("a\nb\u202e\x7f", "a⟨U+000A⟩b⟨U+202E⟩⟨U+007F⟩"),
        ("sk-telecom-north-2.log", "sk-telecom-north-2.log"),
        ("https://example.org/a", "https://example.org/a"),
        ("http://me:pass@host/x.log", "http://withheld@host/x.log"),
    ],
)
def test_what_is_shown_of_a_text(text, expected):
    assert shown(text) == expected


def test_a_key_has_a_mark_of_its_own_and_the_rest_stays():
    one, other = shown(f"/logs/{KEY}.log: gone"), shown(f"/logs/{KEY}x.log: gone")
    assert re.fullmatch(r"/logs/withheld-[0-9a-f]{12}\.log: gone", one)
    assert one != other


def clean(text: str, lines: int | None = None) -> None:
    """Hold a text against what no terminal may get."""
    assert KEY not in text
    assert not [c for c in text if c in "\x1b\u202e\u2028\r"]
    if lines is not None:
        assert len(text.splitlines()) == lines, text


@pytest.fixture(params=NAMES, ids=["hidden", "key among words"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    path.write_text(json.dumps(RECORD) + "\n{broken\n")
    return path


def test_tables_and_sentences_of_a_check(log, capsys):
    assert run(["check", str(log), "-q"]) == 3
    out = capsys.readouterr().out
    clean(out)
    (row,) = [line for line in out.splitlines() if "ndjson" in line and " B " in line]
    assert row.split("  ")[0].strip()
    assert run(["check", str(log), "-q", "--json"]) == 3
    assert KEY not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "scope", "report", "ingest"])
def test_error_lines(command, tmp_path, capsys):
    for name in NAMES:
        out = ["-o", str(tmp_path / "out")] if command in ("report", "ingest") else []
        assert run([command, str(tmp_path / name), "-q", *out]) == 4
        clean(capsys.readouterr().err, lines=1)
        (tmp_path / name).write_text("nothing of any form")
        if command != "check":
            assert run([command, str(tmp_path / name), "-q", *out]) == 4
            clean(capsys.readouterr().err, lines=1)


def test_a_call_that_cannot_be_right(tmp_path, capsys):
    for name in NAMES:
        folder = tmp_path / name
        folder.mkdir()
        assert run(["scope", "x.log", "-i", str(folder)]) == 2
        clean(capsys.readouterr().err)


def test_what_verify_rerun_explain_and_diff_say(log, tmp_path, capsys):
    for out in ("one", "two"):
        assert run(["report", str(log), "-q", "-o", str(tmp_path / out)]) == 3
    assert run(["explain", str(tmp_path / "one"), "r-1"]) == 0
    clean(capsys.readouterr().out)
    log.write_text("changed")
    for command, code in (("verify", 7), ("rerun", 7)):
        assert run([command, str(tmp_path / "one")]) == code
        told = capsys.readouterr()
        clean(told.out, lines=1)
        clean(told.err)
    (tmp_path / "one" / log.name).write_text("put there")
    assert run(["verify", str(tmp_path / "one")]) == 7
    clean(capsys.readouterr().out, lines=2)
    run(["diff", str(tmp_path / "one"), str(tmp_path / "two")])
    clean(capsys.readouterr().err)


def test_what_a_set_says(log, tmp_path, capsys):
    assert run(["ingest", str(log), "-q", "-o", str(tmp_path / "set")]) == 3
    assert run(["scope", str(log), str(tmp_path / "set"), "-q"]) == 3
    err = capsys.readouterr().err
    clean(err)
    assert "left out" in err


def outputs(folder: Path) -> str:
    """Return all that stands in the files of a folder, tables unpacked."""
    tables = [pl.read_parquet(path).write_ndjson() for path in folder.rglob("*.parquet")]
    texts = [p.read_text() for p in folder.rglob("*") if p.suffix in (".json", ".csv", ".md")]
    return "\n".join(tables + texts)


@pytest.mark.parametrize(("name", "archived"), [(NAMES[1], True), ("de\ncode\u202e.ndjson", False)])
def test_no_file_of_a_report_or_a_set_holds_what_a_name_hides(archived, name, tmp_path, capsys):
    logs = tmp_path / name.removesuffix(".ndjson")
    logs.mkdir()
    log = logs / ("logs.zip" if archived else name)
    text = json.dumps(RECORD) + "\n{broken\n"
    if archived:
        with zipfile.ZipFile(log, "w") as packed:
            packed.writestr(f"x/{name}", text)
    else:
        log.write_text(text)
    assert run(["report", str(log), "-q", "-o", str(tmp_path / "out")]) == 3
    assert run(["ingest", str(log), "-q", "-o", str(tmp_path / "set")]) == 3
    for made in ("out", "set"):
        written = outputs(tmp_path / made)
        assert KEY not in written
        assert "\u202e" not in written
    # Under the mark it is found again, and by its bytes held to be the same.
    assert run(["verify", str(tmp_path / "out")]) == 0
    assert run(["rerun", str(tmp_path / "out")]) == 0
    capsys.readouterr()


def test_help_does_not_wait_for_it():
    code = "import sys, forensics.cli; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
