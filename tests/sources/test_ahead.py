"""Records behind or before lines of something else, and in lists that break off, are read."""

import json
from pathlib import Path

import pytest

from forensics.sources.wrappers.ahead import AHEAD

DATA = Path(__file__).parents[1] / "_data" / "sources"
METRICS = json.loads((DATA / "other" / "perf_metrics.json").read_text())
GATEWAY = json.loads((DATA / "profiles" / "langfuse.json").read_text())
PLAIN = [
    {"request_id": f"r-{at}", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": at}
    for at in range(12)
]
LISTS = {"trtllm-metrics": METRICS, "langfuse": GATEWAY, "plain-ndjson": PLAIN}
TABLE = "request_id,received_at,prompt_tokens\na,2026-02-03T04:05:06Z,5\n"
HEAD = "HTTP/1.1 200 OK\ncontent-type: application/json\n\n"
LAID = {
    "list": json.dumps,
    "printed": lambda some: json.dumps(some, indent=2),
    "a record a line": lambda some: "\n".join(map(json.dumps, some)),
    "a list a line": lambda some: "\n".join(json.dumps([one]) for one in some),
}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize(
    "ahead", ["stray", "$ curl -s http://x/y", "# a\n# b", "stray [x] {y}", HEAD]
)
def test_lines_ahead_are_unreadable_and_the_records_behind_them_read(read, name, laid, ahead):
    text = LAID[laid](LISTS[name])
    alone = read(text, "a/x.json")
    seen = read(f"{ahead.strip()}\n{text}", "b/x.json")
    assert seen.facts.format == alone.facts.format == name
    assert seen.facts.kept == alone.facts.kept > 0
    more = seen.reasons - alone.reasons
    assert more.total() == len(ahead.strip().split("\n"))
    assert set(more) <= {AHEAD, "not valid JSON"}
    assert "stray" not in repr(seen.facts)


@pytest.mark.parametrize("ahead", ["# exported by a tool", "a,b\nc"])
def test_a_table_behind_a_few_lines_is_read(read, ahead):
    seen = read(f"{ahead}\n{TABLE}", "x.csv")
    assert seen.column("request_id") == ["a"]
    assert dict(seen.reasons) == {AHEAD: ahead.count("\n") + 1}


def test_what_is_unknown_behind_any_line_stays_one_file_of_no_known_format(read):
    seen = read("something\nthat [nobody]\n{knows}\n[\n", "x.txt")
    assert dict(seen.reasons) == {"no known format": 1}
    assert seen.facts.shape


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("laid", ["list", "printed", "a list a line"])
def test_a_line_behind_a_list_costs_itself_alone(read, name, laid):
    text = LAID[laid](LISTS[name])
    alone = read(text, "a/x.json")
    seen = read(f"{text}\nstray\n", "b/x.json")
    assert seen.facts.kept == alone.facts.kept
    assert len(seen.facts.unread) == len(alone.facts.unread) + 1


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("laid", ["list", "printed"])
def test_of_a_list_that_breaks_off_the_last_record_alone_is_lost(read, name, laid):
    text = LAID[laid](LISTS[name])
    alone = read(text, "a/x.json")
    seen = read(text.rstrip("]\n ")[:-9], "b/x.json")
    assert len(seen.facts.unread) == 1
    assert seen.facts.read == alone.facts.read
