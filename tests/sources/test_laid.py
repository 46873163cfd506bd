"""Lines that are all laid out alike are read as single lines are, or left to that reader."""

import json
import random

import pytest

from forensics.sources.blocks import Block, pieces
from forensics.sources.jsonlines import JsonColumns

KINDS = {
    "request_id": "id", "tenant_id": "name", "received_at": "time", "finish_reason": "code",
    "prompt_tokens": "count", "cached_tokens": "count", "prefill_ms": "measure",
    "rejected": "flag", "completion_tokens": "count", "role": "name", "config": "config",
}  # fmt: skip
PATHS = {name: (name,) for name in KINDS} | {"completion_tokens": ("usage", "completion_tokens")}
ROW = {
    "request_id": "r-17", "level": "INFO", "took": 1.5, "tenant_id": "acme",
    "received_at": "2026-02-03T04:05:06Z", "prompt_tokens": 10, "cached_tokens": 0,
    "prefill_ms": 12.5, "rejected": False, "body": {"messages": [{"role": "user", "n": "say"}]},
    "finish_reason": "stop", "status": 200,
}  # fmt: skip


def columns():
    return JsonColumns(PATHS, KINDS)


def block(lines):
    return Block("".join(f"{line}\n" for line in lines).encode(), 5, 70)


def told(reader, taken):
    found = reader.together([taken])
    (batch,) = found.batches
    return {name: own.to_list() for name, own in batch.columns.items()}, batch.lines.to_list()


def same(lines):
    """Say whether lines were read at once; where they were, as one by one."""
    reader = columns()
    whole = reader.at_once(block(lines))
    if whole is None:
        return False
    assert told(reader, whole) == told(columns(), columns().take(block(lines)))
    return True


def rows(number=3, **other):
    return [ROW | {name: make(at) for name, make in other.items()} for at in range(number)]


def dumped(some, **how):
    return [json.dumps(row, **how) for row in some]


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_lines_that_are_alike_are_read_at_once(separators):
    assert same(dumped(rows(request_id=lambda at: f"r-{at}"), separators=separators))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("request_id", [1, 22, 333]),
        ("request_id", ["a", None, "c"]),
        ("tenant_id", [None, None, None]),
        ("prompt_tokens", [0, 99_999_999, 7]),
        ("prompt_tokens", [1, 123_456_789, 10**17]),
        ("prompt_tokens", [1, None, 3]),
        ("prompt_tokens", [None, 2, 3]),
        ("prefill_ms", [1, 2.5, 0.0001]),
        ("prefill_ms", [0.1234567890123456, 4503599627370497.5, 10**30]),
        ("rejected", [True, False, True]),
        ("body", ["text", None, {"a": [1, {"b": 2}]}]),
        ("body", [{}, "x", [{"role": "x"}] * 5]),
        ("took", [1, None, 0.25]),
    ],
)
def test_so_are_values_that_their_columns_take(name, values):
    assert same(dumped(rows(**{name: values.__getitem__})))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("request_id", ["a", 'b"c', "d"]),
        ("request_id", ["a", "b", "naïve"]),
        ("request_id", ["a", "b\\", "c"]),
        ("request_id", ["a", 5, "c"]),
        ("request_id", ["a", {"b": 1}, "c"]),
        ("request_id", ["a", 1.5, "c"]),
        ("prompt_tokens", [1, -2, 3]),
        ("prompt_tokens", [1, 2.0, 3]),
        ("prompt_tokens", [1, "2", 3]),
        ("prompt_tokens", [1, 2**64, 3]),
        ("prompt_tokens", [1, True, 3]),
        ("prefill_ms", [1, "2", 3]),
        ("prefill_ms", [1, 1e-7, 3]),
        ("rejected", [True, None, 0]),
        ("finish_reason", ["stop", 1, "stop"]),
        ("role", ["a", "b", "c"]),
        ("config", [{"tp_size": 1}] * 3),
        ("usage", [{"completion_tokens": 5}] * 3),
        ("body", [1, {"messages": [{"request_id": "q"}]}, 2]),
        ("body", [1, {"usage": {"completion_tokens": 9}}, 2]),
    ],
)  # fmt: skip
def test_what_may_be_cut_out_wrong_is_left_to_the_reader_of_single_lines(name, values):
    lines = dumped(rows(**{name: values.__getitem__}), ensure_ascii=False)
    same(lines)
    if name not in ("role", "usage", "body", "config"):
        assert columns().at_once(block(lines)) is None


LINE = json.dumps(ROW)


