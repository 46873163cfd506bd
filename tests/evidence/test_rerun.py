"""The same inputs give the same bytes again, or the first difference is named."""

import io
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.evidence.rerun import rerun


def test_a_report_can_be_made_again_from_anywhere(own, monkeypatch, tmp_path, capsys):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(["rerun", str(own / "out"), "-q"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"{own / 'out'}: the same bytes again from 7 inputs: 19 files\n"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_stays_behind_and_the_report_is_not_touched(out, tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert run(["rerun", str(out), "-q"]) == 0
    assert list((tmp_path / "scratch").iterdir()) == []
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before


@pytest.mark.long
def test_a_report_written_from_python_can_be_made_again(case, tmp_path):
    found = forensics.read_logs(case / "logs", incident=case / "incident.toml")
    found.report(tmp_path / "out")
    assert rerun(tmp_path / "out").exit_code == 0


@pytest.mark.long
def test_a_moved_or_edited_incident_file_is_no_obstacle(own, capsys):
    incident = own / "incident.toml"
    incident.write_text('[trigger]\nmechanism = "write"\n')
    assert run(["rerun", str(own / "out"), "-q"]) == 0
    assert (
        "note: incident.toml has other bytes than were read; judged by" in capsys.readouterr().err
    )
    incident.unlink()
    assert run(["rerun", str(own / "out"), "-q"]) == 0
    assert "note: incident.toml is not there any more; judged by" in capsys.readouterr().err


def test_moved_logs_are_found_and_go_by_the_names_they_had(own, capsys):
    shutil.move(own / "logs", own / "archive")
    (own / "archive" / "decode").rename(own / "archive" / "other")
    assert run(["rerun", str(own / "out"), "-q"]) == 4
    assert capsys.readouterr().out.count("is not there any more") == 7
    assert run(["rerun", str(own / "out"), "-q", "--logs", str(own / "archive")]) == 0


def test_a_changed_input_is_named_and_nothing_is_made(own, capsys):
    changed = own / "logs" / "extra.ndjson"
    changed.write_text(changed.read_text().replace("tenant-x", "tenant-z"))
    (own / "logs" / "packed.ndjson.gz").unlink()
    assert run(["rerun", str(own / "out"), "-q", "--json"]) == 7
    document = json.loads(capsys.readouterr().out)
    assert [fault["file"] for fault in document["changed"]] == ["logs/extra.ndjson"]
    assert [fault["file"] for fault in document["gone"]] == ["logs/packed.ndjson.gz"]
    assert document["differences"] == []


def one_cell(path: Path, column: str, value: str) -> None:
    rows = pl.read_parquet(path)
    first = pl.int_range(pl.len()) == 0
    changed = pl.when(first).then(pl.lit(value)).otherwise(column).alias(column)
    rows.with_columns(changed).write_parquet(path)


def test_the_first_difference_is_named_by_its_place(out, capsys):
    document = json.loads((out / "report.json").read_text())
    document["headline"]["tiers"][1]["requests"] += 1
    document["headline"]["sentence"] = "CANARY somebody wrote this"
    (out / "report.json").write_text(json.dumps(document))
    one_cell(out / "affected_requests.parquet", "tier", "possible")
    csv = (out / "coverage.csv").read_text().splitlines()
    csv[3] = csv[3] + "0"
    (out / "coverage.csv").write_text("\n".join(csv) + "\n")
    page = (out / "report.html").read_text().split("\n")
    page[4] += " "
    (out / "report.html").write_text("\n".join(page))
    (out / "rejections.csv").unlink()
    assert run(["rerun", str(out), "-q"]) == 7
    printed = capsys.readouterr()
    lines = dict(line.split(": ", 1) for line in printed.out.splitlines())
    assert list(lines) == [
        "affected_requests.parquet", "coverage.csv", "rejections.csv", "report.html", "report.json",
    ]  # fmt: skip
    assert lines["affected_requests.parquet"] == "row 1, column tier: possible -> probable"
    assert lines["coverage.csv"].startswith("row 3, column ")
    assert lines["rejections.csv"] == "the file: (absent) -> is there"
    assert lines["report.html"].startswith("line 5: ")
    assert lines["report.json"] == "headline.sentence: (str) -> (str)"
    assert f"{out}: differs: 5 of 19 files made again from 7 inputs" in printed.err
    assert "CANARY" not in printed.out + printed.err


def test_numbers_of_a_document_are_shown(out):
    text = (out / "report.json").read_text()
    document = json.loads(text)
    asked = document["scope"]["slack_tokens"]
    (out / "report.json").write_text(text.replace(f'"slack_tokens": {asked}', '"slack_tokens": 17'))
    (difference,) = rerun(out).differences
    assert str(difference) == f"report.json: scope.slack_tokens: 17 -> {asked}"


def test_the_same_values_in_other_bytes_are_a_difference(out):
    text = (out / "report.json").read_text()
    (out / "report.json").write_text(json.dumps(json.loads(text)))
    (difference,) = rerun(out).differences
    assert difference.where == "the bytes, not the values"


@pytest.mark.long
def test_another_version_is_said_and_is_no_difference_by_itself(out, reseal, capsys):
    for name in ("manifest.json", "report.json"):
        document = json.loads((out / name).read_text())
        document["tool"]["version"] = "0.0.1"
        (out / name).write_text(json.dumps(document))
    page = (out / "report.html").read_text()
    (out / "report.html").write_text(page.replace("forensics 0.1.0", "forensics 0.0.1"))
    reseal(out)
    assert run(["rerun", str(out), "-q"]) == 0
    said = capsys.readouterr().err
    assert "note: made by version 0.0.1; this is " in said
    assert "note: report.html and report.md hold what differs there and are not compared" in said
    one_cell(out / "affected_requests.parquet", "tier", "possible")
    assert run(["rerun", str(out), "-q"]) == 7


def test_standard_input_cannot_be_read_again(own, tmp_path, monkeypatch, capsys):
    class Stdin:
        buffer = io.BytesIO((own / "logs" / "extra.ndjson").read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert run(["report", "-", "-o", str(tmp_path / "piped"), "-q"]) == 3
    capsys.readouterr()
    assert run(["rerun", str(tmp_path / "piped"), "-q"]) == 2
    assert "standard input" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["evidence", "notices"])
def test_only_a_report_is_made_again(out, kind, capsys):
    document = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(document | {"kind": kind}))
    assert run(["rerun", str(out), "-q"]) == 2
    assert "only a report" in capsys.readouterr().err


def test_without_a_manifest_there_is_nothing_to_go_by(tmp_path, out):
    assert run(["rerun", str(tmp_path / "gone"), "-q"]) == 4
    (out / "manifest.json").unlink()
    assert run(["rerun", str(out), "-q"]) == 4
