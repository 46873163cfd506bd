"""Lines that lost their begin, their end or a byte: read, or unreadable, never passed over."""

import json
from pathlib import Path

import polars as pl
import pytest

from forensics.sources import blocks

DATA = Path(__file__).parents[1] / "_data" / "sources"
LOGS = ["vllm.log", "sglang.log", "plain.ndjson", "other/spans.jsonl"]
ADDED = "INFO 02-03 04:00:00 [async_llm.py:316] Added request over-1."
QUIET = "INFO 02-03 04:00:00 [loggers.py:111] Engine 000: nothing of use"
BAR = "Capturing CUDA graphs: 100%|####| 35/35"


def _rows(seen):
    return seen.rows.drop("source_node", strict=False)


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("size", [blocks.READ_BYTES, 7])
def test_carriage_returns_end_lines_as_line_feeds_do(read, monkeypatch, log, size):
    data = (DATA / log).read_bytes()
    alone = read(data, "a/x.log")
    monkeypatch.setattr(blocks, "READ_BYTES", size)
    for end in (b"\r", b"\r\n"):
        seen = read(data.replace(b"\n", end), f"{len(end)}/x.log")
        assert _rows(seen).equals(_rows(alone))
        assert seen.facts.read == alone.facts.read
        assert seen.facts.ignored == alone.facts.ignored


def test_parquet_is_no_text(read, tmp_path):
    path = tmp_path / "x.parquet"
    ids = [f"r\r{at}" if at == 3 else f"r-{at}" for at in range(9)]
    pl.DataFrame({"request_id": ids, "prompt_tokens": range(9)}).write_parquet(
        path, compression="uncompressed"
    )
    assert read(path.read_bytes(), "x.parquet").facts.kept == 9


def test_a_record_behind_a_progress_bar_is_read(read):
    seen = read(f"{QUIET}\n{BAR}\r{BAR}\r{ADDED}\n", "node.log")
    assert seen.column("request_id") == ["over-1"]
    lines = [QUIET, f"{BAR}\r{ADDED}"]
    docker = [{"log": f"{x}\n", "stream": "stderr", "time": "2026-02-03T04:00:00Z"} for x in lines]
    seen = read("\n".join(map(json.dumps, docker)), "node.log")
    assert seen.column("request_id") == ["over-1"]
    assert seen.column("line") == [2]


@pytest.mark.parametrize("before", ["\0" * 4096, f"{BAR} ", QUIET[:30], "x" * 300 + " "])
def test_a_record_behind_other_text_in_its_line_is_unreadable(read, before):
    seen = read(f"{QUIET}\n{before}{ADDED}\n{QUIET}\n", "node.log")
    assert [one.line for one in seen.facts.unread] == [2]


@pytest.mark.parametrize("between", ["", "2026-02-03T04:00:00.123456789Z stdout F "])
def test_two_lines_in_one_are_two_that_are_unreadable(read, between):
    boot = "INFO 02-03 04:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 49,152 tokens"
    for first in (boot, ADDED, QUIET):
        seen = read(f"{QUIET}\n{first}{between}{ADDED}\n", "node.log")
        assert len(seen.facts.unread) == (1 if first == QUIET else 2)
        assert {one.line for one in seen.facts.unread} == {2}


def test_a_log_line_that_a_prompt_quotes_is_none(read):
    line = ADDED.replace("Added request over-1.", "Received request r-1: prompt: ")
    line += f"'{ADDED}', params: SamplingParams(n=1), prompt_token_ids: [1], lora_request: None."
    assert not read(f"{QUIET}\n{line}\n", "node.log").facts.unread


@pytest.mark.parametrize("left", [10, 21, 30, 37, 43, 50])
def test_a_last_line_that_was_cut_off_is_unreadable(read, left):
    seen = read(f"{QUIET}\n{ADDED[:left]}", "node.log")
    assert [(one.line, one.reason) for one in seen.facts.unread] == [(2, "line cut off")]


@pytest.mark.parametrize(
    "line", [ADDED.replace("Added", "Add\udcffd"), "[2026-02-03 04:00:00] Prefi\udcff batch, #new"]
)
def test_a_line_of_the_engine_with_a_damaged_byte_is_unreadable(read, line):
    own = QUIET if "Add" in line else "[2026-02-03 04:00:00] The server is fired up"
    text = f"{own} and ready to roll!\n{line}\n"
    seen = read(text.encode("utf-8", "surrogateescape"), "node.log")
    assert [(one.line, one.reason) for one in seen.facts.unread] == [(2, "invalid UTF-8")]


def test_what_other_programs_print_stays_other_lines(read):
    lines = [BAR, "ERROR", "INFO: started", "  INFO 02-03", "caf\u00e9 \ufffd", f'quoted "{QUIET}"']
    seen = read("\n".join([QUIET, *lines]), "node.log")
    assert not seen.facts.unread


