"""Plain records: what counts as a number, a time, an id; mapping; where a tenant is found."""

import io
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sources.flat import FORMS, ROOM, SOME, column_of, ndjson, wanted


@pytest.fixture(params=FORMS)
def form(request) -> tuple[str, Callable[[list[dict[str, Any]]], bytes]]:
    return f"x.{request.param}", FORMS[request.param]


# --- numbers -------------------------------------------------------------------------

NUMBERS = [
    (7, 7),
    ("7", 7),
    (" 7 ", 7),
    ("7.0", 7),
    (7.0, 7),
    (0, 0),
    (2**63 - 1, 2**63 - 1),
    (str(2**63 - 1), 2**63 - 1),
    ("7.5", None),
    (7.5, None),
    ("abc", None),
    (-1, None),
    ("-1", None),
    (2**63, None),
    (2**70, None),
    (str(2**70), None),
    ("1e3", None),
    ("0x10", None),
    ("\u0667", None),
    ("1_000", None),
    ("1,000", None),
    ("7 8", None),
    (True, None),
]


def test_whole_numbers(form, read):
    assert column_of(read, form, "completion_tokens", NUMBERS) == wanted(NUMBERS)


def test_json_numbers_that_are_no_whole_number(read):
    lines = [
        json.dumps(SOME)[:-1] + f', "prompt_tokens": {n}}}' for n in ("1e400", "-1e400", "7.50")
    ]
    seen = read("\n".join(lines))
    assert seen.column("prompt_tokens") == [None] * 3
    assert seen.facts.bad_values == {"prompt_tokens": 3}


@pytest.mark.parametrize("value", [[1], {"n": 1}, "a whole sentence", [], {}])
def test_an_object_where_a_number_belongs(read, value):
    names = ["prompt_tokens", "prefill_ms", "http_status", "received_at", "stream_error"]
    seen = read(ndjson([{"request_id": "r-1"} | dict.fromkeys(names, value)]))
    assert [seen.column(name) for name in names] == [[None]] * len(names)
    assert dict(seen.facts.bad_values) == dict.fromkeys(names, 1)


MEASURES = [("12.5", 12.5), (12.5, 12.5), (12, 12.0), ("NaN", None), ("inf", None), ("fast", None)]


def test_measures(form, read):
    assert column_of(read, form, "prefill_ms", MEASURES) == wanted(MEASURES)


def test_absent_and_empty_are_null_and_no_fault(form, read):
    name, write = form
    rows = [SOME | {"prompt_tokens": 5}, SOME | {"prompt_tokens": None}, SOME]
    seen = read(write(rows), name)
    assert seen.column("prompt_tokens") == [5, None, None]
    assert not seen.facts.bad_values


