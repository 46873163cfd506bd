"""Where in a file an unread line begins: its number and its first byte."""

from pathlib import Path

import pytest

import forensics
from forensics.sources import textlines

GOOD = "[2026-08-28 03:14:06 DP0 TP0] naïve line of no use"
STATS = "[2026-08-28 03:14:06 DP0 TP0] ReqTimeStats(rid=CANARY, "
RECORD = '{"timestamp": "2026-08-28T03:14:06.000000", "event": "request.finished", "rid": "a"'
VLLM = "INFO 02-03 12:00:00 [async_llm.py:316] Added request chatcmpl-a."


@pytest.mark.parametrize(
    ("lines", "bad"),
    [
        ([GOOD, STATS + "x", GOOD, STATS + "y", ""], [1, 3]),
        ([RECORD + "}", RECORD, RECORD + "}", RECORD], [1, 3]),
        ([GOOD, RECORD, GOOD, STATS], [1, 3]),
        ([VLLM, VLLM, "  " + VLLM], [2]),
    ],
    ids=["text", "records", "mixed", "vllm"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [64, 16 << 20])
def test_a_line_is_found_by_its_offset(tmp_path: Path, monkeypatch, lines, bad, end, piece):
    monkeypatch.setattr(textlines, "TEXT_BYTES", piece)
    log = tmp_path / "node-0.log"
    data = end.join([*lines, ""]).encode()
    log.write_bytes(data)
    (facts,) = forensics.read_logs(log).analysis.files
    found = sorted((one.line, one.offset) for one in facts.unread)
    assert [line - 1 for line, _ in found] == bad
    assert [data[at:].split(end.encode())[0].decode() for _, at in found] == [lines[n] for n in bad]
