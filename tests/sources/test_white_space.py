"""White space that something put before or behind the prefix of a line drops no request."""

from pathlib import Path

import pytest

import forensics

SGLANG = (
    "[2026-08-28 03:14:06 DP0 TP0]",
    (
        "ReqTimeStats(rid={}, bootstrap_room={}, input_len=9, cached_input_len=0, output_len=7, "
        "attempts=0, type=decode): bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, "
        "transfer_duration=156.89ms, queue_duration=4.00ms, forward_duration=49457.00ms, "
        "entry_time=1787788800.000"
    ),
)
VLLM = ("(APIServer pid=5) INFO 02-03 12:00:00 [async_llm.py:316]", "Added request chatcmpl-{}.")
SEEN = {SGLANG: "time-stats line not in a known form", VLLM: "log line behind white space"}


@pytest.fixture
def read(tmp_path: Path):
    def case(*lines: str) -> tuple[list[str], list[str], int]:
        (tmp_path / "decode-0.log").write_text("".join(f"{line}\n" for line in lines))
        found = forensics.read_logs(tmp_path / "decode-0.log")
        (facts,) = found.analysis.files
        ids = found.requests.polars()["request_id"].sort().to_list()
        return ids, [one.reason for one in facts.unread], facts.ignored["other line"]

    return case


@pytest.mark.parametrize("form", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_before_the_prefix_it_is_said(read, form):
    prefix, body = form
    first = f"{prefix} {body.format('a', 1)}"
    for space in (" ", "\t", "    "):
        moved = f"{space}{prefix} {body.format('b', 2)}"
        assert read(first, moved) == (["a"], [SEEN[form]], 0)


@pytest.mark.parametrize("form", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_behind_the_prefix_it_means_nothing(read, form):
    prefix, body = form
    lines = (f"{prefix} {body.format('a', 1)}", f"{prefix}  {body.format('b', 2)}")
    assert read(*lines) == (["a", "b"], [], 0)


@pytest.mark.parametrize("form", [SGLANG, VLLM], ids=["sglang", "vllm"])
def test_what_a_traceback_quotes_is_no_message(read, form):
    prefix, body = form
    quoted = "    " + body.format("CANARY", 2)
    assert read(f"{prefix} {body.format('a', 1)}", quoted) == (["a"], [], 1)
