"""Whole logs behind two wrappers, in any order: as many records as without."""

from itertools import product
from pathlib import Path

import pytest

from tests.sources.wraplines import WRAPPERS, each

DATA = Path(__file__).parents[1] / "_data" / "sources"
LOGS = ["vllm.log", "sglang.log", "profiles/envoy-ai-gateway.jsonl"]


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
