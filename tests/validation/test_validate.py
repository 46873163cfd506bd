"""Error rates on seeded incidents: what is measured, what is kept, what a report says of it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from forensics._version import __version__
from forensics.assemble import bounds
from forensics.cli import run
from forensics.errors import Exit
from forensics.validation import measure
from forensics.validation.results import Interval, Results, encode, shown, stored
from forensics.validation.situations import SITUATIONS


@pytest.fixture(scope="module")
def one() -> Results:
    return measure.validate(seeds=1)


def test_a_seeded_incident_is_found_from_whatever_is_left_of_its_logs(one: Results) -> None:
    assert [situation.name for situation in one.situations] == [s.name for s in SITUATIONS]
    for situation in one.situations:
        assert situation.affected > 5
        assert situation.ruled_out == 0
        assert situation.recall.found == situation.recall.of == situation.affected
        assert situation.precision.found == situation.precision.of
    whole, hour, half, alone, sampled = one.situations
    assert whole.sure.found == whole.affected
    assert hour.sure.found <= whole.affected
    assert half.sure.found == alone.sure.found == 0
    assert sampled.affected < whole.affected
    assert whole.covered == Interval(1, 1, 0.025, 1.0)


def test_the_kept_result_is_of_this_version_and_starts_at_the_same_seed() -> None:
    kept = stored()
    assert kept is not None
    assert kept.version == __version__
    assert (kept.first_seed, kept.seeds) == (measure.FIRST_SEED, measure.SEEDS)
    assert [situation.name for situation in kept.situations] == [s.name for s in SITUATIONS]


@pytest.mark.long
def test_the_kept_result_is_what_a_run_gives() -> None:
    assert measure.validate() == stored()


def test_a_report_says_what_was_measured_or_that_nothing_was(monkeypatch) -> None:
    said = bounds.error_rates()
    assert f"Version {__version__} was validated on 20 seeded incidents" in said.sentence
    assert len(said.rates) == len(SITUATIONS)
    kept = stored()
    older = Results("0.0.1", kept.first_seed, kept.seeds, kept.situations)
    monkeypatch.setattr(bounds, "stored", lambda: older)
    assert "was not validated" in bounds.error_rates().sentence
    assert "0.0.1" in bounds.error_rates().sentence
    assert bounds.error_rates().rates == []
    monkeypatch.setattr(bounds, "stored", lambda: None)
    assert bounds.error_rates().rates == []


def test_the_command_prints_and_keeps_what_was_measured(
    one: Results, monkeypatch, capfd, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setattr(measure, "validate", lambda seeds: asked.append(seeds) or one)
    assert run(["validate", "--seeds", "1"]) == Exit.COMPLETE
    assert "precision of confirmed and probable" in capfd.readouterr().out
    assert run(["validate", "--seeds", "1", "--json"]) == Exit.COMPLETE
    assert json.loads(capfd.readouterr().out) == json.loads(encode(one))
    monkeypatch.setattr("forensics.validation.__file__", str(tmp_path / "__init__.py"))
    assert run(["validate", "--seeds", "1", "--write"]) == Exit.COMPLETE
    assert (tmp_path / "results.json").read_bytes() == encode(one)
    assert asked == [1, 1, 1]


def test_an_affected_response_that_is_ruled_out_is_a_fault(one: Results, monkeypatch) -> None:
    counts = Counter(affected=9, sure=8, right=8, listed=8, sure_right=8, covered=0, ruled_out=1)
    bad = measure._situation("all logs", 1, counts)
    found = Results(one.version, 1, 1, [bad])
    monkeypatch.setattr(measure, "validate", lambda _: found)
    assert run(["validate"]) == Exit.MISMATCH


def test_a_share_of_nothing_is_no_share() -> None:
    assert shown(Interval(0, 0, None, None)) == "nothing to count"
    assert shown(Interval(3, 4, 0.194, 0.9937)) == "3 of 4 (19.4 to 99.4 %)"
