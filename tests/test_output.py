"""A folder that appears whole or not at all, for its owner alone."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from forensics import lab, read_logs
from forensics.cli import run
from forensics.errors import OutputExistsError, UsageError
from forensics.evidence.seal import MANIFEST, SUMS, seal
from forensics.output import refuse_inputs, write_private
from forensics.output import whole_folder as whole_folder_of

whole_folder = partial(whole_folder_of, kind="report")


def tree(folder: Path) -> dict[str, bytes]:
    """What lies in a folder and below, but for what closes it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (MANIFEST, SUMS)
    }


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A report that is there."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    seal(folder, {"kind": "report"})
    return folder


def test_a_folder_is_there_at_the_end_and_not_before(tmp_path):
    target = tmp_path / "deep" / "out"
    with whole_folder(target) as folder:
        assert not target.exists()
        assert folder.parent == target.parent, "a rename must not cross file systems"
        write_private(folder / "a", b"1")
    assert tree(tmp_path) == {"deep/out/a": b"1"}


def test_modes_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        with whole_folder(tmp_path / "out") as folder:
            write_private(folder / "a", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "out" / "a").stat().st_mode) == 0o600


def test_every_file_of_a_report_is_private(tmp_path):
    lab.write_sglang(lab.simulate(lab.small(requests=60)), tmp_path / "logs")
    assert run(["report", str(tmp_path / "logs"), "-o", str(tmp_path / "out"), "-q"]) == 3
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_what_exists_is_not_touched(old):
    with pytest.raises(OutputExistsError), whole_folder(old):
        pass
    assert tree(old) == {"old.txt": b"old"}


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_folder_is_not_replaced(tmp_path, old, kind, force):
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(old if kind == "link" else tmp_path / "gone")
    with pytest.raises(OutputExistsError), whole_folder(target, force=force):
        pass
    assert os.path.lexists(target)
    assert tree(old) == {"old.txt": b"old"}


