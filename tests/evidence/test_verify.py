"""Every byte that changes is named, whatever file it is in."""

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.evidence.verify import Verification, verify

OUTPUTS = (
    "report.html", "report.json", "report.md", "report.schema.json",
    "affected_requests.parquet", "affected_requests.csv",
    "ruled_out.parquet", "not_assessable.parquet", "evidence.parquet", "affected_tenants.parquet",
    "affected_tenants.csv", "source_pairs.parquet", "source_requests.parquet", "rejections.csv",
    "timing_clusters.csv",
    "capacity.csv", "coverage.csv", "unreadable.csv", "notifications.csv", "manifest.json",
    "SHA256SUMS",
)  # fmt: skip


def flips(size: int, count: int = 4) -> Iterator[tuple[int, int]]:
    """Yield places and masks: first, last and random bytes; one bit, letter case, all bits."""
    rng = random.Random(size)
    places = [0, size - 1, *(rng.randrange(size) for _ in range(count))]
    for number, place in enumerate(places):
        yield place, (0x01, 0x20, 0xFF)[number % 3]


def flip(path: Path, place: int, mask: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= mask
    path.write_bytes(bytes(data))


def names(found: Verification) -> set[str]:
    """The files named; the manifest and its line in the sums accuse each other."""
    named = {fault.file for fault in found.mismatches}
    if any("one of the two" in fault.what for fault in found.mismatches):
        named |= {"manifest.json", "SHA256SUMS"}
    return named


def test_an_untouched_report_holds(out, capsys):
    assert run(["verify", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{out}: holds: 21 files, 8 inputs, ")
    assert verify(out).counts > 40


def test_the_files_flipped_are_those_written(out):
    assert {path.name for path in out.iterdir()} == set(OUTPUTS)


USUAL = ("report.html", "report.json", "affected_requests.csv", "manifest.json", "SHA256SUMS")
"""One of each kind; the others take the long run."""


@pytest.mark.parametrize(
    "name", [n if n in USUAL else pytest.param(n, marks=pytest.mark.long) for n in OUTPUTS]
)
def test_a_flipped_byte_of_any_output_is_named(out, name):
    whole = (out / name).read_bytes()
    for place, mask in flips(len(whole), 20 if name == "SHA256SUMS" else 2):
        flip(out / name, place, mask)
        found = verify(out)
        assert found.exit_code == 7, (place, mask)
        assert name in names(found), (place, mask)
        if name != "manifest.json":  # a false manifest accuses others as well
            assert names(found) <= {name, "manifest.json", "SHA256SUMS"}, (place, mask)
        (out / name).write_bytes(whole)
    assert verify(out).exit_code == 0


@pytest.mark.long
@pytest.mark.parametrize(("name", "step"), [("SHA256SUMS", 1), ("manifest.json", 11)])
def test_the_bytes_of_the_proof_itself(out, name, step):
    whole = (out / name).read_bytes()
    for place in range(0, len(whole), step):
        flip(out / name, place, 0x20)
        assert name in names(verify(out)), place
        (out / name).write_bytes(whole)


@pytest.mark.long
def test_a_flipped_byte_of_any_input_is_named(own):
    inputs = sorted(path for path in (own / "logs").rglob("*") if path.is_file())
    assert any(path.suffix == ".gz" for path in inputs)
    assert any(path.suffix == ".zst" for path in inputs)
    for path in [*inputs, own / "incident.toml"]:
        whole = path.read_bytes()
        for place, mask in flips(len(whole), 1):
            flip(path, place, mask)
            found = verify(own / "out")
            assert names(found) == {str(path.relative_to(own))}, (place, mask)
            assert found.exit_code == 7
            path.write_bytes(whole)
    assert verify(own / "out").exit_code == 0


def test_what_is_no_file_is_named_too(out):
    """Empty folders, links to anything or nothing, and pipes: nothing is opened or followed."""
    (out / "empty").mkdir()
    (out / "deep" / "deeper").mkdir(parents=True)
    (out / "link").symlink_to(out.parent)
    (out / "loop").symlink_to("loop")
    os.mkfifo(out / "pipe")
    with socket.socket(socket.AF_UNIX) as opened, contextlib.chdir(out):
        opened.bind("socket")
    found = verify(out)
    assert [fault.file for fault in found.mismatches] == [
        "deep/deeper/", "empty/", "link", "loop", "pipe", "socket",
    ]  # fmt: skip
    assert found.exit_code == 7


@pytest.mark.parametrize("name", ["manifest.json", "SHA256SUMS"])
def test_a_pipe_in_place_of_a_proof_is_not_waited_for(out, name):
    (out / name).unlink()
    os.mkfifo(out / name)
    assert name in names(verify(out))


def test_a_folder_that_cannot_be_read_is_named(out, monkeypatch):
    (out / "closed").mkdir()
    scan = os.scandir

    def closed(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", closed)
    assert [fault.file for fault in verify(out).mismatches] == ["closed/"]


def test_missing_and_additional_files_are_named(out):
    (out / "coverage.csv").unlink()
    (out / "notes.txt").write_text("mine")
    (out / "report.html").unlink()
    (out / "report.html").symlink_to(out / "report.json")
    (out / "deep").mkdir()
    (out / "deep" / "more.csv").write_text("a")
    found = verify(out)
    assert [fault.file for fault in found.mismatches] == [
        "coverage.csv",
        "deep/more.csv",
        "notes.txt",
        "report.html",
    ]
    assert found.exit_code == 7


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join(reversed(text.splitlines())) + "\n",
        lambda text: text + text.splitlines()[0] + "\n",
        lambda text: text.rstrip("\n"),
    ],
)
def test_sums_that_say_the_same_in_other_bytes_are_named(out, rewrite):
    sums = out / "SHA256SUMS"
    sums.write_bytes(rewrite(sums.read_text()).encode())
    assert names(verify(out)) == {"SHA256SUMS"}


@pytest.mark.parametrize("name", ["manifest.json", "SHA256SUMS"])
def test_without_one_of_the_two_proofs_the_other_still_serves(out, name):
    (out / name).unlink()
    (out / "coverage.csv").write_text("changed")
    assert {"coverage.csv", name} <= names(verify(out))


def test_what_was_never_written_by_this_program_is_no_input(tmp_path, capsys):
    assert run(["verify", str(tmp_path)]) == 4
    assert run(["verify", str(tmp_path / "gone")]) == 4
    assert "no such folder" in capsys.readouterr().err


def test_an_input_that_is_gone_cannot_be_checked(own, capsys):
    (own / "logs" / "packed.ndjson.gz").unlink()
    assert run(["verify", str(own / "out")]) == 3
    said = "logs/packed.ndjson.gz: cannot be checked: is not there any more\n"
    assert capsys.readouterr().out == said
    (own / "logs" / "extra.ndjson").write_text("changed")
    assert run(["verify", str(own / "out")]) == 7


def test_moved_and_renamed_inputs_are_found_by_their_bytes(own):
    shutil.move(own / "logs", own / "archive")
    (own / "archive" / "extra.ndjson").rename(own / "archive" / "renamed")
    assert verify(own / "out").exit_code == 3
    moved = [str(own / "archive")]
    assert verify(own / "out", moved).exit_code == 0
    flip(own / "archive" / "packed.ndjson.gz", 20, 1)
    found = verify(own / "out", moved)
    assert names(found) == {"logs/packed.ndjson.gz"}


def test_a_log_that_has_grown_is_told_from_one_that_was_changed(own):
    with (own / "logs" / "extra.ndjson").open("a") as file:
        file.write("{}\n")
    (fault,) = verify(own / "out").mismatches
    assert fault.what == "has grown by 3 bytes; what was read is unchanged"


def test_standard_input_cannot_be_checked(own, tmp_path, monkeypatch):
    class Stdin:
        buffer = io.BytesIO((own / "logs" / "extra.ndjson").read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert run(["report", "-", "-o", str(tmp_path / "piped"), "-q"]) == 3
    found = verify(tmp_path / "piped")
    assert [fault.what for fault in found.unchecked] == [
        "cannot be checked: came from standard input"
    ]
    assert found.exit_code == 3


@pytest.mark.long
def test_an_evidence_set_and_the_report_made_from_it(own, tmp_path, capsys):
    logs, stored, out = own / "logs", tmp_path / "set", tmp_path / "from-set"
    assert run(["ingest", str(logs), "-o", str(stored)]) == 3
    assert verify(stored).exit_code == 0
    assert run(["report", str(stored), "-o", str(out), "-q"]) == 3
    flip(logs / "extra.ndjson", 3, 1)
    assert names(verify(stored)) == {str(logs / "extra.ndjson")}
    assert verify(out).exit_code == 0, "the report was made from the set"
    shutil.rmtree(logs)
    assert verify(stored).exit_code == 3
    assert run(["rerun", str(out), "-q"]) == 0
    part = max(stored.rglob("*.parquet"), key=lambda path: path.stat().st_size)
    flip(part, 100, 1)
    assert names(verify(stored)) == {part.relative_to(stored).as_posix()}
    (fault,) = verify(out).mismatches
    assert "has other bytes than were read" in fault.what
    flip(part, 100, 1)
    stored.rename(tmp_path / "moved")
    capsys.readouterr()
    assert run(["rerun", str(out), "-q"]) == 4
    assert run(["rerun", str(out), "-q", "--logs", str(tmp_path / "moved")]) == 0
    assert verify(out, [str(tmp_path / "moved")]).exit_code == 0


@pytest.mark.skipif(sys.platform == "darwin", reason="did not run: names must be text here")
def test_a_log_that_was_left_out_beside_its_set_is_compared_where_it_still_lies(tmp_path):
    logs, line = tmp_path / "logs", '{"request_id": "r", "received_at": "2026-03-02T00:00:00Z"}\n'
    logs.mkdir()
    (logs / "a.ndjson").write_text(line)
    assert run(["ingest", str(logs), "-o", str(logs / "set"), "-q"]) == 0
    assert run(["report", str(logs), "-o", str(tmp_path / "out"), "-q"]) in (0, 3)
    assert verify(tmp_path / "out").exit_code == 0
    (logs / "a.ndjson").write_text(line.replace("r", "s"))
    found = verify(tmp_path / "out")
    assert (names(found), found.exit_code) == ({str(logs / "a.ndjson")}, 7)
    (logs / "a.ndjson").unlink()
    assert verify(tmp_path / "out").exit_code == 0


def test_a_log_whose_name_is_no_text(own, tmp_path):
    line = (own / "logs" / "extra.ndjson").read_bytes()
    for name in (b"a\xff.ndjson", b"a\xfe.ndjson", b"\n\x1b[1m.ndjson"):
        Path(os.fsdecode(os.fsencode(own / "logs") + b"/" + name)).write_bytes(line)
        line = line.replace(b'"short"', b'"short2"')
    assert run(["report", str(own / "logs"), "-o", str(tmp_path / "new"), "-q"]) == 3
    found = verify(tmp_path / "new")
    assert found.mismatches == []
    assert len(found.unchecked) == 2, "their names are not kept, so they are found by bytes alone"
    assert verify(tmp_path / "new", [str(own / "logs")]).exit_code == 0


@pytest.mark.skipif(sys.platform == "darwin", reason="did not run: names must be text here")
def test_a_folder_whose_name_is_no_text(own, tmp_path, monkeypatch):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    own.rename(odd)
    monkeypatch.chdir(odd)
    assert run(["report", "logs", "-i", "incident.toml", "-o", "new", "-q"]) == 3
    assert verify(Path("new")).exit_code == 3
    assert verify(Path("new"), ["logs", "incident.toml"]).exit_code == 0


def test_json_has_the_same_findings(out, capsys):
    flip(out / "coverage.csv", 3, 1)
    assert run(["verify", str(out), "--json"]) == 7
    document = json.loads(capsys.readouterr().out)
    assert document["mismatches"] == [
        {"file": "coverage.csv", "what": "has other bytes than were written"}
    ]
    assert (document["files"], document["kind"]) == (21, "report")


def test_nothing_that_a_log_or_a_changed_file_holds_is_printed(own, canary, capsys):
    for name in OUTPUTS:
        (own / "out" / name).write_bytes(canary.encode() + (own / "out" / name).read_bytes())
    (own / "logs" / "extra.ndjson").write_text(canary)
    (own / "logs" / "packed.ndjson.gz").write_bytes(gzip.compress(canary.encode()))
    assert run(["verify", str(own / "out")]) == 7
    printed = capsys.readouterr()
    assert "extra.ndjson" not in printed.out, "without its manifest no input is known"
    assert "CANARY" not in printed.out + printed.err


def test_another_build_is_said_and_its_page_is_not_held_against_this_one(out, reseal, capsys):
    path = out / "manifest.json"
    document = json.loads(path.read_text())
    document["tool"]["build"] = "0" * 64
    path.write_text(json.dumps(document))
    page = (out / "report.html").read_text()
    (out / "report.html").write_text(page.replace("What to do next", "What comes next"))
    reseal(out)
    assert run(["verify", str(out)]) == 3
    assert "report.html: written by another build" in capsys.readouterr().out
