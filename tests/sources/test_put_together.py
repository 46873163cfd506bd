"""Files of two formats put together: nothing of either is passed over without a word."""

import json
from pathlib import Path

import numpy as np
import pytest

from forensics.incident import Incident
from forensics.sources import registry
from forensics.sources.blocks import Block
from forensics.sources.blocksource import OneBlock
from forensics.sources.csvcolumns import read_rows
from forensics.sources.strangers import ASKED
from forensics.sources.wrappers.objects import is_json

DATA = Path(__file__).parents[1] / "_data" / "sources"
_NO_LOGS = ("README", "truth")
LOGS = {
    path.name: path
    for path in sorted(
        [
            *(path for path in (DATA / "other").glob("*.*") if path.stem not in _NO_LOGS),
            *(DATA / "sglang_json").glob("*.*"),
            *(DATA / "profiles").glob("*.[cj]s*"),
            DATA / "sglang.log",
            DATA / "vllm.log",
            DATA / "plain.ndjson",
            DATA / "plain.csv",
        ]
    )
}
OVER = {
    "request_id": "over-1",
    "tenant_id": "t",
    "prompt_tokens": 60_000,
    "completion_tokens": 7,
    "received_at": "2026-02-03T04:00:00Z",
}
RECORD = json.dumps(OVER)
STRAY = {
    "a plain record": RECORD,
    "a line of vLLM": "INFO 02-03 04:00:00 [async_llm.py:316] Added request over-1.",
    "a line of a collector": f"2026-02-03T04:00:00.123456789Z stdout F {RECORD}",
    "a header of CSV": ",".join(OVER),
    "words with their values": " ".join(f"{name}={value}" for name, value in OVER.items()),
}


FEW = {"mooncake.log", "trtllm.log", "epp.log", "dynamo.jsonl", "exporter.jsonl", "router.log"}


def _all_pairs():
    for log in LOGS:
        for stray in STRAY:
            many = () if log in FEW and "CSV" not in stray else pytest.mark.long
            yield pytest.param(log, stray, marks=many)


@pytest.mark.parametrize(("log", "stray"), list(_all_pairs()))
def test_a_stray_line_is_read_or_said_to_be_unread(read, log, stray):
    own = LOGS[log].read_bytes()
    alone = read(own, f"a/{log}")
    seen = read(own.removesuffix(b"\n") + f"\n{STRAY[stray]}\n".encode(), f"b/{log}")
    there = not seen.rows.is_empty() and "over-1" in seen.rows["request_id"].to_list()
    told = len(seen.facts.unread) > len(alone.facts.unread)
    told = told or seen.facts.notes[ASKED] > alone.facts.notes[ASKED]
    assert there or told or seen.facts.ignored["further header"], dict(seen.facts.ignored)
    assert told or seen.facts.kept >= alone.facts.kept


FAILED = {
    "litellm_call_id": "f-1",
    "call_type": "acompletion",
    "status": "failure",
    "startTime": 1.7700e9,
    "endTime": 1.7701e9,
    "model_group": "m",
    "custom_llm_provider": "hosted_vllm",
    "prompt_tokens": 0,
    "completion_tokens": 0,
}
SERVER = {"msec": 1.77e9, "request_id": "s-1", "status": 200, "request_time": 4.3}


@pytest.mark.parametrize("turned", [False, True])
def test_records_of_a_gateway_among_plain_ones_are_read_as_what_they_are(read, turned):
    lines = [RECORD, json.dumps(FAILED)]
    seen = read("\n".join(lines[::-1] if turned else lines))
    assert set(seen.facts.format.split(" + ")) >= {"litellm", "plain-ndjson"}
    rows = seen.rows.sort("request_id")
    assert rows["request_id"].to_list() == ["f-1", "over-1"]
    assert rows["prompt_tokens"].to_list() == [None, 60_000]


@pytest.mark.parametrize("own", [RECORD, LOGS["envoy-ai-gateway.jsonl"].read_text().split("\n")[0]])
def test_a_record_of_an_unverified_format_stays_unverified_among_others(read, own):
    seen = read(f"{own}\n" * 3 + json.dumps(SERVER))
    rows = seen.rows.filter(request_id="s-1")
    assert rows["unverified"].to_list() == [True]


