"""Mooncake's own logs: told, counted by kind, and nothing taken of any line."""

from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "_data" / "sources" / "other" / "mooncake.log"
KINDS = {
    "Mooncake: a key that the store could not serve, of no named request": 1,
    "Mooncake: a segment that was not found, of no named request": 1,
    "Mooncake: a transfer that was given up, of no named request": 1,
    "Mooncake: statistics of the transfer engine": 1,
    "Mooncake: use of the store's pool": 1,
    "other line": 2,
}


def test_each_line_is_counted_by_its_kind(read):
    seen = read(SAMPLE.read_bytes() + b"\n", "store.log")
    assert seen.facts.format == "mooncake"
    assert dict(seen.facts.ignored) == KINDS | {"blank line": 1}
    assert seen.rows.height == 0


def test_behind_a_wrapper_they_are_the_same(read):
    lines = SAMPLE.read_bytes().splitlines()
    wrapped = b"".join(b"2026-02-03T12:00:13.1Z stdout F %s\n" % line for line in lines)
    seen = read(wrapped, "pod.log")
    assert seen.facts.format == "mooncake"
    assert dict(seen.facts.ignored) == KINDS


def test_an_engine_that_prints_it_too_is_told_as_itself(read):
    engine = b"(Worker pid=1) INFO 02-03 04:05:06 [core.py:7] CANARY\n"
    assert read(SAMPLE.read_bytes() + engine, "decode.log").facts.format == "vllm"
