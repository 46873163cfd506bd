"""Whole logs behind two wrappers, in any order: as many records as without."""

import json
from itertools import product
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "_data" / "sources"
AT = "2026-02-03T04:00:00.123456789Z"
LOGS = ["vllm.log", "sglang.log", "profiles/envoy-ai-gateway.jsonl"]


def each(make):
    return lambda lines: "\n".join(make(line) for line in lines)


def partial(line: str) -> str:
    half = len(line) // 2
    return f"{AT} stdout P {line[:half]}\n{AT} stdout F {line[half:]}"


def loki(lines: list[str]) -> str:
    values = [[str(1_770_091_200_000_000_000 + at), line] for at, line in enumerate(lines)]
    found = {"resultType": "streams", "result": [{"stream": {"pod": "p1"}, "values": values}]}
    return json.dumps({"status": "success", "data": found})


def hits(lines: list[str]) -> str:
    found = [
        {"_id": str(at), "_source": {"@timestamp": AT, "message": line}}
        for at, line in enumerate(lines)
    ]
    return json.dumps({"took": 1, "hits": {"total": {"value": len(lines)}, "hits": found}})


WRAPPERS = {
    "cri": each(lambda line: f"{AT} stdout F {line}"),
    "cri partial": each(partial),
    "docker": each(lambda x: json.dumps({"log": f"{x}\n", "stream": "stdout", "time": AT})),
    "journald": each(
        lambda x: json.dumps({"__REALTIME_TIMESTAMP": "1770091200000000", "MESSAGE": x})
    ),
    "loki": loki,
    "elastic": hits,
    "splunk": each(lambda x: json.dumps({"preview": False, "result": {"_raw": x, "_time": AT}})),
    "compose": each(lambda line: f"vllm-1  | {line}"),
    "kubectl": each(lambda line: f"[pod/p-1/c] {line}"),
    "syslog": each(lambda line: f"<14>1 {AT} h1 app 1 - - {line}"),
    "colour": each(lambda line: f"\x1b[32m{line}\x1b[0m"),
    "process": each(lambda line: f"(RayActor pid=12, ip=10.0.0.1) {line}"),
    "logfmt": each(lambda line: f"ts={AT} level=info msg={json.dumps(line)}"),
}


@pytest.mark.few(40)
@pytest.mark.parametrize(("inner", "outer"), list(product(WRAPPERS, repeat=2)))
@pytest.mark.parametrize("log", LOGS)
def test_two_wrappers_hide_no_record(read, log, inner, outer):
    data = (DATA / log).read_text()
    alone = read(data, "a/x.log")
    once = WRAPPERS[inner]([line for line in data.split("\n") if line])
    seen = read(WRAPPERS[outer](once.split("\n")), "b/x.log")
    assert seen.facts.kept == alone.facts.kept
    assert not seen.facts.unread


PROCESSES = {
    "twice": "(RayActor pid=12, ip=10.0.0.1) (RayActor pid=12, ip=10.0.0.1) ",
    "two": "(RayActor pid=12, ip=10.0.0.1) (Worker pid=3) ",
    "coloured": "\x1b[36m(RayActor pid=12, ip=10.0.0.1)\x1b[0m " * 2,
}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("before", PROCESSES.values(), ids=PROCESSES)
def test_processes_in_any_number_hide_no_record(read, log, before):
    data = (DATA / log).read_text()
    alone = read(data, "a/x.log")
    seen = read(each(lambda line: before + line)(list(filter(None, data.split("\n")))), "b/x.log")
    assert seen.facts.kept == alone.facts.kept
    assert not seen.facts.unread


@pytest.mark.parametrize("times", [1, 2])
def test_a_process_that_only_some_lines_have_hides_none(read, times):
    data = (DATA / LOGS[2]).read_text()
    lines = [line for line in data.split("\n") if line] * 4
    mixed = [line if at == 3 else "(Proxy pid=1) " * times + line for at, line in enumerate(lines)]
    seen = read("\n".join(mixed), "b/x.log")
    assert seen.facts.read == len(lines)
    assert not seen.facts.unread
