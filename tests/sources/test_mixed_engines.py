"""A file with lines of two engines is the log of the one that most lines speak for."""

from pathlib import Path

import pytest

from forensics.checking.checked import check_logs

DATA = Path(__file__).parents[1] / "_data" / "sources"
LINE = {
    "sglang": "[2026-02-03 04:00:00] The server is fired up and ready to roll!\n",
    "vllm": "INFO 02-03 04:00:00 [loggers.py:111] Engine 000: nothing of use\n",
}
OTHER = {"sglang": "vllm", "vllm": "sglang"}
LOG = {
    "vllm": (DATA / "vllm.log").read_text(),
    "sglang": LINE["sglang"] * 4 + (DATA / "sglang.log").read_text(),
}
LOST = "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). "
SEEN = {
    "sglang": f"[2026-02-03 04:00:00] {LOST}\n",
    "vllm": "INFO 02-03 04:00:00 [async_llm.py:316] Added request over-1.\n",
}


@pytest.mark.parametrize("engine", LOG)
@pytest.mark.parametrize("first", [True, False])
def test_a_line_of_another_engine_makes_no_other_log_of_a_file(read, engine, first):
    alone = read(LOG[engine], f"a/{engine}.log")
    stray = SEEN[OTHER[engine]]
    seen = read(stray + LOG[engine] if first else LOG[engine] + stray, f"b/{engine}.log")
    assert seen.facts.format == alone.facts.format == engine
    assert seen.facts.kept == alone.facts.kept
    assert len(seen.facts.unread) == len(alone.facts.unread) + 1


@pytest.mark.parametrize("engine", LOG)
def test_what_other_programs_print_ahead_gives_no_weight(read, engine):
    noise = "something of another program\n" * 300
    stray, own = SEEN[OTHER[engine]], LINE[engine]
    assert read(noise + stray + own * 9, "node.log").facts.format == engine


@pytest.mark.parametrize("engine", LOG)
def test_lines_of_the_fewer_leave_the_evidence_incomplete(tmp_path, engine):
    log = tmp_path / "node.log"
    log.write_text(SEEN[OTHER[engine]] + LOG[engine])
    assert "unreadable" in {gap.code for gap in check_logs(log).gaps}
