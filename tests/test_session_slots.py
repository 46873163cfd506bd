"""The fault in a pool of session slots: the sample, its truth, and the page that shows it."""

import re
import shlex
import tomllib
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.cli import run

PAGE = (Path(__file__).parents[1] / "docs" / "session-slots.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("slots") / "sample"
    lab.write_sample("session-slots", folder)
    return folder


@pytest.fixture(scope="module")
def truth(sample) -> pl.DataFrame:
    rows = pl.read_csv(sample / "truth.csv", infer_schema=False)
    assert set(rows["affected"]) == {"true", "false"}
    return rows


@pytest.fixture(scope="module")
def case(sample) -> forensics.Case:
    return forensics.read_logs(sample / "logs", incident=sample / "incident.toml")


def test_exactly_the_lobbies_that_showed_stale_slots_are_found(case, truth):
    affected = case.affected.polars()
    true = truth.filter(pl.col("affected") == "true")
    assert set(affected["request_id"]) == set(true["lobby_id"])
    assert set(affected["tier"]) == {"probable"}
    ruled_out = set(case.ruled_out.polars()["request_id"])
    assert ruled_out == set(truth["lobby_id"]) - set(true["lobby_id"])


def test_every_studio_that_a_stale_slot_was_of_is_a_possible_source(case, truth):
    true = (
        truth.filter(pl.col("affected") == "true")
        .select("lobby_id", pl.col("owners").str.split(";"))
        .explode("owners")
        .drop_nulls()
    )
    named = set(case.sources.polars().select("request_id", "source_tenant_id").iter_rows())
    assert true.height > 100
    assert set(true.iter_rows()) <= named


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (("handleGeneration", "foundGeneration", "foundOwner"), "short_transfer"),
        (("slotsReserved", "slotsFilled"), "owner_mismatch"),
    ],
)
def test_either_evidence_alone_finds_them(sample, truth, tmp_path, left_out, reason):
    text = (sample / "incident.toml").read_text()
    kept = [line for line in text.splitlines() if line.split(" = ")[0] not in left_out]
    asked = tmp_path / "incident.toml"
    asked.write_text("\n".join(kept))
    affected = forensics.read_logs(sample / "logs", incident=asked).affected.polars()
    true = truth.filter(pl.col("affected") == "true")
    assert set(affected["request_id"]) == set(true["lobby_id"])
    assert {tuple(reasons) for reasons in affected["reasons"]} == {(reason,)}


def test_a_host_that_logs_neither_clears_nobody(sample, truth, tmp_path):
    text = (sample / "incident.toml").read_text()
    gone = ("slots", "handle", "found")
    asked = tmp_path / "incident.toml"
    asked.write_text("\n".join(line for line in text.splitlines() if not line.startswith(gone)))
    case = forensics.read_logs(sample / "logs", incident=asked)
    undelivered = set(truth.filter(pl.col("affected") == "false")["lobby_id"])
    unknown = set(case.not_assessable.polars()["request_id"])
    assert unknown >= set(truth["lobby_id"]) - undelivered


def test_the_page_does_what_it_says(sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in commands.splitlines():
        name, *arguments = shlex.split(line)
        assert name == "forensics"
        assert run(arguments) == 0
    (mapping,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    stated = tomllib.loads((sample / "incident.toml").read_text())
    assert tomllib.loads(mapping).items() <= stated.items()
