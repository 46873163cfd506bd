"""An engine's log and a gateway's records put together into one file."""

import json

import pytest

import forensics
from forensics.checking.checked import check_logs
from forensics.sources.strangers import ASKED

ENGINES = {
    "vllm": "INFO 02-03 04:00:00 [loggers.py:111] Engine 000: nothing of use\n",
    "sglang": "[2026-02-03 04:00:00] The server is fired up and ready to roll!\n",
}
GATEWAY = {
    "x-request-id": "over",
    "start_time": "2026-02-03T04:00:00.250Z",
    "duration": 100,
    "response_code": 200,
    "response_flags": "-",
    "gen_ai.request.model": "acme/chat-9b",
    "gen_ai.usage.input_tokens": 52_310,
    "gen_ai.usage.output_tokens": 9,
}
STRANGE = '{"program": "other", "text": "CANARY-words"}\n'


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gateway_first", [False, True])
def test_both_are_read_and_each_line_counts_once(read, engine, gateway_first):
    own, record = ENGINES[engine], f"{json.dumps(GATEWAY)}\n"
    seen = read(record + own * 4 if gateway_first else own * 3 + record + own, "node-1.log")
    assert seen.column("request_id") == ["over"]
    assert seen.column("line") == [1 if gateway_first else 4]
    assert seen.facts.format == " + ".join(sorted(["envoy-ai-gateway", engine]))
    assert seen.facts.read == 5


STATS = (
    "[2026-02-03 04:00:01 DP0 TP0] ReqTimeStats(rid=r-1, bootstrap_room=17, input_len=701234, "
    "cached_input_len=0, output_len=90, attempts=0, type=decode): bootstrap_duration=14.00ms, "
    "forward_duration=2530.00ms, entry_time=1770091201.032"
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        {"log": STATS + "\n", "stream": "stderr", "time": "2026-02-03T04:00:01.000000000Z"},
        {"MESSAGE": STATS, "__REALTIME_TIMESTAMP": "1770091201000000", "_HOSTNAME": "n1"},
    ],
    ids=["docker", "journald"],
)
def test_an_engines_line_within_a_record_of_no_format_is_unreadable(read, engine, line):
    """As where a collector's wrapper stands around lines of a log that is bare otherwise."""
    seen = read(ENGINES[engine] * 3 + f"{json.dumps(line)}\n{STRANGE}", "node-1.log")
    assert [unread.line for unread in seen.facts.unread] == [4]
    assert seen.facts.ignored["other record"] == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_json_of_no_format_is_an_other_record(read, engine):
    seen = read(ENGINES[engine] + STRANGE * 3 + f"{json.dumps(GATEWAY)}\n", "node-1.log")
    assert seen.column("request_id") == ["over"]
    assert seen.facts.ignored["other record"] == 3
    assert not seen.facts.notes[ASKED]
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "alike",
    [
        {"rid": "r-1", "event": "request.finished"},
        {"event": "request.done", "rid": "r-1", "obj": {}},
        {"asctime": "2026-02-03 04:00:00,250", "levelname": "INFO", "message": "done"},
    ],
)
def test_a_gateway_may_use_words_of_the_engine(read, engine, alike):
    seen = read(ENGINES[engine] * 2 + f"{json.dumps(GATEWAY | alike)}\n", "node-1.log")
    assert seen.column("prompt_tokens") == [52_310]
    assert "envoy-ai-gateway" in seen.facts.format


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "fields",
    [
        {"usage": {"prompt_tokens": 52_310}},
        {"event": "request.done", "rid": "r-1", "promptTokens": 1, "prompt_tokens": 2},
        {"levelname": "INFO", "message": "CANARY", "status": 200},
    ],
)
def test_a_record_of_a_request_in_no_known_format_is_counted_as_that(read, engine, fields):
    record = json.dumps({"program": "other", "text": "CANARY-words"} | fields)
    seen = read(ENGINES[engine] + f"{record}\n" * 2 + ENGINES[engine], "node-1.log")
    assert seen.facts.ignored["other record"] == 2
    assert seen.facts.notes[ASKED] == 2
    assert seen.facts.format == engine
    assert "CANARY" not in repr(seen.facts)


def test_a_text_that_holds_such_a_field_makes_no_request(read):
    record = json.dumps({"program": "other", "text": '{"usage": {"prompt_tokens": 1}}'})
    assert not read(ENGINES["vllm"] + f"{record}\n", "node-1.log").facts.notes[ASKED]


def test_what_was_not_read_makes_the_evidence_incomplete(tmp_path):
    log = tmp_path / "node-1.log"
    log.write_text(ENGINES["sglang"] * 2 + '{"usage": {"prompt_tokens": 52310}}\n')
    said = forensics.read_logs(log).exposure().headline.incomplete
    assert f"1 record in logs that were not read: {ASKED}" in said
    assert "records_not_known" in {gap.code for gap in check_logs(log).gaps}


def test_records_of_the_engine_stay_its_own(read):
    finished = {"rid": "r-1", "event": "request.finished", "timestamp": "2026-02-03T04:00:01"}
    finished |= {"out": {"meta_info": {"prompt_tokens": 7}}}
    seen = read(ENGINES["sglang"] + f"{json.dumps(finished)}\n", "node-1.log")
    assert seen.facts.ignored["other record"] == 0
    assert seen.column("request_id") == ["r-1"]


def test_a_broken_line_behind_others_has_its_own_number_and_no_offset(read):
    record = f"{json.dumps(GATEWAY)}\n"
    seen = read(ENGINES["sglang"] + record * 2 + '{"event": "request.fin\n', "node-1.log")
    (unread,) = seen.facts.unread
    assert (unread.line, unread.offset) == (4, None)


@pytest.mark.parametrize("bare", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_spoils_its_own_field_alone(read, bare):
    record = json.dumps(GATEWAY | {"gen_ai.usage.output_tokens": float(bare), "text": "NaN, x"})
    seen = read(f"{record}\n", "access.jsonl", form="envoy-ai-gateway")
    assert seen.column("prompt_tokens") == [52_310]
    assert seen.column("completion_tokens") == [None]
    assert sum(seen.facts.bad_values.values()) == 1
