"""Every format behind every wrapper: the same records as in a file of its own."""

import bz2
import gzip
import lzma
import random
from collections import Counter
from itertools import product

import polars as pl
import pytest
import zstandard

from tests.sources.conftest import Seen
from tests.sources.test_contract import POSITIVE
from tests.sources.wrapforms import LAID
from tests.sources.wraplines import WRAPPERS

PLACES = {"file", "line", "source_node", "naive"}
NODES = {"node", "prefill_node", "decode_node"}
TIMES = {"received_at", "finished_at", "reserved_at", "released_at", "effective_at"}
TEXTS = {name: make for name, (_, make) in POSITIVE.items() if name != "plain-parquet"}
NO_LOGS = {"trtllm-transfers", "litellm-spend", "openai-usage-csv", "openrouter", "phoenix"}
"""Tables: whatever prints one beside lines with ``key=value`` makes no log of it."""
NEVER = {("plain-csv", "logfmt"), *((name, "logfmt") for name in NO_LOGS)}


def lines(data: bytes) -> list[str]:
    return [line for line in data.decode().split("\n") if line.strip()]


def canonical(frames: list[pl.DataFrame], by_name: set[str]) -> Counter[tuple[object, ...]]:
    """Records without where they stood; what the wrapper knows better says that it is there.

    Nodes count by their ranks: the wrapper names the pod. ``by_name`` are columns that wrappers
    may add, as they know a time or a node.
    """
    found: Counter[tuple[object, ...]] = Counter()
    for row in (row for frame in frames for row in frame.to_dicts()):
        kept = {name: value for name, value in row.items() if value is not None}
        kept = {name: value for name, value in kept.items() if name not in PLACES | by_name}
        for name in NODES & kept.keys():
            kept[name] = kept[name].rpartition("/dp")[2] if "/dp" in kept[name] else ""
        found[tuple(sorted((name, repr(value)) for name, value in kept.items()))] += 1
    return found


def added(alone: Seen, wrapped: Seen) -> set[str]:
    """Columns that only the wrapper told, and times of clocks that have no zone."""
    own, theirs = (
        [{k for k, v in row.items() if v is not None} for f in frames for row in f.to_dicts()]
        for frames in map(frames_of, (alone, wrapped))
    )
    naive = {name for name in TIMES for frame in frames_of(alone) if timed(frame, name)}
    told = set().union(*theirs) if theirs else set()
    partly = {name for name in (TIMES | NODES) & told if any(name not in row for row in own)}
    return naive | partly


def timed(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and "naive" in frame.columns and bool(frame["naive"].any())


def frames_of(seen: Seen) -> list[pl.DataFrame]:
    """Return all frames, without the roles of nodes: wrappers name some that the file does not."""
    roles = pl.col("event").ne_missing("role")
    capacity = [x.filter(roles) if "event" in x.columns else x for x in seen.reading.capacity]
    return [frame for frame in (seen.rows, *capacity) if frame.height]


def same(alone: Seen, wrapped: Seen) -> None:
    assert wrapped.facts.format == alone.facts.format
    assert wrapped.facts.kept == alone.facts.kept
    assert wrapped.facts.unread == []
    by_wrapper = added(alone, wrapped)
    assert canonical(frames_of(wrapped), by_wrapper) == canonical(frames_of(alone), by_wrapper)
    for frame in frames_of(wrapped):
        for name in TIMES & set(frame.columns) & by_wrapper:
            assert frame[name].null_count() <= max(
                (own[name].null_count() for own in frames_of(alone) if name in own.columns),
                default=frame.height,
            )


@pytest.mark.few(50)
@pytest.mark.parametrize(("name", "wrapper"), sorted({*product(TEXTS, WRAPPERS)} - NEVER))
def test_a_wrapper_hides_no_record_of_a_format(read, name, wrapper):
    data = TEXTS[name]()
    same(read(data, "a/x.log"), read(WRAPPERS[wrapper](lines(data)), "b/x.log"))


def pair(name: str, seed: int) -> tuple[str, str]:
    chance = random.Random(f"{name}-{seed}")
    return chance.choice(sorted(WRAPPERS)), chance.choice(sorted(WRAPPERS))


@pytest.mark.few(30)
@pytest.mark.parametrize(("name", "seed"), list(product(sorted(TEXTS), range(8))))
def test_two_wrappers_hide_no_record_of_a_format(read, name, seed):
    data = TEXTS[name]()
    inner, outer = pair(name, seed)
    if {(name, inner), (name, outer)} & NEVER:
        pytest.skip("a table in lines with key=value")
    once = WRAPPERS[inner](lines(data)).split("\n")
    same(read(data, "a/x.log"), read(WRAPPERS[outer](once), "b/x.log"))


@pytest.mark.few(10)
@pytest.mark.parametrize(("name", "tool"), list(product(sorted(TEXTS), sorted(LAID))))
def test_a_further_tool_hides_no_record_or_says_that_nothing_is_read(read, name, tool):
    data = TEXTS[name]()
    alone, seen = read(data, "a/x.log"), read(LAID[tool](lines(data)), "b/x.log")
    if not seen.facts.unread:
        same(alone, seen)


PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
    "gz in gz": lambda data: gzip.compress(gzip.compress(data)),
    "utf-16": lambda data: data.decode().encode("utf-16"),
}


@pytest.mark.few(12)
@pytest.mark.parametrize(("name", "packer"), list(product(sorted(TEXTS), PACKERS)))
def test_packing_hides_no_record_of_a_format(read, name, packer):
    data = TEXTS[name]()
    same(read(data, "a/x.log"), read(PACKERS[packer](data), "b/x.log"))
