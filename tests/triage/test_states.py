"""What an ingest counts of partitions takes their place, and never where it does not hold."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.ingest.run import ingest
from forensics.sources.ledger import Ledger, decode
from forensics.triage import scope as triage
from forensics.triage import shards


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of shards whose partitions were read."""
    read: list[str] = []
    data = shards.Shard.data

    def noted(shard: shards.Shard) -> object:
        read.append(shard.name)
        return data(shard)

    monkeypatch.setattr(shards.Shard, "data", noted)
    return read


def triaged(evidence: Path) -> triage.Scope:
    asked = triage.asked(evidence)
    assert isinstance(asked, triage.Asked)
    found = triage.scope(asked, workers=1, times=False)
    assert isinstance(found, triage.Scope)
    return found


def ledgers(evidence: Path) -> list[Ledger]:
    return [decode(path.read_bytes()) for path in sorted((evidence / "inputs").glob("*.json"))]


@pytest.fixture(scope="module")
def plainly(untimed: Path, tmp_path_factory: pytest.TempPathFactory) -> triage.Scope:
    """What the partitions alone give: all states are gone."""
    bare = tmp_path_factory.mktemp("bare") / "set"
    shutil.copytree(untimed, bare)
    shutil.rmtree(bare / "states")
    found = triaged(bare)
    assert len(found.unused) == 3
    return found


def test_partitions_are_read_only_where_they_matter(
    untimed: Path, plainly: triage.Scope, unread: list[str]
) -> None:
    found = triaged(untimed)
    assert found.unused == []
    assert len(unread) == len(set(unread))  # each once, for identifiers that are repeated
    assert found.affected.equals(plainly.affected)
    assert (found.sentence, found.incomplete) == (plainly.sentence, plainly.incomplete)


def test_no_partition_is_read_where_all_rows_are_quiet(
    fleet: SimpleNamespace, tmp_path: Path, unread: list[str]
) -> None:
    draw = random.Random(5)
    text = "".join(json.dumps(fleet.request(draw, number)) + "\n" for number in range(300))
    (tmp_path / "a.ndjson").write_text(text, encoding="utf-8")
    incident = tmp_path / "read.toml"
    incident.write_text('[logs]\nepoch_unit = "ms"\n', encoding="utf-8")
    ingest(tmp_path / "a.ndjson", out=tmp_path / "set", incident=incident)
    found = triaged(tmp_path / "set")
    assert (found.requests, found.kept) == (300, 4)  # one of each node, and the longest
    assert unread == []
    assert found.sentence == "No affected response was found among 300 requests."


def _cut(state: Path, other: Path) -> None:
    state.write_bytes(state.read_bytes()[:-1])


def _swap(state: Path, other: Path) -> None:
    state.write_bytes(other.read_bytes())


def _remove(state: Path, other: Path) -> None:
    state.unlink()


@pytest.mark.parametrize(
    "spoil", [_swap, *(pytest.param(way, marks=pytest.mark.long) for way in (_cut, _remove))]
)
def test_a_state_that_does_not_hold_is_named_and_not_used(
    untimed: Path, plainly: triage.Scope, tmp_path: Path, spoil: Callable[[Path, Path], None]
) -> None:
    copy = tmp_path / "set"
    shutil.copytree(untimed, copy)
    first, second, _ = sorted((copy / "states").iterdir())
    spoil(first, second)
    found = triaged(copy)
    assert len(found.unused) == 1
    assert first.name in found.unused[0]
    assert found.affected.equals(plainly.affected)
    assert found.sentence == plainly.sentence


def test_a_state_goes_with_its_partitions(untimed: Path, tmp_path: Path) -> None:
    """A set that is made of another one has the same states; verify holds each against its hash."""
    copy = tmp_path / "set"
    assert run(["ingest", str(untimed), "-o", str(copy), "-q"]) == Exit.COMPLETE
    assert [ledger.states for ledger in ledgers(copy)] == [
        ledger.states for ledger in ledgers(untimed)
    ]
    assert all(ledger.states for ledger in ledgers(copy))
    assert run(["verify", str(copy)]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    _cut(next((copy / "states").iterdir()), copy)
    assert run(["verify", str(copy)]) == Exit.MISMATCH


def test_without_times_needs_a_set_of_whole_requests(
    untimed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["scope", str(untimed), "-q", "--without-times"]) == Exit.INCOMPLETE
    assert capsys.readouterr().out.startswith("request_id,")
    (tmp_path / "a.ndjson").write_text('{"request_id": "a", "prompt_tokens": 1}\n')
    assert run(["scope", str(tmp_path), "-q", "--without-times"]) == Exit.USAGE
    assert "evidence sets" in capsys.readouterr().err
