"""Records within lines of a log: each that is lost is counted, wherever in a line it stands."""

import json

import pytest

from forensics.sources.within import nested, objects

OWN = {
    "sglang": "[2026-02-03 04:00:00] The server is fired up and ready to roll!",
    "vllm": "INFO 02-03 04:00:00 [loggers.py:111] Engine 000: nothing of use",
}
PLAIN = [
    {"request_id": f"over-{at}", "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 60_000}
    for at in range(20)
]
GATEWAY = [
    {
        "x-request-id": f"r-{at}",
        "start_time": "2026-02-03T04:00:00.250Z",
        "duration": 100,
        "response_code": 200,
        "response_flags": "-",
        "gen_ai.request.model": "acme/chat-9b",
        "gen_ai.usage.input_tokens": 52_310,
    }
    for at in range(20)
]
LOKI = {"stream": {"app": "x"}, "values": [["1770091201000000000", json.dumps(PLAIN[0])]]}
PUT = {
    "a list over lines": lambda some: json.dumps(some, indent=2),
    "a list on a line": json.dumps,
    "each over lines": lambda some: "\n".join(json.dumps(one, indent=2) for one in some),
    "an object that lists them": lambda some: json.dumps({"data": some}),
    "such an object over lines": lambda some: json.dumps({"data": {"of": some}}, indent=2),
    "back to back": lambda some: "".join(map(json.dumps, some)),
    "behind an unknown prefix": lambda some: "\n".join(f"app {json.dumps(one)}" for one in some),
    "two behind a prefix": lambda some: "".join(
        f"app {json.dumps(one)}{',' if at % 2 == 0 else chr(10)}" for at, one in enumerate(some)
    ).replace(",app", ","),
}


@pytest.mark.parametrize("engine", OWN)
@pytest.mark.parametrize("records", [PLAIN, GATEWAY], ids=["plain", "gateway"])
@pytest.mark.parametrize("put", PUT)
def test_each_record_that_is_lost_is_unreadable(read, engine, records, put):
    seen = read(f"{OWN[engine]}\n{PUT[put](records)}\n{OWN[engine]}\n", "node-1.log")
    lost = len(seen.facts.unread)
    assert len(records) <= lost <= len(records) + 1, dict(seen.reasons)
    assert seen.facts.format == engine
    assert "over-" not in repr(seen.facts)


@pytest.mark.parametrize("engine", OWN)
@pytest.mark.parametrize("cut", [30, 200])
def test_a_list_that_breaks_off_counts_what_it_held(read, engine, cut):
    text = json.dumps(PLAIN, indent=2)[:-cut]
    seen = read(f"{OWN[engine]}\n{text}\n", "node-1.log")
    begun = text.count('"request_id"')
    assert begun <= len(seen.facts.unread) <= begun + 1


@pytest.mark.parametrize("engine", OWN)
def test_a_record_that_breaks_off_behind_a_prefix_is_unreadable(read, engine):
    seen = read(f"{OWN[engine]}\napp {json.dumps(GATEWAY[0])[:-8]}\n", "node-1.log")
    assert [one.line for one in seen.facts.unread] == [2]


@pytest.mark.parametrize("engine", OWN)
def test_records_within_an_answer_of_a_log_store_are_counted(read, engine):
    values = [[str(1770091201000000000 + at), json.dumps(one)] for at, one in enumerate(PLAIN)]
    answer = {
        "status": "success",
        "data": {"resultType": "streams", "result": [LOKI | {"values": values}]},
    }
    seen = read(f"{OWN[engine]}\n{json.dumps(answer)}\n{OWN[engine]}\n", "node-1.log")
    assert len(seen.facts.unread) == len(PLAIN)


def test_records_of_no_format_behind_a_prefix_stay_other_lines(read):
    line = 'app {"program": "other", "items": [{"a": 1}, {"a": 2}]}'
    seen = read(f"{OWN['vllm']}\n" + f"{line}\n" * 5, "node-1.log")
    assert not seen.facts.unread
    assert seen.facts.ignored["other line"] == 6


def test_lines_that_lost_their_end_count_each_record_of_them(read):
    first, second, *rest = map(json.dumps, PLAIN)
    seen = read("\n".join([f"{first[:-20]}{second}", *rest]))
    assert len(seen.facts.unread) == 2
    assert seen.facts.kept == len(rest)


def test_values_within_a_broken_record_are_no_records_of_their_own(read):
    inner = [PLAIN[1], PLAIN[2]]
    broken = json.dumps(PLAIN[0] | {"x": PLAIN[3], "choices": inner})[:-9]
    assert len(read(broken).facts.unread) == 1


@pytest.mark.parametrize(
    ("text", "whole", "broken", "bare"),
    [
        ('{"a": {"b": 1}}', ['{"a": {"b": 1}}'], [], True),
        ('[{"a": 1}, {"b": "}{"}]', ['{"a": 1}', '{"b": "}{"}'], [], True),
        ('x {"a": 1} y {"b": 2}', ['{"a": 1}', '{"b": 2}'], [], False),
        ('[{"a": 1}, {"b": [', ['{"a": 1}'], ['{"b": ['], False),
        ('{"a": {"b": 1}', ['{"b": 1}'], ['{"a": '], False),
        ("{'a': 1} {}", [], [], False),
    ],
)
def test_the_outermost_objects_of_a_text(text, whole, broken, bare):
    assert objects(text) == (whole, broken, bare)


def test_a_text_of_many_beginnings_is_given_up_and_no_part_of_it_lost():
    text = '{"a":' * 50_000
    assert objects(text) == ([], [text], False)
    assert list(nested(text)) == []
