"""A set as a folder: its rules, its manifest, and what becomes of one that was touched."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import forensics
from forensics.cli import run
from forensics.ingest import ingest as read_into


@pytest.fixture
def log(tmp_path, kit) -> Path:
    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(*(kit.record(n) for n in range(5))))
    return path


@pytest.fixture
def made(log, tmp_path, kit) -> Path:
    assert kit.ingest(log, out=tmp_path / "set") == 0
    return tmp_path / "set"


def test_everything_is_private(made):
    for path in [made, *made.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_the_manifest_names_every_file_and_the_hash_of_every_log(made, log):
    manifest = json.loads((made / "manifest.json").read_bytes())
    assert manifest["kind"] == "evidence"
    named = {item["name"]: (item["bytes"], item["sha256"]) for item in manifest["outputs"]}
    there = {
        path.relative_to(made).as_posix(): (path.stat().st_size, _sha256(path))
        for path in made.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", "SHA256SUMS")
    }
    assert named == there
    (item,) = manifest["inputs"]
    assert (item["name"], item["sha256"], item["bytes"]) == (
        str(log), _sha256(log), log.stat().st_size,
    )  # fmt: skip
    accounted = item["kept"] + sum(item["ignored"].values()) + item["duplicate"]
    assert item["read"] == accounted + item["unreadable"] == 5
    assert "GB" not in manifest["settings"]
    done = subprocess.run(
        ["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=made, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.count(b"OK") == len(named) + 1


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_inputs_are_left_as_they_are(made, log):
    before = (log.stat().st_mtime_ns, log.read_bytes())
    read_into(log, out=made)
    assert (log.stat().st_mtime_ns, log.read_bytes()) == before


@pytest.mark.parametrize("what", ["a folder", "a file", "a link"])
def test_a_folder_of_another_kind_is_not_touched(what, log, tmp_path, kit, capsys):
    out = tmp_path / "out"
    if what == "a file":
        out.write_text("mine")
    elif what == "a folder":
        out.mkdir()
        (out / "mine").write_text("mine")
    else:
        out.symlink_to(tmp_path / "elsewhere")
    assert kit.ingest(log, out=out) == 6
    assert kit.ingest(log, out=out, options=("--force",)) == 6
    assert capsys.readouterr().err.count("is not replaced") == 2
    assert os.path.lexists(out)
    assert not (tmp_path / "elsewhere").exists()


def test_force_starts_over(made, tmp_path, kit):
    other = tmp_path / "two.ndjson"
    other.write_bytes(kit.lines(kit.record(7)))
    assert kit.ingest(other, out=made, options=("--force",)) == 0
    assert len(forensics.read_logs(made).requests) == 1
    folder = tmp_path / "mine"
    folder.mkdir()
    assert kit.ingest(other, out=folder, options=("--force",)) == 0
    assert len(forensics.read_logs(folder).requests) == 1


def test_force_starts_over_where_a_run_was_killed(made, tmp_path, kit, log):
    """Files of it that no manifest names yet are its own; any other is not."""
    data = json.loads((made / "manifest.json").read_bytes())
    data |= {"outputs": [], "finished": False}
    (made / "manifest.json").write_text(json.dumps(data))
    (made / ".work" / "0a1b").mkdir(parents=True)
    (made / ".work" / "0a1b" / "file").write_text("half")
    other = made / "inputs" / "notes.txt"
    other.write_text("mine")
    assert kit.ingest(log, out=made, options=("--force",)) == 6
    other.unlink()
    assert kit.ingest(log, out=made, options=("--force",)) == 0


def test_force_does_not_remove_its_own_input(made, kit, log):
    before = kit.held(made)
    assert kit.ingest(log, made, out=made, options=("--force",)) == 2
    kit.same(kit.held(made), before)


@pytest.mark.parametrize("logs", ["missing", "nothing.txt", "empty"])
def test_nothing_readable_leaves_no_set(logs, tmp_path, kit, capsys):
    (tmp_path / "nothing.txt").write_text("nothing of any form")
    (tmp_path / "empty").mkdir()
    assert kit.ingest(tmp_path / logs, out=tmp_path / "set") == 4
    assert not (tmp_path / "set").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_log_that_nothing_can_be_read_of_is_evidence_beside_others(made, tmp_path, kit, capsys):
    (tmp_path / "nothing.txt").write_text("nothing of any form")
    assert kit.ingest(tmp_path / "nothing.txt", out=made) == 3
    assert "1 x no known format" in capsys.readouterr().err
    assert kit.ingest(tmp_path / "nothing.txt", out=made) == 3


def test_json_tells_what_was_done(made, log, tmp_path, kit, capsys):
    capsys.readouterr()
    assert kit.ingest(log, out=made, options=("--json",)) == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: told[name] for name in ("folder", "added", "known", "replaced", "inputs")} == {
        "folder": str(made), "added": 0, "known": 1, "replaced": 0, "inputs": 1,
    }  # fmt: skip
    assert (told["read"], told["kept"], told["unreadable"]) == (5, 5, {})


def test_standard_input(tmp_path, kit, monkeypatch):
    class Stdin:
        def __init__(self, path: Path) -> None:
            self.buffer = path.open("rb")

    path = tmp_path / "one.ndjson"
    path.write_bytes(kit.lines(kit.record(1, request_id=None)))
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", Stdin(path))
        assert kit.ingest("-", out=tmp_path / "set") == 0
    assert len(forensics.read_logs(tmp_path / "set").requests) == 1
    (rows,) = (tmp_path / "set").rglob("*.parquet")
    rows.write_bytes(rows.read_bytes()[:-1])
    monkeypatch.setattr(sys, "stdin", Stdin(path))
    assert kit.ingest("-", out=tmp_path / "set") == 7


# --- touched, unfinished, in use -----------------------------------------------------


def test_a_set_that_is_not_what_was_written_is_not_read(made, capsys):
    for path in [p for p in made.rglob("*") if p.is_file() and p.name != "SHA256SUMS"]:
        data = path.read_bytes()
        for touched in (data[:-1] + bytes([data[-1] ^ 1]), data[:-1], None):
            path.unlink()
            if touched is not None:
                path.write_bytes(touched)
            code = run(["scope", str(made), "-q"])
            if path.name != "manifest.json":
                assert code == 7, path
                assert path.name in capsys.readouterr().err
            path.write_bytes(data)
    assert run(["scope", str(made), "-q"]) == 0


@pytest.mark.parametrize("left", [b"{}", b"\xff", None])
def test_a_set_without_its_manifest_is_no_folder_of_plain_parquet(left, made, log, kit):
    (made / "manifest.json").unlink()
    if left is not None:
        (made / "manifest.json").write_bytes(left)
    assert run(["scope", str(made), "-q"]) == 7
    assert run(["scope", str(made.parent), "-q"]) == 7
    assert kit.ingest(log, out=made) == 7


def test_files_of_others_do_not_become_evidence(made, kit):
    before = len(forensics.read_logs(made).requests)
    (made / "observations" / "more.ndjson").write_bytes(kit.lines(kit.record(99)))
    assert len(forensics.read_logs(made).requests) == before


@pytest.mark.parametrize("part", ["manifest.json", "inputs", "observations/*/*/*.parquet", "*"])
def test_a_part_of_a_set_is_no_log(part, made, capsys):
    assert run(["scope", str(made / part), "-q"]) == 4
    assert "name the set" in capsys.readouterr().err


def test_an_unfinished_set_is_no_log_but_can_be_gone_on_with(made, log, tmp_path, kit, capsys):
    manifest = json.loads((made / "manifest.json").read_bytes())
    whole = kit.held(made)
    (made / "manifest.json").write_text(json.dumps(manifest | {"finished": False}))
    assert run(["scope", str(made), "-q"]) == 4
    assert "run the same ingest again" in capsys.readouterr().err
    assert kit.ingest(log, out=made) == 0
    kit.same(kit.held(made), whole)


def test_two_runs_do_not_write_to_one_set(made, log, kit, capsys):
    work = made / ".work"
    work.mkdir()
    held = os.open(work, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert kit.ingest(log, out=made) == 2
        assert "another ingest is writing to it" in capsys.readouterr().err
    finally:
        os.close(held)
    assert kit.ingest(log, out=made) == 0
    assert not work.exists()


def test_an_interrupted_run_keeps_what_it_has(made, log, tmp_path, kit, monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = kit.held(made)
    other = tmp_path / "two.ndjson"
    other.write_bytes(kit.lines(kit.record(7)))
    with monkeypatch.context() as patched:
        patched.setattr("forensics.ingest.one.read_shard", interrupted)
        assert kit.ingest(other, out=made) == 130
    said = capsys.readouterr().err
    assert "goes on where this one stopped" in said
    assert "nothing was written" not in said
    kit.same({k: v for k, v in kit.held(made).items() if k in before}, before)
    assert len(forensics.read_logs(made).requests) == 5
    assert kit.ingest(other, out=made) == 0
    assert len(forensics.read_logs(made).requests) == 6


@pytest.mark.parametrize("what", ["rows changed", "rows gone", "ledger changed", "ledger gone"])
@pytest.mark.parametrize("given", ["log", "set"])
def test_what_is_there_already_is_not_called_so_where_it_is_damaged(
    what, given, made, log, tmp_path, kit, capsys
):
    if given == "set":
        kit.ingest(log, out=tmp_path / "other")
    pattern = "*.parquet" if what.startswith("rows") else "inputs/*.json"
    (hurt, *_) = sorted(made.rglob(pattern))
    if what.endswith("gone"):
        hurt.unlink()
    elif what.startswith("rows"):
        hurt.write_bytes(hurt.read_bytes()[:-1])
    else:
        hurt.write_text(hurt.read_text().replace('"kept": 5', '"kept": 4'))
    sums = (made / "SHA256SUMS").read_bytes()
    capsys.readouterr()
    assert kit.ingest({"log": log, "set": tmp_path / "other"}[given], out=made) == 7
    told = capsys.readouterr().err
    assert hurt.name in told
    assert "already there" not in told
    assert (made / "SHA256SUMS").read_bytes() == sums


def test_a_missing_input_does_not_leave_the_set_in_silence(made, tmp_path, kit):
    (ledger,) = (made / "inputs").iterdir()
    ledger.unlink()
    more = tmp_path / "more.ndjson"
    more.write_bytes(kit.lines(kit.record(77)))
    assert kit.ingest(more, out=made) == 7


# --- clocks --------------------------------------------------------------------------

START = (
    b"[2026-02-03 04:05:06] server_args=ServerArgs(model_path='m', host='h', port=1, "
    b"disaggregation_mode='prefill', page_size=64)\n"
    b"[2026-02-03 04:05:09] max_total_num_tokens=70000, chunked_prefill_size=8192, "
    b"max_prefill_tokens=16384, max_running_requests=32, context_len=131072\n"
)
"""A start without a zone, and with nothing that shows one."""


def test_a_zone_that_was_assumed_leaves_the_set_incomplete_as_it_does_a_report(
    tmp_path, kit, capsys
):
    log = tmp_path / "prefill-07.log"
    log.write_bytes(START)
    for _ in range(2):
        assert kit.ingest(log, out=tmp_path / "set") == 3
        assert "UTC was assumed for: prefill-07" in capsys.readouterr().err
    for command in (["scope", str(log)], ["scope", str(tmp_path / "set")]):
        assert run([*command, "-q"]) == 3
        assert "UTC was assumed for: prefill-07" in capsys.readouterr().err
    assert run(["check", str(log), "-q"]) == 3
    assert "the zone of the clock is unknown" in capsys.readouterr().out


def test_a_stated_zone_is_none_that_was_assumed(tmp_path, kit):
    log, incident = tmp_path / "prefill-07.log", tmp_path / "incident.toml"
    log.write_bytes(START)
    incident.write_text('[logs]\ntimezone = "Europe/Berlin"\n')
    assert kit.ingest(log, out=tmp_path / "set", options=("-i", str(incident))) == 0
    shown = forensics.ingest.ingest(log, out=tmp_path / "set", incident=incident)
    assert shown.assumed_nodes == []