INSIDE = [
    '"prompt_tokens": 9', '"request_id": "x"', '"request_id": null', '"role": "x"', '"role": null',
    '"usage": {"completion_tokens": 3}', '"prompt_toke\\u006es": 9', '"\\u0072equest_id": "x"',
    '"request_\\u0069d": "x"', '"\\u0072ole": "x"', '"hop": {"request_id": 9}', '"config": "a"',
]  # fmt: skip
"""What stands before the keys at the end of a line, and is not there in others."""


@pytest.mark.parametrize(
    "odd",
    [
        *(LINE.replace(', "finish_reason"', f', {some}, "finish_reason"') for some in INSIDE),
        LINE.replace('"level": "INFO"', '"level": ["FO"'),
        LINE.replace('"finish_reason"', '"finish_reasom"'),
        LINE[:-1] + ', "prompt_tokens": 11}',
        LINE[:-1] + ', "request_id": "r-18"}',
        LINE[:-1] + ', "\\u0072equest_id": "r-18"}',
        LINE[:-1] + ', "reques\\u0074_id": "r-18"}',
        LINE[:-1] + ', "role": "r"}',
        LINE[:-1] + ', "\\u0072ole": "r"}',
        LINE[:-1] + ', "usage": {"completion_tokens": 3}}',
        LINE.replace('"body": {', '"prompt_tokens": 9, "body": {'),
        LINE.replace('"body": {', '"role": "x", "body": {'),
        LINE.replace('"n": "say"', '"prompt_tokens": 9'),
        LINE.replace('"r-17"', '"x", "request_id": "r-17"'),
        LINE.replace('"level": "INFO"', '"level": {"request_id": 1}'),
        LINE.replace('"request_id": ', '"request_id":  '),
        LINE.replace(", ", " , "),
        LINE.replace('"status": 200', '"status": {"finish_reason": "length"}'),
        LINE.replace('"finish_reason"', '"finish_reasons"'),
        LINE.replace('"request_id"', '"xrequest_id"'),
        LINE[:-1],
        LINE + "}",
        LINE + LINE,
        LINE[1:],
        "",
        "  " + LINE,
        LINE + " ",
        LINE + "\r",
        "[" + LINE + "]",
        LINE.replace("200", "NaN"),
        LINE.replace("200", "0200"),
        LINE.replace("12.5", "12."),
        LINE.replace("12.5", "1e999"),
        LINE.replace('"say"', '"s\x01y"'),
        LINE.replace('"acme"', '"ac\tme"'),
        LINE.replace('"acme"', '", "tenant_id": "'),
        LINE.replace('"acme"', '"}'),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_one_odd_line_among_others_is_noticed(odd, at):
    lines = [LINE] * 3
    lines.insert(at, odd)
    reader = columns()
    whole = reader.at_once(block(lines))
    alone = columns().take(block(lines))
    if whole is not None:
        assert told(reader, whole) == told(columns(), alone)
        assert not alone.unread
        assert alone.odd is None


def test_keys_that_a_text_quotes_are_none():
    quoting = LINE.replace('"say"', '"\\u00e9 {\\"request_id\\": \\\\ {[,: \\"role\\":"')
    assert same([LINE, quoting, LINE])


def test_any_lines_are_read_as_one_by_one():
    draw = random.Random(7)
    values = [
        "a", "b-2", 1, 20, 3.5, None, True, False, [], {}, {"role": 1}, 'q"', "\\", "é", -1, "",
        {"request_id": [{"prompt_tokens": 3}]}, 10**20, "x" * 300, ["a, b", {"c": ", "}],
    ]  # fmt: skip
    names = [*ROW, "role", "config", "usage", "other"]
    times = 0
    for _ in range(1500):
        chosen = draw.sample(names, draw.randrange(1, 9))
        base = {name: ROW.get(name, draw.choice(values)) for name in chosen}
        some = [dict(base) for _ in range(4)]
        for row in some:
            for name in draw.sample(chosen, draw.randrange(0, 2)):
                row[name] = draw.choice(values)
        times += same(dumped(some, ensure_ascii=draw.random() < 0.5))
    assert times > 50


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_a_block_in_pieces_has_the_same_lines(size):
    whole = block([LINE] * 20)
    parts = list(pieces(whole, size))
    assert b"".join(part.data for part in parts) == whole.data
    assert [part.number(at) for part in parts for at in range(len(part.ends))] == [*range(5, 25)]
    begins = [part.offset + int(start) for part in parts for start in part.starts]
    assert begins == (whole.starts + 70).tolist()
