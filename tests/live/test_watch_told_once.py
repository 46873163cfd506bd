"""Each request is told once at a tier: whatever is learnt of it later, and if nothing names it."""

import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.known import Finding, Known
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

SHORT = {"hop": "decode", "reserved_pages": 8, "transferred_pages": 1, "completion_tokens": 20,
         "http_status": 200, "prompt_tokens": 512}  # fmt: skip
AT = "2026-09-01T10:00:00Z"


@pytest.fixture
def lives(tmp_path: Path):
    """Let a watch live once for each piece of a log; return what all of them told."""
    log, out, state = tmp_path / "log.ndjson", tmp_path / "found", tmp_path / "state"

    def live(*pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for number, piece in enumerate(pieces):
            with log.open("a") as file:
                file.write("".join(json.dumps(record) + "\n" for record in piece))
            (scratch := tmp_path / f"scratch-{number}").mkdir()
            watch = Watch([str(log)], Incident(), scratch, Output(out, ()), state, Asked())
            watch.step(last=True)
            watch.close()
        lines = out.read_text().splitlines() if out.exists() else []
        listed = forensics.read_logs(log).affected.polars().height
        assert len(lines) == listed, "as many as a report lists"
        return [json.loads(line) for line in lines]

    return live


def test_requests_that_nothing_names_are_told_each(lives):
    same = SHORT | {"received_at": AT}
    told = lives([same, same, SHORT | {"received_at": "2026-09-01T10:00:01Z"}], [same])
    assert len({one["finding_id"] for one in told}) == 4


def test_one_record_whose_counts_do_not_agree_is_looked_at_without_an_id(lives):
    counts = {"hop": "decode", "received_at": AT, "prefill_prompt_tokens": 70,
              "decode_prompt_tokens": 9_000, "completion_tokens": 4}  # fmt: skip
    lives([counts])


@pytest.mark.parametrize("later", [{"tenant_id": "t"}, {"received_at": AT}, {"model": "m"}])
def test_what_a_gateway_says_later_is_no_other_request(lives, later):
    early = SHORT | {"request_id": "r", "transfer_id": "7", "released_at": "2026-09-01T10:00:05Z"}
    gateway = {"hop": "gateway", "request_id": "r", "http_status": 200, "prompt_tokens": 512}
    assert [one["request_id"] for one in lives([early], [gateway | later])] == ["r"]


def test_one_that_takes_its_name_from_a_later_record_is_no_other_request(lives):
    early = SHORT | {"request_id": "d-1", "transfer_id": "7", "received_at": AT}
    later = {"hop": "gateway", "request_id": "r", "transfer_id": "7", "tenant_id": "t",
             "received_at": AT, "http_status": 200, "prompt_tokens": 512}  # fmt: skip
    assert len(lives([early], [later])) == 1


def finding(name: str, *records: tuple[int, int], tier: str = "probable") -> Finding:
    return Finding({"finding_id": name, "tier": tier}, records)


def test_a_finding_is_known_by_its_records_until_it_is_surer():
    known = Known([finding("a", (1, 1)).entry], ["from the output"])
    assert known.new([finding("b", (1, 1), (2, 5))]) == []
    assert known.new([finding("c", (2, 5))]) == [], "its further records are remembered"
    surer = finding("b", (1, 1), tier="confirmed")
    assert known.new([surer]) == [surer]
    (only,) = known.new([finding("from the output", (9, 9)), finding("a", (1, 1))])
    assert known.is_told(only.id), "whose records nothing remembers, but not its id"


def test_of_several_that_share_a_record_one_was_told():
    known = Known([finding("a", (1, 1), (2, 1)).entry], [])
    tries = [finding("x", (1, 1), (3, 1)), finding("y", (1, 1), (2, 1))]
    assert [one.id for one in known.new(tries)] == ["x"], "the other's own record was told"
    again = Known([finding("a", (1, 1)).entry], [])
    assert len(again.new(tries)) == 1


def test_another_of_the_same_name_gets_an_id_of_its_own():
    known = Known([finding("a", (1, 1)).entry], [])
    (new,) = known.new([finding("a", (1, 1)), finding("a", (1, 2))])
    assert new.records == ((1, 2),)
    assert new.id != "a"
