"""JSON rows, small blocks, large batches: what is read does not depend on how it is cut."""

import json
import random

import polars as pl
import pytest

from forensics.sources import batches, blocks
from forensics.sources.jsonlines import JsonColumns
from forensics.sources.parsed import Parsed

SOME = {"request_id": "r", "received_at": "2026-02-03T04:05:06Z"}


def lines(rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


# --- keys that were not met before ---------------------------------------------------

LATE = [
    b'{"request_id": "late", "tenant_id": "t", "prompt_tokens": 5}',
    b'{"request_id": "late", "ten\\u0061nt_id": "t", "prompt_tokens": 5}',
    b'{"request_id": "late", "tenant_id": "t", "prompt_tokens": 5, "tenant_id": "t"}',
]


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("before", [1, 3_000])
def test_a_key_that_first_occurs_late_is_read(read, late, before):
    data = lines([SOME | {"noise": "x" * 400}] * before) + late + b"\n" + lines([SOME])
    seen = read(data)
    assert seen.facts.kept == before + 2
    assert seen.column("tenant_id") == [None] * before + ["t", None]
    assert seen.column("prompt_tokens") == [None] * before + [5, None]
    assert not seen.facts.unread


def test_a_path_below_a_key_that_was_null_is_read(read):
    rows = [SOME | {"headers": None}] * 2_000 + [SOME | {"headers": {"x": "t", "cookie": "c"}}]
    seen = read(lines(rows), logs={"tenant_from": ["headers.x"]})
    assert seen.column("tenant_id") == [None] * 2_000 + ["t"]


def test_a_key_that_was_met_may_be_of_another_type_later(read):
    rows = [SOME | {"completion_tokens": n, "transfer_id": n} for n in range(2_000)]
    odd = SOME | {"completion_tokens": "7", "transfer_id": "x"}
    seen = read(lines([*rows, odd, SOME | {"completion_tokens": [1], "transfer_id": None}]))
    assert seen.column("completion_tokens") == [*range(2_000), 7, None]
    assert seen.column("transfer_id") == [*map(str, range(2_000)), "x", None]
    assert seen.facts.bad_values == {"completion_tokens": 1}


# --- cuts ----------------------------------------------------------------------------


def dirty(count: int) -> bytes:
    """Lines of each kind, in an order of their own."""
    rng = random.Random(3)
    kinds = [
        lambda n: json.dumps(SOME | {"request_id": f"r-{n}", "prompt_tokens": n}),
        lambda n: json.dumps(SOME | {"request_id": f"r-{n}", "prompt_tokens": str(n)}),
        lambda n: json.dumps({"node": "p", "pool_tokens": n, "effective_at": SOME["received_at"]}),
        lambda n: json.dumps({"marker": f"{n:x}", "seen_at": "2026-02-03T04:05:06.5Z"}),
        lambda _: json.dumps({"request_id": "two words", "http_status": 7.5}),
        lambda _: json.dumps({"received_at": "2026-02-03T04:05:06"}),
        lambda _: '{"request_id": "cut',
        lambda _: "",
        lambda _: "{}",
    ]
    return "\n".join(rng.choice(kinds[: rng.choice([2, 9])])(n) for n in range(count)).encode()


def told(seen):
    facts = seen.facts
    return (
        seen.rows.sort("line").rows(),
        seen.capacity.sort("line").rows(),
        sorted((unread.line, unread.reason) for unread in facts.unread),
        (facts.read, facts.kept, facts.bad_values, facts.notes, facts.sha256),
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("block", "rows", "size"), [(300, 10, 1 << 20), (300, 10_000, 900), (4_000, 1, 1)]
)
def test_the_same_whatever_the_size_of_blocks_and_batches(read, monkeypatch, block, rows, size):
    data = dirty(700)
    whole = told(read(data))
    monkeypatch.setattr(blocks, "READ_BYTES", block)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
    monkeypatch.setattr(batches, "BATCH_ROWS", rows)
    monkeypatch.setattr(batches, "BATCH_BYTES", size)
    assert told(read(data)) == whole


def test_a_batch_is_bounded_by_rows_and_by_bytes(monkeypatch):
    columns = JsonColumns({"a": ("a",)}, {"a": "count"})
    given = [blocks.Block(b'{"a":1}\n' * 10, 1 + 10 * n, 80 * n) for n in range(7)]
    for name, value in (("BATCH_ROWS", 25), ("BATCH_BYTES", 200)):
        with monkeypatch.context() as patch:
            patch.setattr(batches, name, value)
            found = [one.read for one in batches.batches(given, columns)]
        assert found == [30, 30, 10]


# --- two objects on a line -----------------------------------------------------------


@pytest.mark.parametrize(
    "two",
    [
        b'{"request_id": "a"},{"request_id": "b"}\n\n',
        b'{"request_id": "a"} {"request_id": "b"}\n\n',
        b'{"request_id": "a", "x": [{}\n{}]},{"request_id": "b"}\n',
        b'{"request_id": "a", "x":\n1} {"request_id": "b"}\n',
        b'[{"request_id": "a"},{"request_id": "b"}]\n',
        b'{"request_id": "a", "x": "b\n"} {"request_id": "b"}\n',
    ],
)
def test_objects_and_lines_that_merely_agree_in_number_are_not_records(read, two):
    seen = read(lines([SOME]) + two + lines([SOME]))
    assert seen.column("request_id") == ["r", "r"]
    assert seen.facts.read == 2 + len(seen.facts.unread)


# --- what is left in memory ----------------------------------------------------------


def test_texts_that_are_not_kept_are_in_no_memory_of_the_rows(tmp_path):
    from forensics.incident import Incident
    from forensics.sources.blocks import Opened
    from forensics.sources.context import Context
    from forensics.sources.files import expand
    from forensics.sources.plain import read_ndjson

    canary = "CANARY-of-some-length"
    odd = {
        "request_id": f"{canary} two words",
        "finish_reason": f"{canary}-X",
        "model": "m\n" + canary,
    }
    (tmp_path / "x.ndjson").write_bytes(
        lines([SOME | odd, SOME | {"model": "a-model-of-some-name"}])
    )
    source = expand(tmp_path / "x.ndjson")[0]
    with Opened(source) as opened:
        found: list[Parsed] = list(read_ndjson(opened, Context(Incident(), 0, "x.ndjson")))
    frames = [frame for parsed in found for frame in parsed.observations]
    assert sum(frame.height for frame in frames) == 2
    texts = [series for frame in frames for series in frame if series.dtype == pl.String]
    held = b"".join(
        buffer.to_pybytes()
        for series in texts
        for buffer in series.to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
        if buffer is not None
    )
    assert b"a-model-of-some-name" in held, "texts of some length are found where they are"
    assert canary.encode() not in held
    assert canary.lower().encode() not in held