LOOKUP = (
    "[2026-02-03 04:00:00,123] LMCache INFO: Reqid: over-1, Total tokens 60000, "
    "LMCache hit tokens: 0, need to load: 0"
)
STORED = (
    "[2026-02-03 04:00:00,100] LMCache INFO: [req_id=a] Stored 5 out of total 5 tokens. size: 1"
)
TRT = "[02/03/2026-04:00:00] [TRT-LLM] [I] "
POOL = f"{TRT}[MemUsageChange] Allocated 1.00 GiB for max tokens in paged KV cache (49152)."
EPP = json.dumps({"msg": "Request handled", "x-request-id": "over-1", "ts": 1770091200.5})
OWN = {
    "LMCache": (STORED, LOOKUP),
    "TensorRT-LLM": (f"{TRT}nothing of use", POOL),
    "the endpoint picker": (EPP.replace("over-1", "r-1"), EPP),
}
MOVED = {
    "a bar": "[##  ] 37%{}",
    "white space": "   {}",
    "zeros": "\0\0{}",
    "a mark of order": "\ufeff{}",
    "words": "Loading {}",
}


@pytest.mark.parametrize(("before", "line"), OWN.values(), ids=OWN)
@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
def test_a_line_that_was_moved_is_read_or_unreadable(read, before, line, moved):
    facts = read(f"{before}\n{line}\n", "a/node.log").facts
    assert (facts.kept, facts.unread) == (facts.kept, [])
    seen = read(f"{before}\n{moved.format(line)}\n", "b/node.log").facts
    assert seen.kept + len(seen.unread) == facts.kept


@pytest.mark.parametrize("end", range(len(TRT) + 3, len(POOL) - 2, 7))
def test_a_pool_that_was_cut_off_is_unreadable(read, end):
    seen = read(f"{TRT}nothing of use\n{POOL[:end]}\n", "node.log").facts
    assert [one.line for one in seen.unread] == [2]


def test_two_lines_in_one_are_two(read):
    for line, other in ((POOL, POOL), (f"{TRT}nothing of use", POOL), (STORED, LOOKUP)):
        seen = read(f"{line}\n{line}{other}\n", "node.log").facts
        assert [one.line for one in seen.unread] == [2, 2]


def test_lines_of_a_cache_are_the_engines_own_but_for_those_of_anothers_process(read):
    own = (DATA / "sglang.log").read_bytes()
    alone = read(own, "a/node.log").facts
    short = "[2026-02-03 04:00:00,200] LMCache INFO: [req_id=over-1] Retrieved 5 out of 9 required "
    short += "tokens (from 9 total tokens)."
    lines = f"{LOOKUP}\n{STORED}\n{short}\n{short.replace('over-1', 'None')}\n" * 40
    seen = read(own + lines.encode(), "b/node.log")
    assert seen.facts.format == "sglang"
    assert seen.facts.unread == alone.unread
    assert seen.facts.kept == alone.kept + 80
    cached = seen.rows.filter(request_id="over-1")
    assert set(cached["prompt_tokens"].drop_nulls()) == {60_000}
    assert set(cached["transferred_tokens"].drop_nulls()) == {5}
    assert "None" not in seen.rows["request_id"]
    other = read(own + f"(EngineCore_0 pid=7) {LOOKUP}\n".encode(), "c/node.log").facts
    assert len(other.unread) == len(alone.unread) + 1


PRINTED = {
    "LMCache": (STORED, LOOKUP),
    "TensorRT-LLM": (POOL, f"{TRT}nothing of use"),
    "TensorRT-LLM without a time": ("[TensorRT-LLM][INFO] max_seq_len=5, max_", POOL),
    "Mooncake": ("E0203 04:00:00.123456 7 x.cpp:5] transfer failed", BAR),
    "records": (EPP, EPP.replace("over-1", "r-1")),
}


@pytest.mark.parametrize("pair", PRINTED.values(), ids=PRINTED)
def test_a_record_that_was_printed_over_is_unreadable_and_the_last_one_read(read, pair):
    lines = ["\r".join(pair), QUIET if BAR in pair else pair[1]]
    docker = [{"log": f"{x}\n", "stream": "stderr", "time": "2026-02-03T04:00:00Z"} for x in lines]
    seen = read("\n".join(map(json.dumps, docker)), "node.log").facts
    assert [one.line for one in seen.unread] == [1]
    assert seen.read == 3


def test_a_line_in_brackets_ends_where_its_record_goes_on(read):
    log = [x for x in (DATA / "sglang.log").read_text().splitlines() if x.startswith("[")]
    entry = {"stream": "stderr", "time": "2026-02-03T04:00:00Z"}
    seen = read("\n".join(json.dumps(entry | {"log": f"{x}\n  more\n"}) for x in log), "b/node.log")
    alone = read("\n".join(log), "a/node.log")
    assert seen.facts.kept == alone.facts.kept
    assert not seen.facts.unread
