"""A profile of one's own: the page's example, what cannot be right, and that reports keep it."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from forensics import read_logs
from forensics.cli import run
from forensics.errors import IncidentError
from forensics.evidence.rerun import rerun
from forensics.incident import load, parse
from forensics.sources.profiles.builtin import checked

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
PROFILE, INCIDENT, RECORD = re.findall(r"```(?:toml|json)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    (tmp_path / "gateway.toml").write_text(PROFILE)
    path = tmp_path / "incident.toml"
    path.write_text(INCIDENT + "[trigger]\nthreshold_tokens = 49152\n")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "gateway.json"
    path.parent.mkdir()
    path.write_text(RECORD.replace("never read", "CANARY"))
    return path


def test_the_example_of_the_page_is_ten_lines_and_reads_its_record(read, incident, log):
    lines = [line for line in PROFILE.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 10
    case = read_logs(log, incident=incident)
    row = case.requests.polars().row(0, named=True)
    assert row["request_id"] == "7c1d"
    assert row["tenant_id"] == "blue"
    assert row["received_at"].isoformat() == "2026-08-28T03:14:00.250000+00:00"
    assert (row["prompt_tokens"], row["completion_tokens"]) == (52310, 389)
    assert (row["tier"], row["reasons"]) == ("possible", ["over_limit", "unverified_format"])
    seen = read(RECORD, "gateway.json", logs={"profiles": [tomllib.loads(PROFILE)]})
    assert seen.column("http_status") == [200]


@pytest.mark.long
def test_a_report_is_made_again_without_the_file_and_notices_that_the_incident_changed(
    incident, log, tmp_path
):
    out = tmp_path / "out"
    assert run(["report", str(log), "-i", str(incident), "-o", str(out), "-q"]) in (0, 3)
    assert run(["verify", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    (kept,) = manifest["incident"]["logs"]["profiles"]
    assert kept["name"] == "our-gateway"
    assert manifest["inputs"][0]["format"] == "profile:our-gateway"
    profile = incident.parent / "gateway.toml"
    profile.write_text(PROFILE.replace("usage/tokensIn", "usage/tokensOut"))
    assert run(["verify", str(out)]) == 7
    again = rerun(out)
    assert again.exit_code == 0
    assert any("gateway.toml has other bytes than were read" in note for note in again.notes), (
        again.notes
    )
    assert not again.differences
    profile.unlink()
    assert rerun(out).exit_code == 0
    assert any("gateway.toml is not there any more" in note for note in rerun(out).notes), rerun(
        out
    ).notes
    for path in out.rglob("*"):
        assert path.is_dir() or b"CANARY" not in path.read_bytes()


def test_a_set_keeps_how_it_was_read_and_takes_no_logs_read_otherwise(incident, log, tmp_path):
    store = tmp_path / "set"
    assert run(["ingest", str(log), "-i", str(incident), "-o", str(store)]) in (0, 3)
    raw = read_logs(log, incident=incident).requests.polars()
    threshold = parse({"trigger": {"threshold_tokens": 49152}})
    assert read_logs(store, incident=threshold).requests.polars().equals(raw)
    profile = incident.parent / "gateway.toml"
    profile.write_text(PROFILE.replace("usage/tokensIn", "usage/tokensOut"))
    assert run(["scope", str(store), "-i", str(incident), "-q"]) == 2
    assert run(["ingest", str(log), "-i", str(incident), "-o", str(store)]) == 2


def test_it_can_be_stated_and_comes_before_all_others(incident, log, tmp_path):
    own = {"request_id": "r", "tenant_id": "t", "prompt_tokens": 3, **json.loads(RECORD)}
    log.write_text(json.dumps(own) + "\n")
    assert run(["scope", str(log), "-i", str(incident), "-q"]) in (0, 3)
    row = read_logs(log, incident=incident).requests.polars().row(0, named=True)
    assert row["tenant_id"] == "blue"
    case = read_logs(log, incident=incident, format="profile:our-gateway")
    assert case.requests.polars()["tenant_id"].to_list() == ["blue"]
    assert run(["scope", str(log), "--format", "profile:our-gateway", "-q"]) == 2
    assert run(["check", str(log), "-i", str(incident), "--format", "profile:our-gateway"]) != 2


GOOD = {"name": "x", "title": "x", "told_by": ["a"], "columns": {"request_id": "a"}}
WRONG = {
    "name": ({"name": "Our Gateway"}, "small letters"),
    "told_by": ({"told_by": []}, "told_by names no key"),
    "column": ({"columns": {"prompt_tokns": "a"}}, "did you mean 'prompt_tokens'"),
    "capacity": ({"columns": {"pool_tokens": "a"}}, "columns.pool_tokens is no column"),
    "engine": ({"columns": {"transferred_pages": "a"}}, "needs verified = true"),
    "unit": ({"columns": {"prompt_tokens": {"from": "a", "unit": "s"}}}, "'s' is no unit"),
    "no unit": ({"columns": {"received_at": {"from": "a", "unit": "h"}}}, "Invalid enum value"),
    "code": (
        {"columns": {"finish_reason": {"from": "a", "values": {"end": "done"}}}},
        "'done' is none of",
    ),
    "otherwise": (
        {"columns": {"finish_reason": {"from": "a", "otherwise": "done"}}},
        "'done' is none of",
    ),
    "through": ({"columns": {"request_id": "a", "model": "a/b"}}, "is read as"),
    "text": ({"columns": {"request_id": "a", "model": "a/b"}, "json_text": ["a"]}, "is read as"),
    "empty": ({"columns": {"request_id": "a//b"}}, "empty key"),
    "key": ({"columns": {"request_id": {"form": "a"}}}, "unknown field `form`"),
    "plus": (
        {"columns": {"prompt_tokens": {"from": "a", "plus": {"from": "b"}}}},
        "is no moment",
    ),
    "cached": ({"leave_out": [{"from": "a", "values": ["1"], "kind": "cached"}]}, "verified"),
    "leave_out": ({"leave_out": [{"from": "a"}]}, "needs values or but"),
}


@pytest.mark.parametrize(("wrong", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_right_is_named(wrong, says):
    assert checked(GOOD).name == "x"
    with pytest.raises(IncidentError, match=re.escape(says)):
        checked({**GOOD, **wrong})
    with pytest.raises(IncidentError, match=re.escape(says)):
        parse({"logs": {"profiles": [{**GOOD, **wrong}]}})


def test_a_key_that_no_profile_has_is_refused_with_the_nearest():
    with pytest.raises(IncidentError, match="did you mean 'told_by'"):
        parse({"logs": {"profiles": [{**GOOD, "tol_by": ["a"]}]}})


def test_two_of_one_name_are_refused():
    with pytest.raises(IncidentError, match="'x' twice"):
        parse({"logs": {"profiles": [GOOD, GOOD]}})


@pytest.mark.parametrize(
    ("text", "says"), [(None, "cannot be read"), ("name = ", "not valid TOML")]
)
def test_a_file_that_is_none_is_named(tmp_path, text, says):
    path = tmp_path / "incident.toml"
    path.write_text(INCIDENT)
    if text is not None:
        (tmp_path / "gateway.toml").write_text(text)
    with pytest.raises(IncidentError, match=rf"gateway\.toml: {says}"):
        load(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title", "titel", "unknown key 'titel'; did you mean 'title'"),
        ("title = ", "# ", "Object missing required field `title`"),
        ("told_by = ", "told_by = [] # ", "told_by names no key"),
    ],
)
def test_a_mistake_is_said_to_be_in_the_file_of_the_profile(tmp_path, old, new, says):
    path = tmp_path / "incident.toml"
    path.write_text(INCIDENT)
    assert old in PROFILE
    (tmp_path / "gateway.toml").write_text(PROFILE.replace(old, new, 1))
    with pytest.raises(IncidentError, match=rf"gateway\.toml: (?!.*logs\.).*{says}"):
        load(path)


def test_records_of_an_engine_with_the_node_from_the_path(read):
    own = {
        "name": "prefill-dump",
        "title": "x",
        "verified": True,
        "hop": "prefill",
        "told_by": ["rid", "got"],
        "columns": {"request_id": "rid", "prefill_prompt_tokens": "got"},
    }
    logs = {"profiles": [own], "node_from": r"(?P<node>[^/]+)\.jsonl"}
    seen = read('{"rid": "r", "got": 1, "text": "CANARY"}', "prefill-03.jsonl", logs=logs)
    assert seen.facts.format == "profile:prefill-dump"
    assert seen.column("hop") == ["prefill"]
    assert seen.column("prefill_node") == ["prefill-03"]
    assert seen.column("prefill_prompt_tokens") == [1]
    assert seen.column("unverified") == [None]
    empty = read('{"rid": null, "got": null}\n{"rid": "r", "got": 7}', "a.jsonl", logs=logs)
    assert dict(empty.reasons) == {"no value under a known column name": 1}
