"""The commands: what goes to stdout and stderr, and the exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forensics import lab
from forensics.cli import run
from forensics.sources.notread import NOT_READ
from forensics.sources.registry import FORMATS
from forensics.sources.wrappers.kinds import WRAPPERS


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    lab.write_plain(lab.simulate(lab.small()), folder)
    return folder / "logs"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    lab.write_plain(lab.simulate(lab.small(faulty_rejection=False)), folder)
    return folder / "logs"


def test_report_prints_its_summary_on_stderr_and_nothing_on_stdout(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(logs), "-o", str(tmp_path / "out"), "-q"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "affected responses" in captured.err
    assert str(tmp_path / "out" / "report.html") in captured.err


def test_the_module_is_the_command_and_hands_on_its_exit_code() -> None:
    asked = [sys.executable, "-m", "forensics", "explain", "no-such-report", "x"]
    made = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (run(asked[3:]), "")
    assert made.returncode
    assert made.stderr.startswith("forensics: ")


def test_json_on_stdout_is_one_document(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(logs), "-o", str(tmp_path / "out"), "-q", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["headline"] == written["headline"]


def test_scope_lists_the_affected_rows_as_csv_or_json(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["scope", str(logs), "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["scope", str(logs), "-q", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert lines[0].startswith("request_id,")
    assert len(lines) - 1 == len(document["affected"]) > 0
    assert {row["tier"] for row in document["affected"]} == {"probable"}


@pytest.mark.few(1)
@pytest.mark.parametrize(("tier", "code"), [("confirmed", 0), ("probable", 10), ("possible", 10)])
def test_fail_on_a_tier_or_a_surer_one(logs: Path, tier: str, code: int) -> None:
    assert run(["scope", str(logs), "-q", "--fail-on", tier]) == code


def test_fail_on_beats_incomplete_evidence_and_is_silent_on_clean_logs(
    logs: Path, clean: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "more.ndjson"
    broken.write_text('{"request_id": "r", "prompt_tokens"')
    known = tmp_path / "known.ndjson"
    known.write_text('{"request_id": "r", "prompt_tokens": 3}\n{"request_id":')
    assert run(["scope", str(logs), str(known), "-q"]) == 3
    assert run(["scope", str(logs), str(known), "-q", "--fail-on", "probable"]) == 10
    assert run(["scope", str(clean), "-q", "--fail-on", "possible"]) == 0


@pytest.mark.parametrize("command", ["scope", "sources", "timing"])
def test_what_writes_no_files_names_none_of_a_report(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {"request_id": "r", "received_at": "2026-03-02T08:00:00Z", "hop": "decode"}
    log = tmp_path / "log.ndjson"
    log.write_text(json.dumps(record) + "\n{\n")
    for arguments in ([], ["--json"]):
        assert run([command, str(log), "-q", *arguments]) == 3
        captured = capsys.readouterr()
        said = captured.out + captured.err
        assert "record could not be read (`forensics report` lists them)" in captured.err
        assert not [name for name in (".csv", ".parquet") if name in said]
    assert run(["report", str(log), "-o", str(tmp_path / "out"), "-q"]) == 3
    assert "(unreadable.csv)" in capsys.readouterr().err


def test_formats_lists_every_registered_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in listed] == [f.name for f in (*FORMATS, *WRAPPERS, *NOT_READ)]
    assert run(["formats"]) == 0
    text = capsys.readouterr().out
    assert all(wrapper.title in text for wrapper in WRAPPERS)
    assert all(f"{other.title}: {other.why}" in text for other in NOT_READ)
    assert all(f.title in text and f.never_shows in text for f in FORMATS)


def test_sample_writes_a_named_incident_or_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tiny(out: Path) -> None:
        lab.write_plain(lab.simulate(lab.small()), out)

    monkeypatch.setattr(lab, "SAMPLES", {"tiny": tiny})
    monkeypatch.setattr(lab, "write_sample", lambda name, out: lab.SAMPLES[name](out))
    assert run(["sample"]) == 0
    assert capsys.readouterr().out.split() == ["tiny"]
    assert run(["sample", "tiny", "-o", str(tmp_path / "s")]) == 0
    assert (tmp_path / "s" / "logs").is_dir()
    assert run(["sample", "tiny", "-o", str(tmp_path / "s")]) == 6
    assert run(["sample", "tiny", "-o", str(tmp_path / "s"), "--force"]) == 0
    assert run(["verify", str(tmp_path / "s")]) == 0
    (tmp_path / "s" / "logs" / "own.log").write_text("mine")
    assert run(["sample", "tiny", "-o", str(tmp_path / "s"), "--force"]) == 6
    assert (tmp_path / "s" / "logs" / "own.log").read_text() == "mine"
    assert run(["sample", "none", "-o", str(tmp_path / "t")]) == 2
    assert run(["sample", "tiny"]) == 2


@pytest.mark.parametrize("arguments", [["report"], ["no-such-command"], ["scope", "x", "--nope"]])
def test_a_wrong_call_ends_with_2(arguments: list[str]) -> None:
    assert run(arguments) == 2


def test_the_incident_file_beside_the_logs_is_no_log(logs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    asked = folder / "incident.toml"
    asked.write_text('[case]\nid = "X"\n')
    (folder / "a.ndjson").write_text(
        '{"request_id": "r", "received_at": "2026-09-01T00:00:00Z", "reserved_pages": 1, '
        '"transferred_pages": 1, "http_status": 200}\n'
    )
    assert run(["scope", str(folder), "-i", str(asked), "-q"]) == 0
    assert run(["scope", str(folder), "-q"]) == 3


def test_the_shell_completes_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {
        "_FORENSICS_COMPLETE": "bash_complete",
        "COMP_WORDS": "forensics ti",
        "COMP_CWORD": "1",
    }
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        run([])
    assert capsys.readouterr().out.split() == ["plain,timing"]


def test_nothing_is_coloured_on_a_terminal_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    for arguments in (["--help"], ["formats"], ["no-such-command"]):
        run(arguments)
        shown = capsys.readouterr()
        assert shown.out + shown.err
        assert "\x1b" not in shown.out + shown.err
