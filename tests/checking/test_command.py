"""The command: data on stdout, exit codes, options."""

import json
from pathlib import Path

import pytest

from forensics.cli import run

Capture = pytest.CaptureFixture[str]


def test_text_on_stdout_and_three_where_something_is_missing(pair: Path, capsys: Capture) -> None:
    assert run(["check", str(pair), "-q"]) == 3
    shown = capsys.readouterr()
    assert "NEXT" in shown.out
    assert "prefill-01.log" in shown.out
    assert shown.err == ""


def test_json_has_the_same_facts(pair: Path, capsys: Capture) -> None:
    assert run(["check", str(pair), "--json", "-q"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert run(["check", str(pair), "-q"]) == 3
    shown = capsys.readouterr().out
    assert document["sample"]["tiers"] == {"probable": 2, "ruled_out": 4}
    for sentence in (
        *(gap["sentence"] for gap in document["gaps"]),
        *(item["sentence"] for item in document["advice"]),
        *(source["how"] for item in document["advice"] for source in item["sources"]),
        *(entry["label"] for entry in document["files"]),
    ):
        assert sentence in shown


def test_zero_where_nothing_is_missing(tmp_path: Path, capsys: Capture) -> None:
    from forensics import lab

    lab.write_plain(lab.simulate(lab.small(faulty_rejection=False)), tmp_path)
    assert run(["check", str(tmp_path / "logs"), "-q"]) == 0
    assert "Nothing is missing." in capsys.readouterr().out


def test_four_where_nothing_is_recognised_and_the_reasons_are_shown(
    tmp_path: Path, capsys: Capture
) -> None:
    assert run(["check", str(tmp_path), "-q"]) == 4
    (tmp_path / "crash.pkl").write_bytes(b"\x80\x04CANARY")
    assert run(["check", str(tmp_path), "-q"]) == 4
    shown = capsys.readouterr().out
    assert "pickle: never opened" in shown
    assert "CANARY" not in shown


@pytest.mark.parametrize(
    "arguments", [[], ["--budget", "7"], ["--format", "nonsense"], ["-i", "no-such.toml"]]
)
def test_two_where_the_call_cannot_be_right(pair: Path, arguments: list[str]) -> None:
    assert run(["check", *([str(pair)] if arguments else []), *arguments, "-q"]) == 2


def test_the_budget_is_kept(pair: Path, capsys: Capture) -> None:
    assert run(["check", str(pair), "--budget", "8K", "--json", "-q"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["budget"] == 8192
    assert document["bytes_read"] <= 8192


def test_the_incident_file_among_the_logs_is_none(pair: Path, capsys: Capture) -> None:
    asked = pair / "incident.toml"
    asked.write_text('[scope]\nmodels = ["glm-5.3"]\n')
    run(["check", str(pair), "-i", str(asked), "--json", "-q"])
    labels = [entry["label"] for entry in json.loads(capsys.readouterr().out)["files"]]
    assert labels == ["decode-01.log", "prefill-01.log"]
