"""Records of a wrapper that are taken apart together give what each one gives by itself."""

import json

import pytest

LINE = "(APIServer pid=5) INFO 02-03 12:00:0{} [async_llm.py:316] Added request chatcmpl-{}."
LINES = [LINE.format(n, name) for n, name in enumerate(("a", "b", "c", "d"))]
PART = "part of a longer line"


def cri(parts: list[tuple[str, bool]], source: str = "stdout") -> list[str]:
    at = "2026-02-03T12:00:01.{:09d}Z"
    return [
        f"{at.format(n)} {source} {'F' if whole else 'P'} {text}"
        for n, (text, whole) in enumerate(parts)
    ]


def docker(parts: list[tuple[str, bool]], source: str = "stdout") -> list[str]:
    at = "2026-02-03T12:00:01.{:09d}Z"
    return [
        json.dumps({"log": text + "\n" * whole, "stream": source, "time": at.format(n)})
        for n, (text, whole) in enumerate(parts)
    ]


WHOLE = [(line, True) for line in LINES]
CUT = [
    part for line in LINES for part in ((line[:30], False), (line[30:50], False), (line[50:], True))
]
UNFINISHED = [*CUT, (LINES[0][:40], False)]


@pytest.mark.parametrize("wrap", [cri, docker])
@pytest.mark.parametrize("parts", [WHOLE, CUT, UNFINISHED], ids=["whole", "cut", "unfinished"])
def test_together_as_one_by_one(read, wrap, parts):
    # A blank line, or one of the other output, has each record looked at by itself.
    text = "\n".join(wrap(parts)) + "\n"
    together, alone = read(text, "node.log"), read(text + "\n", "node.log")
    names = ["request_id", "line", "received_at", "naive"]
    rows = together.rows.sort("line")
    assert rows["request_id"].to_list() == ["a", "b", "c", "d"]
    assert rows.select(names).equals(alone.rows.sort("line").select(names))
    cut = len(parts) - len(LINES) - (parts is UNFINISHED)
    assert together.facts.ignored[PART] == alone.facts.ignored[PART] == cut
    assert together.facts.unread == alone.facts.unread
    assert len(together.facts.unread) == (parts is UNFINISHED)


@pytest.mark.parametrize("wrap", [cri, docker])
def test_parts_of_two_outputs_are_not_mixed(read, wrap):
    out = wrap(CUT)
    other = wrap([("CANARY ", False), ("CANARY ", False), ("CANARY", True)], "stderr")
    mixed = [out[0], other[0], out[1], other[1], other[2], *out[2:]]
    seen = read("\n".join(mixed) + "\n", "node.log")
    assert sorted(seen.column("request_id")) == ["a", "b", "c", "d"]
    assert seen.facts.unread == []
