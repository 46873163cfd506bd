"""What a line is where carriage returns stand: the same in every file and behind every wrapper."""

import json
import random
import time
from pathlib import Path

import pytest

from forensics.sources import returns

OTHER = Path(__file__).parents[1] / "_data" / "sources" / "other"
RECORDS = {
    "plain": [{"request_id": f"r-{n}", "prompt_tokens": 5 + n, "x": [1, 2]} for n in range(4)],
    "spans": [json.loads(x) for x in (OTHER / "spans.jsonl").read_text().splitlines()],
    "router": [json.loads(x) for x in (OTHER / "epp.log").read_text().splitlines() if x[:1] == "{"],
}


def spaced(record, between):
    """Return a record with some white space between its values."""
    return json.dumps(record, separators=(f",{between}", f":{between}"))


BEHIND = [(inside, form) for inside in ("bare", "docker", "cri", "spread") for form in RECORDS]


@pytest.mark.few(2)
@pytest.mark.parametrize(("inside", "form"), [one for one in BEHIND if one != ("spread", "spans")])
def test_a_carriage_return_between_the_values_of_a_record_ends_no_line(read, form, inside):
    lines = {
        "bare": lambda text: text,
        "docker": lambda text: json.dumps(
            {"log": f"{text}\n", "stream": "stdout", "time": "2026-02-03T04:00:00Z"}
        ),
        "cri": lambda text: f"2026-02-03T04:00:00Z stdout F {text}",
        "spread": lambda text: text.replace('{"', '{\r\n"', 1),
    }[inside]
    seen = [
        read("".join(f"{lines(spaced(one, space))}\n" for one in RECORDS[form]), f"{n}/a.log")
        for n, space in enumerate((" ", "\r", "\r  \r"))
    ]
    kept = [(one.facts.read, one.facts.kept, one.facts.ignored) for one in seen]
    assert kept[0] == kept[1] == kept[2]
    assert kept[0][1]
    assert [one.reasons for one in seen] == [seen[0].reasons] * 3


def test_spans_that_are_spread_over_lines_both_ways_are_named_unreadable(read):
    """Their inner brackets stand where the outermost one would end the document."""
    spread = [spaced(one, "\r").replace('{"', '{\r\n"', 1) for one in RECORDS["spans"]]
    seen = read("".join(f"{text}\n" for text in spread), "a.log")
    assert seen.facts.kept == 0
    assert len(seen.facts.unread) == seen.facts.read > len(spread)


def test_the_lines_are_the_same_whatever_the_pieces():
    random.seed(5)
    parts = [b'{"a": 1}', b'{"a":\r1}', b'{"a":', b"\r", b"\n", b"\r\n", b"[1]", b'["x",\r2]', b" "]
    parts += [b"[2026-02-03 04:00:00] x", b'}"']
    for _ in range(2_000):
        text = b"".join(random.choices(parts, k=random.randint(0, 14)))
        whole = returns.with_line_feeds(text)
        assert len(whole) == len(text)
        size = random.randint(1, 9)
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        assert b"".join(returns.ended(pieces)) == whole


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b'{"a":\r1}\n{"b":2}', [b'{"a": 1}', b'{"b":2}']),
        (b'{"a":1}\r{"b":2}\r{"c":\r3}', [b'{"a":1}', b'{"b":2}', b'{"c": 3}']),
        (b'{"a":\r{"b":2}\n', [b'{"a":', b'{"b":2}']),
        (b'{"a": "x\ry"}\n', [b'{"a": "x', b'y"}']),
        (b"[2026-02-03 04:00:00] a,\r[2026-02-03 04:00:01] b\n", 2),
        (b"bar 1%\rbar 2%\r\nend", [b"bar 1%", b"bar 2%\r", b"end"]),
    ],
)
def test_a_carriage_return_ends_a_line_unless_all_of_it_is_a_record(text, lines):
    found = returns.with_line_feeds(text).removesuffix(b"\n").split(b"\n")
    assert found == lines if isinstance(lines, list) else len(found) == lines


def test_a_record_longer_than_is_held_ends_there_whatever_the_pieces(monkeypatch):
    monkeypatch.setattr(returns, "LONGEST", 30)
    for length in range(20, 50):
        text = b'{"a":\r"' + b"x" * length + b'",\r"b":2}\n{"c":\r1}\n'
        whole = returns.with_line_feeds(text)
        assert whole.endswith(b'\n{"c": 1}\n')
        for size in (1, 3, 7, 11):
            pieces = (text[at : at + size] for at in range(0, len(text), size))
            assert b"".join(returns.ended(pieces)) == whole


def test_many_carriage_returns_cost_little():
    broken = b'{"a": [' + b'{"b": 1,\r' * 20_000
    begun = time.process_time()
    returns.with_line_feeds(broken)
    returns.with_line_feeds(b'{"b": 1}\r' * 200_000)
    assert time.process_time() - begun < 5