def test_pandas_floats_that_stand_for_whole_numbers(read):
    frame = pl.DataFrame(
        {
            "request_id": ["a", "b", "c", "d"],
            "received_at": [SOME["received_at"]] * 4,
            "prompt_tokens": [7.0, math.nan, 7.5, None],
            "transfer_id": [12.0, math.nan, 1.5, float(ROOM)],
        }
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    seen = read(buffer.getvalue(), "x.parquet")
    assert seen.column("prompt_tokens") == [7, None, None, None]
    assert seen.column("transfer_id") == ["12", None, None, None], "a rounded id would join wrongly"
    assert seen.facts.bad_values == {"prompt_tokens": 1, "transfer_id": 2}


@pytest.mark.parametrize("value", [ROOM, str(ROOM)])
def test_a_transfer_id_keeps_all_63_bits(form, read, value):
    name, write = form
    assert read(write([SOME | {"transfer_id": value}]), name).column("transfer_id") == [str(ROOM)]


@pytest.mark.parametrize("value", [1.234e17, 123.0, 0.5, "123.0", "1.234e17", "1.2E+17", "1e+17"])
def test_a_transfer_id_that_went_through_a_float_joins_nothing(form, read, value):
    name, write = form
    if isinstance(value, float) and name.endswith("parquet"):
        pytest.skip("a column of floats is read as such")
    seen = read(write([SOME | {"transfer_id": value}, SOME | {"transfer_id": "7"}]), name)
    assert seen.column("transfer_id") == [None, "7"]
    assert seen.facts.bad_values == {"transfer_id": 1}


@pytest.mark.parametrize("value", ["1e17", "trace-1.5", "v1.2.3", "00e0a1", "a+b"])
def test_a_transfer_id_need_not_be_a_number(form, read, value):
    name, write = form
    seen = read(write([SOME | {"transfer_id": value, "request_id": "1.5"}]), name)
    assert (seen.column("transfer_id"), seen.column("request_id")) == ([value], ["1.5"])
    assert not seen.facts.bad_values


def test_other_parquet_types(read):
    table = pa.table(
        {
            "request_id": pa.array(["a", "b"]).dictionary_encode(),
            "transfer_id": pa.array([2**64 - 1, 5], pa.uint64()),
            "prompt_tokens": pa.array([7, 8], pa.int8()),
            "completion_tokens": pa.array([7, None], pa.decimal128(20, 0)),
            "cached_tokens": pa.array([b"7", b"\xff"], pa.binary()),
            "tenant_id": pa.array([{"n": 1}, None], pa.struct([("n", pa.int64())])),
            "stream_error": pa.array([1, 0], pa.int64()),
            "hop": pa.array([["decode"], None], pa.list_(pa.string())),
            "received_at": pa.array(
                [datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)] * 2, pa.timestamp("ns", "Asia/Tokyo")
            ),
            "prefill_tokens": pa.array([1, 2], pa.duration("s")),
            "finish_reason": pa.nulls(2),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    seen = read(buffer.getvalue(), "x.parquet")
    assert seen.column("request_id") == ["a", "b"]
    assert seen.column("transfer_id") == [str(2**64 - 1), "5"]
    assert seen.column("prompt_tokens") == [7, 8]
    assert seen.column("completion_tokens") == [7, None]
    assert seen.column("cached_tokens") == [7, None]
    assert seen.column("stream_error") == [True, False]
    assert seen.column("received_at") == [1770091506000000] * 2
    assert seen.column("tenant_id") == [None, None]
    assert seen.facts.bad_values["cached_tokens"] == 1
    assert seen.facts.bad_values["prefill_tokens"] == 2
    assert seen.facts.kept == 2


def test_parquet_text_that_is_no_utf8_loses_that_value_alone(read):
    texts = pa.array([b"r-1", b"\xff\xfe"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 2, texts.buffers())
    table = pa.table({"tenant_id": broken, "request_id": pa.array(["r-1", "r-2"])})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    seen = read(buffer.getvalue(), "x.parquet")
    assert seen.column("tenant_id") == ["r-1", None]
    assert seen.column("request_id") == ["r-1", "r-2"]
    assert seen.facts.bad_values == {"tenant_id": 1}


# --- times ---------------------------------------------------------------------------

MOMENT = 1_770_091_506_123_456
TIMES = [
    "2026-02-03T04:05:06.123456Z",
    "2026-02-03T04:05:06.123456789Z",
    "2026-02-03 04:05:06,123456Z",
    "2026-02-03t04:05:06.123456z",
    "2026-02-03T13:05:06.123456+09:00",
    "2026-02-02T18:05:06.123456-1000",
    "2026-02-03T04:05:06.123456 UTC",
]


NO_TIMES = [
    "2026-02-30T04:05:06Z",
    "2026-02-03T25:05:06Z",
    "2026-02-03T04:05:06+99:99",
    "2026-02-03",
    "yesterday",
    "10000-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "-1",
]


def test_times_with_a_zone_and_what_is_no_time(form, read):
    pairs = [(text, MOMENT) for text in TIMES] + [(text, None) for text in NO_TIMES]
    assert column_of(read, form, "received_at", pairs) == wanted(pairs)


def test_a_naive_time_makes_the_record_unreadable(form, read):
    name, write = form
    rows = [SOME, SOME | {"request_id": "r-2", "finished_at": "2026-02-03T04:05:06"}]
    seen = read(write(rows), name)
    assert seen.column("request_id") == ["r-1"]
    assert seen.reasons == {"time without a zone; state it as [logs] timezone": 1}


def test_a_naive_time_is_read_in_the_stated_zone(form, read):
    twice = datetime(2026, 11, 1, 1, 30, tzinfo=timezone(timedelta(hours=-4)))
    pairs = [
        ("2026-02-02T23:05:06.123456", MOMENT),
        ("2026-02-03T04:05:06.123456Z", MOMENT),
        # Clocks went from 02:00 to 03:00, and in November they showed 01:30 twice.
        ("2026-03-08T02:30:00", None),
        ("2026-11-01T01:30:00", int(twice.timestamp()) * 1_000_000),
    ]
    found = column_of(read, form, "received_at", pairs, logs={"timezone": "America/New_York"})
    assert found == wanted(pairs)


EPOCHS = {
    "s": [(1770091506, 1_770_091_506_000_000), (1770091506123, None), (MOMENT, None)],
    "ms": [(1770091506123, 1_770_091_506_123_000)],
    "us": [(MOMENT, MOMENT)],
    "ns": [(MOMENT * 1_000 + 789, MOMENT), (2**63 - 1, (2**63 - 1) // 1_000)],
    None: [(1770091506, None), (MOMENT, None)],
}


@pytest.mark.parametrize("unit", EPOCHS)
def test_epoch_integers_need_their_unit(form, read, unit):
    logs = {} if unit is None else {"logs": {"epoch_unit": unit}}
    pairs = [(kind(number), at) for number, at in EPOCHS[unit] for kind in (int, str)]
    assert column_of(read, form, "received_at", pairs, **logs) == wanted(pairs)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_epoch_integers_in_a_parquet_column(read, unit):
    buffer = io.BytesIO()
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    pl.DataFrame({"request_id": ["r"], "received_at": [1770091506 * factor]}).write_parquet(buffer)
    seen = read(buffer.getvalue(), "x.parquet", logs={"epoch_unit": unit})
    assert seen.column("received_at") == [1_770_091_506_000_000]
