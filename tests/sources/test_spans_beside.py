"""Spans among the lines of a log: none is passed over, whatever stands beside it."""

import json
from pathlib import Path

import pytest

from forensics.sources import blocks

DATA = Path(__file__).parents[1] / "_data" / "sources"
SGLANG = (DATA / "sglang_json" / "spans.jsonl").read_text().splitlines()
CALLERS = (DATA / "other" / "spans.jsonl").read_text().splitlines()
STRAY = {
    "sglang": "[2026-02-03 04:00:00] The server is fired up and ready to roll!",
    "vllm": "INFO 02-03 04:00:00 [loggers.py:111] Engine 000: nothing of use",
}
CHILD = next(line for line in SGLANG if "dp_rank" in line and "sglang::request" not in line)


def _rows(seen):
    return seen.rows.drop("line", "source_node").sort("request_id", "hop").to_dicts()


@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("lines", [SGLANG, CALLERS], ids=["sglang", "callers"])
def test_spans_beside_a_line_of_an_engine_are_read_as_in_a_file_of_their_own(
    read, stray, first, lines
):
    alone = read("\n".join(lines), "a/traces.jsonl")
    both = [STRAY[stray], *lines] if first else [*lines, STRAY[stray]]
    seen = read("\n".join(both), "b/traces.jsonl")
    assert _rows(seen) == _rows(alone)
    assert seen.facts.ignored["other span"] == alone.facts.ignored["other span"]
    spans = "log records beside spans"
    assert seen.facts.ignored["other record"] == alone.facts.ignored[spans]


def test_spans_that_belong_together_are_put_together_across_pieces_of_a_file(read, monkeypatch):
    text = "\n".join([STRAY["vllm"], *SGLANG])
    whole = _rows(read(text, "a/traces.jsonl"))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    assert _rows(read(text, "b/traces.jsonl")) == whole


@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize(
    "put",
    [
        lambda line: f"2026-02-03 04:00:00 collector: {line}",
        lambda line: json.dumps(json.loads(line), indent=2),
        lambda line: json.dumps({"log": line, "stream": "stdout", "time": "2026-02-03T04:00:00Z"}),
    ],
    ids=["prefix", "spread", "wrapped"],
)
def test_a_document_of_child_spans_alone_is_unreadable_where_it_is_not_a_line(read, stray, put):
    seen = read(f"{STRAY[stray]}\n{put(CHILD)}\n{STRAY[stray]}\n", "node.log")
    assert [one.line for one in seen.facts.unread] == [2]


def test_a_callers_span_with_a_rank_stays_a_request(read):
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7, "dp_rank": 3}
    listed = [
        {"key": key, "value": {"intValue": of} if isinstance(of, int) else {"stringValue": of}}
        for key, of in attributes.items()
    ]
    span = {"traceId": "t", "spanId": "s", "name": "chat m", "attributes": listed}
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    seen = read("\n".join([json.dumps(document), *SGLANG]), "traces.jsonl")
    assert 7 in seen.column("prompt_tokens")
