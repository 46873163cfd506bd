"""Counting rows where they lie finds what reading all of them finds."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import forensics
from forensics.cli import run
from forensics.ingest.run import ingest
from forensics.triage import scope as triage

INCIDENTS = {
    "everything": "",
    "a threshold": "[trigger]\nthreshold_tokens = 110000\nslack_tokens = 500\n",
    "a window": '[scope]\nmodels = ["m"]\nwindow = ["2026-02-02T03:00:00Z", "2026-02-02T04:30:00Z"]'
    "\n[trigger]\nslack_tokens = 90000\n",
}


def triaged(
    evidence: Path, incident: Path | None = None, workers: int | None = None
) -> triage.Scope:
    asked = triage.asked(evidence, incident=incident)
    assert isinstance(asked, triage.Asked), asked
    found = triage.scope(asked, workers)
    assert isinstance(found, triage.Scope), found
    return found


def same(found: triage.Scope, evidence: Path, incident: Path | None = None) -> None:
    case = forensics.read_logs(evidence, incident=incident)
    head = case.exposure().headline
    assert found.affected.write_json() == case.affected.polars().write_json()
    assert (found.sentence, found.incomplete) == (head.sentence, head.incomplete)
    assert found.requests == case.requests.polars().height
    for tier in head.tiers:
        if tier.tier != "ruled_out":
            assert found.tiers.get(tier.tier, 0) == tier.requests


@pytest.mark.parametrize(
    "name", ["a window", *(pytest.param(n, marks=pytest.mark.long) for n in list(INCIDENTS)[:2])]
)
def test_the_affected_requests_are_the_same(evidence: Path, tmp_path: Path, name: str) -> None:
    incident = tmp_path / "incident.toml"
    incident.write_text(INCIDENTS[name], encoding="utf-8")
    found = triaged(evidence, incident)
    assert found.affected.height > 10
    assert found.affected["timing_cluster"].null_count() < found.affected.height
    assert found.kept < found.requests / 4
    same(found, evidence, incident)


@pytest.mark.long
def test_without_a_limit_what_is_not_known_to_be_complete_is_kept(
    fleet: SimpleNamespace, tmp_path: Path
) -> None:
    evidence = fleet.write(tmp_path / "fleet", 7, known=False)
    same(triaged(evidence), evidence)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 220))
def test_the_affected_requests_are_the_same_for_any_fleet(
    fleet: SimpleNamespace, tmp_path: Path, seed: int
) -> None:
    evidence = fleet.write(tmp_path / "fleet", seed, known=seed % 4 != 0)
    same(triaged(evidence), evidence)


@pytest.mark.long
def test_a_pool_of_processes_finds_the_same(evidence: Path) -> None:
    here, pool = triaged(evidence, workers=1), triaged(evidence, workers=2)
    assert here.affected.equals(pool.affected)
    assert (here.sentence, here.incomplete) == (pool.sentence, pool.incomplete)


def test_the_command_says_the_same_either_way(
    evidence: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for many in (0, 10**9):
        monkeypatch.setattr(triage, "MANY", many)
        code = run(["scope", str(evidence), "-q", "--fail-on", "probable"])
        told.append((code, *capsys.readouterr()))
    assert told[0] == told[1]
    assert told[0][0] == 10


def test_two_records_of_one_request_are_no_evidence_that_each_is_quiet(
    fleet: SimpleNamespace, tmp_path: Path
) -> None:
    """Each record alone is of a whole hand-off; together their pages do not fit."""
    import random

    draw = random.Random(1)
    rows = [fleet.request(draw, number) for number in range(60)]
    rows[50] |= {name: rows[3][name] for name in ("request_id", "transfer_id", "tenant_id")}
    rows[50]["received_at"] = rows[3]["received_at"] + 1000
    rows[50]["prompt_tokens"] = rows[3]["prompt_tokens"]
    for number, part in enumerate((rows[:30], rows[30:])):
        text = "".join(json.dumps(row) + "\n" for row in part)
        (tmp_path / f"{number}.ndjson").write_text(text, encoding="utf-8")
    incident = tmp_path / "read.toml"
    incident.write_text('[logs]\nepoch_unit = "ms"\n', encoding="utf-8")
    ingest(*tmp_path.glob("*.ndjson"), out=tmp_path / "set", incident=incident)
    same(triaged(tmp_path / "set"), tmp_path / "set")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"sender_tenant": "other"}, "judged together"),
        ({"hop": "decode"}, "name the hop"),
    ],
)
def test_what_others_decide_is_read_as_a_whole(
    fleet: SimpleNamespace, tmp_path: Path, more: dict[str, str], why: str
) -> None:
    import random

    row = fleet.request(random.Random(1), 1) | more
    (tmp_path / "a.ndjson").write_text(json.dumps(row) + "\n", encoding="utf-8")
    incident = tmp_path / "read.toml"
    incident.write_text('[logs]\nepoch_unit = "ms"\n', encoding="utf-8")
    ingest(tmp_path / "a.ndjson", out=tmp_path / "set", incident=incident)
    asked = triage.asked(tmp_path / "set")
    found = asked if isinstance(asked, str) else triage.scope(asked)
    assert isinstance(found, str)
    assert why in found


def test_a_damaged_partition_is_named(evidence: Path, tmp_path: Path) -> None:
    copy = tmp_path / "set"
    shutil.copytree(evidence, copy)
    part = min((copy / "observations").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    asked = triage.asked(copy)
    assert isinstance(asked, triage.Asked)
    with pytest.raises(forensics.errors.VerificationError, match=part.name):
        triage.scope(asked)
