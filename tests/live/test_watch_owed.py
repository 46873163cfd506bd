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


@pytest.mark.parametrize("first", [ASKED, (*ASKED, "--fail-on", "probable")])
@pytest.mark.parametrize("states", [(False, False), (False, True), (True, True)])
def test_a_finding_that_the_output_holds_still_fails_a_run_that_knows_of_no_other(
    tmp_path, capsys, first, states
):
    log, out, state = tmp_path / "a.ndjson", tmp_path / "found", tmp_path / "state"
    rows = [SHORT | {"request_id": name} for name in ("r1", "r2", "r3")]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before, after = (("--state", str(state)) if with_state else () for with_state in states)
    run(["watch", str(log), "-o", str(out), *before, *first])
    told = out.read_text()
    state.unlink(missing_ok=True)
    capsys.readouterr()
    again = ["watch", str(log), "-o", str(out), *after, "--once", "--fail-on", "probable"]
    assert run(again) == 11
    assert f"3 already told in {out}" in capsys.readouterr().err
    assert out.read_text() == told
    # A state remembers that a run has ended for them; without one each begins anew.
    assert run(again) == (0 if after else 11)
    assert out.read_text() == told


def test_a_place_that_cannot_be_written_to_is_wrong_use_and_a_new_folder_is_made(tmp_path, capsys):
    log = tmp_path / "a.ndjson"
    log.write_text(json.dumps(SHORT | {"request_id": "r1"}) + "\n")
    new = tmp_path / "new" / "folder"
    places = ("-o", str(new / "f"), "--state", str(new / "s"), "--textfile", str(new / "t.prom"))
    assert run(["watch", str(log), *places, *ASKED]) == 0
    assert (new / "f").is_file()
    capsys.readouterr()
    for option, place in (("-o", tmp_path), ("-o", log / "x"), ("--state", log / "x" / "y")):
        assert run(["watch", str(log), option, str(place), *ASKED]) == 2
        assert "fault of the program" not in capsys.readouterr().err


def test_what_is_no_log_at_all_is_no_input(tmp_path, capsys):
    log, state = tmp_path / "a.log", ("--state", str(tmp_path / "state"))
    log.write_text("one\ntwo\n" * 9)
    assert run(["watch", str(log), "-o", str(tmp_path / "f"), *ASKED]) == 4
    assert "nothing readable" in capsys.readouterr().err
    # A log of which some was read is one, whatever comes next.
    whole = tmp_path / "b.ndjson"
    whole.write_text(json.dumps(SHORT | {"request_id": "r1"}) + "\n")
    assert run(["watch", str(whole), *state, *ASKED]) == 0
    with whole.open("a") as file:
        file.write("{\n")
    assert run(["watch", str(whole), *state, *ASKED]) == 3