def test_a_record_far_behind_many_that_look_alike_is_found(read):
    own, theirs = json.dumps({"id": "x", **OVER}), json.dumps({"id": "x", **FAILED})
    seen = read(f"{own}\n" * 300 + f"{theirs}\n" * 200)
    assert seen.rows.filter(request_id="f-1").height == 200


@pytest.mark.parametrize("theirs", [FAILED, {" ": 1, **FAILED}])
@pytest.mark.parametrize("blank", ["", " ", "\t"])
@pytest.mark.parametrize("at", [0, 257, 1_201])
def test_one_record_is_told_wherever_it_stands_among_many(read, theirs, blank, at):
    lines = [json.dumps({"id": "x", **OVER})] * 1_200
    lines.insert(at, blank + json.dumps({"id": "x", **theirs}))
    rows = read("\n".join(lines)).rows.filter(request_id="f-1")
    assert rows["prompt_tokens"].to_list() == [None]


def test_each_record_is_told_by_what_it_holds(read):
    plain, bucket = json.dumps(OVER), {"schema": "other", "request": {"request_id": "d-1"}}
    trace = bucket | {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}
    lines = [plain, *[json.dumps(bucket | {"event_type": "request_end"})] * 80, json.dumps(trace)]
    assert "dynamo" in read("\n".join(lines)).facts.format


@pytest.mark.parametrize("log", [name for name, path in LOGS.items() if path.suffix != ".csv"])
def test_keys_of_a_format_are_those_of_its_records(log):
    incident = Incident()
    for line in LOGS[log].read_bytes().split(b"\n")[:50]:
        if not line.startswith(b"{") or not is_json(line):
            continue
        keys = json.loads(line).keys()
        for one in registry.known(incident):
            told = one.name != "plain-ndjson" and one.sniff(line, incident)
            assert not told or any(of <= keys for of in one.keys), one.name


ROWS = "request_id,tenant_id,prompt_tokens\na,t1,100\n"


@pytest.mark.parametrize(
    ("behind", "tenants", "prompts"),
    [
        (ROWS, ["t1", "t1"], [100, 100]),
        ("request_id,prompt_tokens,tenant_id\nb,60000,t2\n", ["t1", "t2"], [100, 60_000]),
        ("model,request_id,prompt_tokens\nm,b,60000\n", ["t1", None], [100, 60_000]),
        ("prompt_tokens,request_id\n60000,b\n", ["t1", None], [100, 60_000]),
    ],
)
def test_each_header_names_the_columns_behind_it(read, behind, tenants, prompts):
    seen = read(ROWS + behind, "rows.csv")
    assert seen.column("tenant_id") == tenants
    assert seen.column("prompt_tokens") == prompts
    assert seen.column("line") == [2, 4]
    assert seen.facts.ignored["further header"] == 1


def test_rows_behind_the_header_of_another_format_are_not_read_as_own_ones(read):
    spend = LOGS["litellm-spend.csv"].read_text()
    width = spend.split("\n", 1)[0].count(",")
    header = "request_id,prompt_tokens" + "".join(f",x{at}" for at in range(width - 1))
    seen = read(f"{header}\n{'a,7' + ',' * (width - 1)}\n{spend}", "rows.csv")
    assert seen.column("request_id")[0] == "a"
    assert seen.facts.unread or seen.facts.ignored["further header"]


class Blocks(OneBlock):
    """A file from whose first block lines were taken, and not from its second."""

    def blocks(self, size=None):  # noqa: ARG002
        yield Block(b"request_id,prompt_tokens\na,1\n", 2, None, numbers=np.array([2, 4]))
        yield Block(b'b,2\nc,"3\n', 6, 70)


def test_rows_are_numbered_as_in_the_file_from_which_lines_were_taken():
    wanted = {"request_id": "request_id"}
    found = list(read_rows(Blocks(Block(b"", 1, 0)), wanted))
    assert [line for batch in found for line in batch.lines] == [4, 6]
    assert [one.line for batch in found for one in batch.parsed.unread] == [7]
