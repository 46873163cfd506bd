"""A run that was killed between telling and ending: the next one repeats nothing, and ends so."""

import json
from pathlib import Path

import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.live.watch.watch import Watch

SHORT = {"hop": "decode", "completion_tokens": 20, "http_status": 200, "reserved_pages": 8,
         "transferred_pages": 1, "received_at": "2026-09-01T10:00:01Z"}  # fmt: skip
ASKED = ("--once", "-q")


class KilledError(BaseException):
    """The run is over, from one moment to the next."""


@pytest.fixture
def watched(tmp_path: Path):
    """Let a watch live once, over one more request; return its exit code and what all told."""
    log, out = tmp_path / "a.ndjson", tmp_path / "found"

    def live(*names: str, options: tuple[str, ...] = ASKED) -> tuple[int, list[str]]:
        with log.open("a") as file:
            file.writelines(json.dumps(SHORT | {"request_id": name}) + "\n" for name in names)
        places = ("-o", str(out), "--state", str(tmp_path / "state"))
        code = run(["watch", str(log), *places, *options])
        return code, [json.loads(line)["request_id"] for line in out.read_text().splitlines()]

    return live


def test_a_run_that_was_killed_before_it_could_end_is_ended_for(watched, monkeypatch):
    failing = (*ASKED, "--fail-on", "probable")

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "end", killed)
        assert watched("r1", options=failing) == (Exit.UNEXPECTED, ["r1"])
    assert watched(options=(*ASKED, "--fail-on", "confirmed")) == (0, ["r1"]), "not for that"
    assert watched(options=failing) == (11, ["r1"])
    assert watched(options=failing) == (0, ["r1"])
    assert watched("r2", options=failing) == (11, ["r1", "r2"])


def test_what_was_told_into_a_file_that_is_moved_aside_is_not_told_again(watched, tmp_path):
    watched("r1")
    (tmp_path / "found").rename(tmp_path / "found.1")
    assert watched("r2") == (0, ["r2"])


def test_what_was_cut_off_the_file_is_told_again(watched, tmp_path):
    watched("r1", "r2")
    told = (tmp_path / "found").read_bytes()
    (tmp_path / "found").write_bytes(told[:-100])
    assert watched("r3") == (0, ["r1", "r2", "r3"])
