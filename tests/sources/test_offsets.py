"""Where in a file an unread line begins: its number and its first byte."""

from pathlib import Path

import pytest

import forensics
from forensics.incident import Incident
from forensics.sources import textlines
from forensics.sources.files import expand
from forensics.sources.reading import Shard, read_shard

GOOD = "[2026-08-28 03:14:06 DP0 TP0] naïve line of no use"
STATS = "[2026-08-28 03:14:06 DP0 TP0] ReqTimeStats(rid=CANARY, "
RECORD = '{"timestamp": "2026-08-28T03:14:06.000000", "event": "request.finished", "rid": "a"'
VLLM = "INFO 02-03 12:00:00 [async_llm.py:316] Added request chatcmpl-a."


@pytest.mark.few(8)
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


ENTRY = '{"x-request-id": "r", "duration": 1, "gen_ai.usage.input_tokens": 5}'
CRI = "2026-08-28T03:14:06.1Z stdout F "


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"[{ENTRY}, 7]", "envoy-ai-gateway"),
        (f"[{ENTRY}]\n[7]\n", "envoy-ai-gateway"),
        (f"[{ENTRY}]\n{ENTRY}\n[broken\n", "envoy-ai-gateway"),
        ("[\nbroken\n", "envoy-ai-gateway"),
        (f"{CRI}{ENTRY}\n{CRI}{ENTRY[:-3]}\n", "envoy-ai-gateway"),
        (f"{CRI}{ENTRY}\n{CRI}{ENTRY[:-3]}\n", "plain-ndjson"),
        (f"{CRI}1,2\n", "trtllm-transfers"),
        (f"{CRI}broken\n", "trtllm-metrics"),
        (f"{CRI}broken\n", "genai-spans"),
    ],
)
def test_where_a_line_stands_elsewhere_no_offset_is_told(tmp_path: Path, text, form):
    log = tmp_path / "file.json"
    log.write_text(text)
    shard = Shard(tuple(expand(log)), Incident(), tmp_path / "parts", form)
    shard.folder.mkdir()
    (facts,) = read_shard(shard).files
    assert facts.unread
    assert {one.offset for one in facts.unread} == {None}
