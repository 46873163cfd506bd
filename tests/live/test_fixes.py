"""Each fix alone, as gate, canary and report judge it: by what left, not by what was set."""

import asyncio
import json
from pathlib import Path

import pytest

import forensics
from forensics.cli import run
from forensics.lab.engine import EngineOptions, LabEngine
from forensics.lab.engine.service import served

KEYS = {"lab-key-a": "lab-a", "lab-key-b": "lab-b"}
ACCOUNTS = ("--account", "lab-a=KEY_A", "--account", "lab-b=KEY_B")
OVER = {"limit", "limit + 1", "pool", "pool + 1"}


class Judged:
    """One engine under gate and canary, and the report on what all three left behind."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.logs = folder / "logs"
        self.records = [folder / "gate.ndjson", folder / "canary.ndjson"]
        asyncio.run(self._run(EngineOptions(step_seconds=0, **options)))  # type: ignore[arg-type]

    async def _run(self, options: EngineOptions) -> None:
        engine = LabEngine(options, self.logs)
        gate, canary = self.records
        async with served(engine, KEYS) as at:
            nodes = [f"prefill-01={at.prefill}", f"decode-01={at.decode}"]
            asked = ["gate", *nodes, "--record", str(gate)]
            self.gate = await asyncio.to_thread(run, asked)
            asked = ["canary", at.router, "--engine", at.prefill, "--fill", "3", *ACCOUNTS]
            asked += ["--record", str(canary), "--json"]
            self.canary = await asyncio.to_thread(run, asked)
        self.leaked = {one.request_id for one in engine.served if one.foreign}

    def reported(self, *more: Path) -> dict[str, tuple[str, list[str]]]:
        rows = forensics.read_logs(self.logs, *more).affected.polars()
        return {
            row["request_id"]: (row["tier"], row["reasons"]) for row in rows.iter_rows(named=True)
        }


@pytest.fixture
def judge(tmp_path, monkeypatch):
    monkeypatch.setenv("KEY_A", "lab-key-a")
    monkeypatch.setenv("KEY_B", "lab-key-b")
    return lambda **options: Judged(tmp_path, **options)


def verdicts(printed: str) -> dict[str, set[str]]:
    """What the canary said of each step, and what the gate printed before."""
    rows = json.loads(printed[printed.index("{") :])["asked"]
    return {
        step: {row["verdict"] for row in rows if row["step"] == step}
        for step in {row["step"] for row in rows}
    }


def test_without_a_fix_all_three_say_so(judge, capsys):
    done = judge()
    printed = capsys.readouterr().out
    assert (done.gate, done.canary) == (11, 11)
    assert "decode-01 accepts prompts of 2,554 to 4,089 tokens that prefill-01 rejects" in printed
    told = verdicts(printed)
    assert {step for step in told if told[step] == {"foreign marker"}} == OVER
    assert told["limit - 1"] == {"clean"}
    assert len(done.leaked) == 16
    by_logs = done.reported()
    assert set(by_logs) == done.leaked
    assert {tier for tier, _ in by_logs.values()} == {"probable"}
    by_marker = done.reported(*done.records)
    assert set(by_marker) == done.leaked
    assert {tier for tier, _ in by_marker.values()} == {"confirmed"}


FIXES = {
    # What is too long is refused at once, wherever it is; the pool stays too small to deploy.
    "edge_reject": (11, 0, "refused"),
    "retire_rejected": (11, 0, "refused"),
    # Nothing leaves, but the client is not told why: a 5xx after the fact.
    "check_length": (11, 11, "no clear 4xx"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("fix", FIXES)
def test_a_fix_that_stops_the_answer(judge, capsys, fix):
    gate, canary, verdict = FIXES[fix]
    done = judge(**{fix: True})
    told = verdicts(capsys.readouterr().out)
    assert (done.gate, done.canary) == (gate, canary)
    assert {step for step in told if told[step] == {verdict}} >= OVER
    assert told["limit - 1"] == {"clean"}
    assert done.leaked == set()
    assert done.reported() == {}
    assert done.reported(*done.records) == {}


def test_a_larger_pool_serves_what_was_refused(judge, capsys):
    done = judge(prefill_pool_tokens=8_192)
    told = verdicts(capsys.readouterr().out)
    assert (done.gate, done.canary) == (0, 0)
    # The limit is the window's now: both sides refuse from there on.
    assert (told["limit - 1"], told["limit"]) == ({"clean"}, {"refused"})
    assert done.leaked == set()
    assert done.reported() == {}
    assert done.reported(*done.records) == {}


def test_cleared_pages_keep_markers_in_but_the_answers_are_still_not_computed_from_the_prompt(
    judge, capsys
):
    # No log says that pages were cleared, and a prompt of which one page arrived was not
    # answered: the tier says that decode read pages it had not been sent, which is so.
    done = judge(clear_pages=True)
    told = verdicts(capsys.readouterr().out)
    assert (done.gate, done.canary) == (11, 11)
    assert {step for step in told if told[step] == {"served what cannot fit"}} == OVER
    assert done.leaked == set()
    for found in (done.reported(), done.reported(*done.records)):
        assert len(found) == 16
        assert {tier for tier, _ in found.values()} == {"probable"}
        assert all("placeholder_prefill" in reasons for _, reasons in found.values())


def test_the_gates_record_says_the_limit_where_no_log_does(judge, capsys):
    done = judge()
    capsys.readouterr()
    for name in ("prefill-01.log", "decode-01.log"):
        (done.logs / name).unlink()
    for given, limits in (([], {None}), (done.records[:1], {2_554})):
        case = forensics.read_logs(done.logs, *given)
        assert set(case.affected.polars()["input_limit_tokens"]) == limits