def test_force_replaces_as_a_whole(old, tmp_path):
    with whole_folder(old, force=True) as folder:
        write_private(folder / "new.txt", b"new")
        assert tree(old) == {"old.txt": b"old"}
    assert tree(tmp_path) == {"out/new.txt": b"new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_while_writing_leaves_the_old_folder_and_nothing_else(old, tmp_path, error):
    def write() -> None:
        with whole_folder(old, force=True) as folder:
            write_private(folder / "new.txt", b"new")
            raise error

    with pytest.raises(error):
        write()
    assert tree(tmp_path) == {"out/old.txt": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def no_exchange(monkeypatch):
    """A system whose folders cannot change places in one step."""
    monkeypatch.setattr("forensics.output._exchange", lambda *_: False)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_between_the_two_moves_brings_the_old_folder_back(
    old, tmp_path, monkeypatch, error, no_exchange
):
    rename = Path.rename

    def once(self: Path, target: Path) -> Path:
        if target == old and "-new-" in self.name:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(error), whole_folder(old, force=True) as folder:
        write_private(folder / "new.txt", b"new")
    assert tree(tmp_path) == {"out/old.txt": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_replaces_in_two_moves_where_one_is_not_to_be_had(old, tmp_path, no_exchange):
    with whole_folder(old, force=True) as folder:
        write_private(folder / "new.txt", b"new")
    assert tree(tmp_path) == {"out/new.txt": b"new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform != "linux", reason="did not run: Linux alone can exchange")
def test_on_linux_the_folder_is_never_absent_while_it_is_replaced(old, monkeypatch):
    def absent(*_: object) -> None:
        raise AssertionError("moved in two steps")

    monkeypatch.setattr("forensics.output._move_in_two_steps", absent)
    with whole_folder(old, force=True) as folder:
        write_private(folder / "new.txt", b"new")
    assert tree(old) == {"new.txt": b"new"}


# --- what killed runs leave ----------------------------------------------------------


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def leave(folder: Path, name: str, file: str) -> Path:
    """What a run that was killed leaves: a private folder that nobody holds."""
    made = folder / name
    (made / file).parent.mkdir(parents=True)
    (made / file).write_text("left")
    return made


def test_the_leftovers_of_killed_runs_are_removed_by_the_next(old, tmp_path):
    leave(tmp_path, ".out.forensics-new-abc", "report.json")
    leave(tmp_path, ".out.forensics-old-abc", "out/report.json")
    with whole_folder(old, force=True) as folder:
        write_private(folder / "a", b"1")
    assert tree(tmp_path) == {"out/a": b"1"}
    assert hidden(tmp_path) == []


def test_a_folder_that_a_killed_run_had_moved_away_is_put_back(tmp_path):
    leave(tmp_path, ".out.forensics-old-abc", "out/report.json")
    with pytest.raises(OutputExistsError), whole_folder(tmp_path / "out"):
        pass
    assert tree(tmp_path) == {"out/report.json": b"left"}
    assert hidden(tmp_path) == []


def test_one_that_was_moved_away_is_never_put_back_over_another(old, tmp_path):
    leave(tmp_path, ".out.forensics-old-abc", "out/report.json")
    with pytest.raises(OutputExistsError), whole_folder(old):
        pass
    assert tree(tmp_path) == {"out/old.txt": b"old"}


def test_what_a_run_still_works_on_is_left_to_it(tmp_path):
    with whole_folder(tmp_path / "out") as folder:
        write_private(folder / "a", b"1")
        with whole_folder(tmp_path / "out") as other:
            write_private(other / "b", b"2")
            assert hidden(tmp_path) == sorted([folder.name, other.name])
        assert tree(folder) == {"a": b"1"}
        shutil.rmtree(tmp_path / "out")
    assert tree(tmp_path) == {"out/a": b"1"}


@pytest.mark.parametrize("name", [".out.swp", ".out.backup", ".other.forensics-new-abc", "x"])
def test_what_others_put_there_is_not_touched(tmp_path, name):
    leave(tmp_path, name, "mine")
    with whole_folder(tmp_path / "out") as folder:
        write_private(folder / "a", b"1")
    assert tree(tmp_path) == {"out/a": b"1", f"{name}/mine": b"left"}


def test_a_link_of_a_leftovers_name_is_not_followed(tmp_path, old):
    (tmp_path / ".new.forensics-new-abc").symlink_to(old)
    with whole_folder(tmp_path / "new") as folder:
        write_private(folder / "a", b"1")
    assert tree(old) == {"old.txt": b"old"}
    assert hidden(tmp_path) == [".new.forensics-new-abc"]


def test_where_folders_cannot_be_locked_nothing_is_removed(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", fail)
    leave(tmp_path, ".out.forensics-new-abc", "report.json")
    with whole_folder(tmp_path / "out") as folder:
        write_private(folder / "a", b"1")
    assert tree(tmp_path / "out") == {"a": b"1"}
    assert hidden(tmp_path) == [".out.forensics-new-abc"]


STEPS = {
    "while files are written": ("forensics.output.os.fsync", "old"),
    "before the folders change places": ("forensics.output._move", "old"),
    "between the two moves": ("forensics.output._after_the_first_move", "absent"),
    "before what was replaced is removed": ("forensics.output.shutil.rmtree", "new"),
}
KILLED = """
import os, signal, sys
from pathlib import Path
from unittest import mock
from forensics import output
from forensics.evidence.seal import seal

place, exchange, target = sys.argv[1:]
def stop(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if exchange == "no":
    output._exchange = lambda *_: False
if place.endswith("_after_the_first_move"):
    rename = Path.rename
    def then_stop(self, to):
        rename(self, to)
        stop()
    mock.patch("pathlib.Path.rename", then_stop).start()
else:
    mock.patch(place, stop).start()
with output.whole_folder(Path(target), "report", force=True) as folder:
    output.write_private(folder / "new.txt", b"new")
    seal(folder, {"kind": "report"})
"""


@pytest.mark.parametrize("exchange", ["yes", "no"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_leaves_the_old_folder_or_the_new_one(old, tmp_path, step, exchange):
    place, found = STEPS[step]
    old.chmod(0o700)
    done = subprocess.run([sys.executable, "-c", KILLED, place, exchange, str(old)], check=False)
    if exchange == "yes" and found == "absent":
        assert done.returncode == 0, "one step has no middle"
        found = "new"
    else:
        assert done.returncode == -signal.SIGKILL
    there = {"old": {"old.txt": b"old"}, "new": {"new.txt": b"new"}, "absent": {}}
    assert (tree(old) if old.exists() else {}) == there[found]
    for path in tmp_path.glob(".*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    with whole_folder(old, force=True) as folder:
        write_private(folder / "next.txt", b"next")
    assert tree(tmp_path) == {"out/next.txt": b"next"}
    assert hidden(tmp_path) == []


def test_a_folder_that_came_to_be_meanwhile_is_not_replaced(tmp_path):
    def write() -> None:
        with whole_folder(tmp_path / "out") as folder:
            write_private(folder / "new.txt", b"new")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "theirs.txt").write_text("theirs")

    with pytest.raises(OSError, match="not empty"):
        write()
    assert tree(tmp_path) == {"out/theirs.txt": b"theirs"}


def test_a_parent_that_cannot_be_one(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"), whole_folder(tmp_path / "file/out"):
        pass


def test_a_private_file_is_never_written_over(tmp_path):
    write_private(tmp_path / "a", b"1")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


# --- the commands --------------------------------------------------------------------


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    line = '{"request_id": "r", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 5}\n'
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.ndjson").write_text(line)
    return tmp_path / "logs"


KINDS = ("report", "notices", "evidence", "sample")


@pytest.mark.parametrize("kind", KINDS)
def test_force_replaces_no_folder_of_another_kind(tmp_path, old, kind):
    target = tmp_path / "target"
    target.mkdir()
    with whole_folder_of(target, kind, force=True) as folder:
        write_private(folder / "a", b"1")
        seal(folder, {"kind": kind})
    for other in KINDS:
        if other == kind:
            with whole_folder_of(target, other, force=True) as folder:
                write_private(folder / "a", b"1")
                seal(folder, {"kind": kind})
            continue
        with (
            pytest.raises(OutputExistsError, match="holds 3 files that are not of"),
            whole_folder_of(target, other, force=True),
        ):
            pass
    assert tree(target) == {"a": b"1"}


@pytest.mark.parametrize("damage", ["gone", "broken", "short", "one of the files"])
def test_force_replaces_a_report_that_is_damaged(old, damage):
    with whole_folder(old, force=True) as folder:
        write_private(folder / "report.json", b"{}")
        seal(folder, {"kind": "report"})
    if damage == "gone":
        (old / MANIFEST).unlink()
    elif damage == "one of the files":
        (old / "report.json").unlink()
    else:
        whole = (old / MANIFEST).read_bytes()
        (old / MANIFEST).write_bytes(whole[:9] if damage == "short" else b"\xff" + whole)
    with whole_folder(old, force=True) as folder:
        write_private(folder / "new.txt", b"new")
    assert tree(old) == {"new.txt": b"new"}


@pytest.mark.parametrize("name", ["precious.txt", "deep/precious.txt", "report.json", MANIFEST])
@pytest.mark.parametrize("among", ["ours", "theirs"])
def test_force_removes_no_file_of_another(tmp_path, old, name, among):
    """Whatever it is called, and also where it came while the new folder was made."""
    target = old if among == "ours" and name != MANIFEST else tmp_path / "home"
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    if name != MANIFEST:
        (target / name).write_text("{}")
    else:
        (target / name).write_text('{"name": "an app", "outputs": []}')
    before = tree(tmp_path)
    with (
        pytest.raises(OutputExistsError, match="holds 1 file that is not of a report"),
        whole_folder(target, force=True),
    ):
        pass
    assert tree(tmp_path) == before


def test_a_file_that_came_while_the_folder_was_made_is_kept(old):
    def write() -> None:
        with whole_folder(old, force=True) as folder:
            write_private(folder / "new.txt", b"new")
            (old / "theirs.txt").write_text("theirs")

    with pytest.raises(OutputExistsError, match="holds 1 file"):
        write()
    assert tree(old) == {"old.txt": b"old", "theirs.txt": b"theirs"}


@pytest.mark.parametrize("command", ["report", "ingest"])
def test_no_command_removes_what_it_did_not_write(logs, tmp_path, command, capsys):
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious.txt").write_text("mine")
    assert run([command, str(logs), "-o", str(home), "-q", "--force"]) == 6
    said = capsys.readouterr().err
    assert "holds 1 file that is not of" in said
    assert "precious" not in said
    assert tree(home) == {"precious.txt": b"mine"}


def test_report_leaves_what_exists_untouched(logs, old, capsys):
    assert run(["report", str(logs), "-o", str(old), "-q"]) == 6
    assert capsys.readouterr().err == f"forensics: {old} exists; --force replaces it\n"
    assert tree(old) == {"old.txt": b"old"}


def test_report_with_force_replaces_as_a_whole(logs, old):
    assert run(["report", str(logs), "-o", str(old), "-q", "--force"]) == 3
    assert "old.txt" not in tree(old)
    assert "report.json" in tree(old)


@pytest.mark.parametrize("wrong", [["gone.log"], ["{logs}", "--format", "wrong"]])
def test_a_failed_report_leaves_the_old_one(logs, old, wrong):
    arguments = [text.format(logs=logs) for text in wrong]
    assert run(["report", *arguments, "-o", str(old), "-q", "--force"]) in (2, 4)
    assert tree(old) == {"old.txt": b"old"}


@pytest.mark.parametrize("place", ["html.render", "write_private", "manifest"])
def test_an_error_in_the_middle_of_a_report_leaves_the_old_one(
    logs, old, tmp_path, monkeypatch, place
):
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(f"forensics.reporting.{place}", fail)
    assert run(["report", str(logs), "-o", str(old), "-q", "--force"]) == 1
    assert tree(old) == {"old.txt": b"old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "out"]


def test_no_space_is_one_clear_sentence(logs, tmp_path, monkeypatch, capsys):
    def fail(path: Path, _: bytes) -> None:
        raise OSError(28, "No space left on device", str(path.name))

    monkeypatch.setattr("forensics.reporting.write_private", fail)
    assert run(["report", str(logs), "-o", str(tmp_path / "out"), "-q"]) == 1
    assert capsys.readouterr().err == "forensics: report.json: No space left on device\n"


@pytest.mark.parametrize("out", ["logs", ".", "logs/a.ndjson"])
def test_the_logs_are_evidence_and_are_never_replaced(logs, tmp_path, out, capsys):
    before = tree(tmp_path)
    code = run(["report", str(logs), "-o", str(tmp_path / out), "-q", "--force"])
    assert code in (2, 6)
    assert "not replaced" in capsys.readouterr().err
    case = read_logs(logs)
    with pytest.raises((UsageError, OutputExistsError)):
        case.report(tmp_path / out, force=True)
    assert tree(tmp_path) == before


def test_an_old_report_among_the_logs_is_not_replaced_by_itself(logs, capsys):
    assert run(["report", str(logs), "-o", str(logs / "out"), "-q"]) == 3
    before = tree(logs)
    assert run(["report", str(logs), "-o", str(logs / "out"), "-q", "--force"]) == 2
    assert "holds an input" in capsys.readouterr().err
    assert tree(logs) == before


def test_inputs_elsewhere_are_no_matter(tmp_path):
    refuse_inputs(tmp_path / "out", [tmp_path / "out2" / "a", tmp_path / "a", "-"])
