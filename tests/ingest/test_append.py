"""What a set holds depends on the logs alone, not on the steps in which they came."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.errors import UsageError


def folder_of(tmp_path: Path, **files: bytes) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.ndjson").write_bytes(data)
    return folder


def requests(folder: Path) -> int:
    return len(forensics.read_logs(folder).requests)


def test_in_two_steps_as_at_once_whatever_the_order(small_logs, tmp_path, kit):
    files = sorted(small_logs.iterdir())
    assert len(files) > 3
    kit.ingest(small_logs, out=tmp_path / "at once")
    whole = kit.held(tmp_path / "at once")
    for number, order in enumerate((files, files[::-1])):
        out = tmp_path / f"steps {number}"
        kit.ingest(*order[:2], out=out)
        kit.ingest(*order[2:], out=out)
        kit.same(kit.held(out), whole)


def test_two_sets_as_logs_make_the_set_of_both(small_logs, tmp_path, kit):
    files = sorted(small_logs.iterdir())
    kit.ingest(small_logs, out=tmp_path / "at once")
    kit.ingest(*files[:2], out=tmp_path / "a")
    kit.ingest(*files[1:3], out=tmp_path / "b")
    kit.ingest(tmp_path / "a", tmp_path / "b", *files[3:], out=tmp_path / "c")
    kit.same(kit.held(tmp_path / "c"), kit.held(tmp_path / "at once"))


def test_what_is_there_is_told_by_its_bytes(tmp_path, kit, capsys):
    logs = folder_of(tmp_path, one=kit.lines(kit.record(1, request_id=None)))
    kit.ingest(logs, out=tmp_path / "set")
    before = kit.held(tmp_path / "set")
    shutil.copytree(logs, tmp_path / "moved")
    kit.ingest(tmp_path / "moved", out=tmp_path / "set")
    assert "0 inputs added, 1 already there, 0 replaced" in capsys.readouterr().err
    kit.same(kit.held(tmp_path / "set"), before)
    assert requests(tmp_path / "set") == 1


def test_another_file_of_the_same_name_is_another_input(tmp_path, kit):
    for number in (1, 2):
        logs = folder_of(tmp_path, one=kit.lines(kit.record(number)))
        kit.ingest(logs, out=tmp_path / "set")
    assert requests(tmp_path / "set") == 2


def test_the_same_bytes_from_another_node_are_another_input(tmp_path, kit):
    """Engines that do nothing write the same lines; each of them was there."""
    start = b"[2026-02-03 04:05:06] The server is fired up and ready to roll!\n"
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("prefill-1.log", "prefill-2.log"):
        (folder / name).write_bytes(start)
    kit.ingest(folder, out=tmp_path / "set")
    nodes = forensics.read_logs(tmp_path / "set").capacity.polars()["node"]
    assert sorted(nodes) == ["prefill-1", "prefill-2"]


def test_copies_side_by_side_are_as_many_inputs_as_for_a_report(tmp_path, kit):
    data = kit.lines(*(kit.record(n) for n in range(4)))
    logs = folder_of(tmp_path, one=data)
    shutil.copytree(logs, logs / "backup")
    kit.ingest(logs / "one.ndjson", out=tmp_path / "set")
    kit.ingest(logs, out=tmp_path / "set")
    kit.ingest(logs, out=tmp_path / "at once")
    kit.same(kit.held(tmp_path / "set"), kit.held(tmp_path / "at once"))
    raw = kit.report(logs, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again"), raw)
    assert b'"duplicate": 4' in raw["report.json"]


def test_a_file_that_has_grown_takes_the_place_of_its_start(tmp_path, kit, capsys):
    """Records without an id would count twice."""
    first = kit.lines(*(kit.record(n, request_id=None) for n in range(3)))
    more = kit.lines(kit.record(4, request_id=None))
    kit.ingest(folder_of(tmp_path, one=first), out=tmp_path / "set")
    kit.ingest(folder_of(tmp_path, one=first + more), out=tmp_path / "set")
    assert "1 input added, 0 already there, 1 replaced" in capsys.readouterr().err
    kit.ingest(tmp_path / "logs", out=tmp_path / "at once")
    kit.same(kit.held(tmp_path / "set"), kit.held(tmp_path / "at once"))
    assert requests(tmp_path / "set") == 4


def test_a_file_that_grew_and_was_then_rotated_takes_the_place_of_its_start(tmp_path, kit):
    first = kit.lines(*(kit.record(n, request_id=None) for n in range(3)))
    more = kit.lines(kit.record(4, request_id=None))
    logs = folder_of(tmp_path, one=first)
    kit.ingest(logs, out=tmp_path / "set")
    (logs / "one.ndjson.1").write_bytes(first + more)
    (logs / "one.ndjson").write_bytes(kit.lines(kit.record(5)))
    kit.ingest(logs, out=tmp_path / "set")
    kit.ingest(logs, out=tmp_path / "at once")
    kit.same(kit.held(tmp_path / "set"), kit.held(tmp_path / "at once"))
    assert requests(tmp_path / "set") == 5


def test_the_start_of_a_file_stays_where_both_are_named(tmp_path, kit):
    first = kit.lines(*(kit.record(n) for n in range(3)))
    logs = folder_of(tmp_path, one=first)
    (logs / "one.ndjson.1").write_bytes(first + kit.lines(kit.record(4)))
    for _ in range(2):
        kit.ingest(logs, out=tmp_path / "set")
        raw = kit.report(logs, out=tmp_path / "raw", options=("--force",))
        kit.same(kit.report(tmp_path / "set", out=tmp_path / "b", options=("--force",)), raw)


def test_an_empty_file_that_came_to_hold_records_is_no_empty_file_any_more(tmp_path, kit):
    other = kit.lines(kit.record(1))
    logs = folder_of(tmp_path, one=b"", two=other)
    assert kit.ingest(logs, out=tmp_path / "set") == 3
    (logs / "one.ndjson").write_bytes(kit.lines(kit.record(2)))
    assert kit.ingest(logs, out=tmp_path / "set") == 0


def test_a_file_that_could_not_be_read_is_tried_again(tmp_path, kit, monkeypatch):
    logs = folder_of(tmp_path, one=kit.lines(kit.record(1)), two=kit.lines(kit.record(2)))
    opened = Path.open

    def refused(self: Path, *arguments: Any, **more: Any) -> object:
        if self.name == "two.ndjson":
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refused)
        assert kit.ingest(logs, out=tmp_path / "set") == 3
        raw = kit.report(logs, out=tmp_path / "raw")
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again"), raw)
    assert b"cannot be read: Permission denied" in raw["unreadable.csv"]
    assert kit.ingest(logs, out=tmp_path / "set") == 0
    assert requests(tmp_path / "set") == 2


@pytest.mark.parametrize(
    "other", ['[logs]\ntimezone = "UTC"', '[columns]\nrid = "request_id"', "--format"]
)
def test_logs_read_by_other_settings_do_not_belong_into_a_set(other, tmp_path, kit, capsys):
    logs = folder_of(tmp_path, one=kit.lines(kit.record(1)))
    kit.ingest(logs, out=tmp_path / "set")
    before = kit.held(tmp_path / "set")
    options = ("--format", "plain-ndjson")
    if other != "--format":
        (tmp_path / "incident.toml").write_text(other)
        options = ("-i", str(tmp_path / "incident.toml"))
    assert kit.ingest(logs, out=tmp_path / "set", options=options) == 2
    assert "read by other settings" in capsys.readouterr().err
    kit.same(kit.held(tmp_path / "set"), before)


def test_what_is_asked_of_the_logs_may_change(tmp_path, kit):
    logs = folder_of(tmp_path, one=kit.lines(kit.record(1)))
    kit.ingest(logs, out=tmp_path / "set")
    asked = '[scope]\nmodels = ["m"]\n[trigger]\nthreshold_tokens = 5\n[logs]\nsampling_rate = 0.5'
    (tmp_path / "incident.toml").write_text(asked)
    options = ("-i", str(tmp_path / "incident.toml"))
    assert kit.ingest(logs, out=tmp_path / "set", options=options) == 0
    raw = kit.report(logs, out=tmp_path / "raw", options=options)
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again", options=options), raw)


@pytest.mark.long
def test_the_settings_of_a_set_hold_where_an_incident_states_none(small_logs, tmp_path, kit):
    """Engine logs have times without a zone, which are settled when all is read."""
    read_by = '[columns]\nrid = "request_id"\n[logs]\ntimezone = "Asia/Shanghai"\n'
    stated = {"read": read_by, "ask": '[case]\nid = "A"\n', "both": f'[case]\nid = "A"\n{read_by}'}
    options = {}
    for name, text in stated.items():
        (tmp_path / name).write_text(text)
        options[name] = ("-i", str(tmp_path / name))
    kit.ingest(small_logs, out=tmp_path / "set", options=options["read"])
    raw = kit.report(small_logs, out=tmp_path / "raw", options=options["both"])
    kit.same(kit.report(tmp_path / "set", out=tmp_path / "again", options=options["ask"]), raw)
    (tmp_path / "other").write_text('[logs]\ntimezone = "UTC"\n')
    with pytest.raises(UsageError, match="columns, timezone"):
        forensics.read_logs(tmp_path / "set", incident=tmp_path / "other")
