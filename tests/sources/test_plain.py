"""Plain records: what counts as a number, a time, an id; mapping; where a tenant is found."""

import csv
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

from forensics import read_logs
from forensics.errors import IncidentError

ROOM = 2**63 - 2
"""Above 2^53: any way through a float loses it."""
SOME = {"request_id": "r-1", "received_at": "2026-02-03T04:05:06Z"}


def ndjson(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: "" if value is None else value for name, value in row.items()} for row in rows
    )
    return text.getvalue().encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


FORMS = {"ndjson": ndjson, "csv": as_csv, "parquet": parquet}


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


def column_of(read, form, name, pairs, **incident):
    """Read each value under the column; return what was made of them, and the file's facts."""
    file, write = form
    seen = read(write([SOME | {name: value} for value, _ in pairs]), file, **incident)
    assert seen.facts.kept == len(pairs), "the records stay, without the value"
    assert seen.facts.bad_values[name] == sum(expected is None for _, expected in pairs)
    return dict(enumerate(seen.column(name)))


def wanted(pairs):
    return dict(enumerate(expected for _, expected in pairs))


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


# --- ids, names, codes, flags, settings ----------------------------------------------


@pytest.mark.parametrize("column", ["request_id", "prefill_request_id"])
def test_an_id_that_may_hold_words_is_named_by_its_place(form, read, column):
    name, write = form
    unfit = ["two words", "tab\tbed", "x" * 129, "nbsp\u00a0id", "wide\u3000id", "line\nend"]
    fit = ["x" * 128, "chatcmpl-é-123", "a/b:c#d"]
    seen = read(write([SOME | {column: text} for text in (*unfit, *fit)]), name)
    first = 2 if name == "x.csv" else 1
    places = [f"redacted:{name}:{first + at}" for at in range(len(unfit))]
    assert seen.column(column) == [*places, *fit]
    assert seen.facts.bad_values == {column: len(unfit)}


def test_other_unfit_ids_are_null(form, read):
    name, write = form
    seen = read(write([SOME | {"transfer_id": "two words", "decode_node": "x" * 129}]), name)
    assert seen.column("transfer_id") == seen.column("decode_node") == [None]
    assert seen.facts.bad_values == {"transfer_id": 1, "decode_node": 1}


def test_same_file_name_and_line_in_two_folders_are_two_names(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        row = SOME | {"request_id": "two words", "tenant_id": "t", "prompt_tokens": 5}
        (tmp_path / folder / "day.ndjson").write_bytes(ndjson([row]))
    ids = read_logs(tmp_path).requests.polars()["request_id"].sort().to_list()
    assert ids == ["redacted:a/day.ndjson:1", "redacted:b/day.ndjson:1"]


@pytest.mark.parametrize(
    ("begin", "length", "kept"),
    [
        ("Fruit & Söhne GmbH ", 64, True),
        ("Fruit & Söhne GmbH ", 65, False),
        ("/models/", 256, True),
        ("/models/", 257, False),
    ],
)
def test_names_of_tenants_may_have_spaces_and_an_end(form, read, begin, length, kept):
    name, write = form
    text = begin.ljust(length, "x")
    seen = read(write([SOME | {"tenant_id": text}]), name)
    assert seen.column("tenant_id") == [text if kept else None]
    assert seen.facts.bad_values["tenant_id"] == (not kept)


CODES = {
    "rejection_code": [
        ("input_too_long", "input_too_long"),
        ("INPUT_TOO_LONG", "input_too_long"),
        ("the prompt began with: dear", "other"),
    ],
    "finish_reason": [("stop", "stop"), ("eos: and the text", "other")],
    "transfer_status": [("complete", "complete"), ("a text", None)],
    "hop": [("Decode", "decode"), ("a text", None)],
}


@pytest.mark.parametrize("column", CODES)
def test_codes_are_from_a_closed_list(form, read, column):
    assert column_of(read, form, column, CODES[column]) == wanted(CODES[column])


FLAGS = [
    ("true", True),
    ("True", True),
    (1, True),
    ("no", False),
    (0, False),
    (False, False),
    ("maybe", None),
    (2, None),
]


def test_flags(form, read):
    assert column_of(read, form, "rejected", FLAGS) == wanted(FLAGS)


POOL = {"node": "p/dp0", "role": "prefill", "effective_at": "2026-02-03T00:00:00Z"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"quantization": "fp8", "tp_size": 8, "api_key": "k"}, "quantization=fp8;tp_size=8"),
        ({"tp_size": 8, "mem_fraction_static": 0.75}, "mem_fraction_static=0.75;tp_size=8"),
        ("tp_size=8; quantization=fp8 ;secret=x", "quantization=fp8;tp_size=8"),
        ({"quantization": "a long text of a user"}, None),
        ({"quantization": "x" * 49}, None),
        ("free text", None),
        (
            "--tp-size 8;--disable-radix-cache; DP_SIZE: 2",
            "disable_radix_cache=True;dp_size=2;tp_size=8",
        ),
        ({"tp-size": 8, "disable-radix-cache": True}, "disable_radix_cache=True;tp_size=8"),
    ],
)
def test_settings_are_an_allow_list(read, config, expected):
    seen = read(ndjson([POOL | {"pool_tokens": 64, "config": config}]))
    assert seen.capacity["config"].to_list() == [expected]
    assert seen.facts.bad_values["config"] == (expected is None)


# --- kinds of record -----------------------------------------------------------------


def test_request_capacity_and_marker_records_in_one_file(read):
    marker = {"marker": "9f", "planted_request_id": "a", "seen_request_id": "b"}
    seen = read(ndjson([SOME, POOL | {"pool_tokens": 640}, marker]))
    assert (seen.rows.height, seen.capacity.height) == (1, 1)
    assert sum(frame.height for frame in seen.reading.markers) == 1
    assert seen.facts.kept == 3


@pytest.mark.parametrize("pool", ["abc", None, -5])
def test_a_capacity_record_without_a_readable_pool_is_no_request(read, pool):
    row = POOL | {"page_tokens": 64, "pool_tokens": pool}
    seen = read(ndjson([row]))
    assert seen.rows.height == 0
    assert seen.capacity["page_tokens"].to_list() == [64]


def test_a_record_without_any_known_value_is_unreadable(read):
    seen = read(ndjson([SOME, {"text": "secret"}, {"hop": "decode"}, {"request_id": None}, {}]))
    assert seen.facts.kept == 1
    assert seen.reasons == {"no value under a known column name": 4}
    assert [unread.line for unread in seen.facts.unread] == [2, 3, 4, 5]


# --- names ---------------------------------------------------------------------------


def test_foreign_names_are_mapped_and_hide_the_own_one(form, read):
    name, write = form
    row = {"reqId": "r-9", "request_id": "hidden", "n": 5, "received_at": SOME["received_at"]}
    columns = {"reqId": "request_id", "n": "prompt_tokens"}
    seen = read(write([row]), name, columns=columns)
    assert seen.column("request_id") == ["r-9"]
    assert seen.column("prompt_tokens") == [5]


def test_a_name_of_ours_can_stand_for_another_column(form, read):
    name, write = form
    row = SOME | {"prompt_tokens": 5, "prefill_prompt_tokens": 6}
    seen = read(write([row]), name, columns={"prompt_tokens": "prefill_prompt_tokens"})
    assert seen.column("prefill_prompt_tokens") == [5]
    assert seen.column("prompt_tokens") == [None]


def test_mapped_names_are_what_a_file_is_told_by(form, read):
    name, write = form
    seen = read(
        write([{"id": "r-1", "when": SOME["received_at"]}]),
        name,
        columns={"id": "request_id", "when": "received_at"},
    )
    assert seen.facts.kept == 1


def test_the_tenant_is_found_under_the_stated_paths_in_their_order(read):
    rows = [
        SOME | {"headers": {"x-tenant-id": "a"}, "account": {"name": "z"}},
        SOME | {"account": {"name": "b"}},
        SOME | {"headers": None, "account": {"name": "c"}, "tenant_id": ""},
        SOME | {"headers": "none", "account": {"name": "d"}},
        SOME | {"headers": {"x-tenant-id": {"deep": 1}}, "account": {"name": "e"}},
        SOME | {"tenant_id": "f", "account": {"name": "z"}},
        SOME,
    ]
    paths = ["headers.x-tenant-id", "account.name"]
    seen = read(ndjson(rows), logs={"tenant_from": paths})
    assert seen.column("tenant_id") == ["a", "b", "c", "d", "e", "f", None]
    assert not seen.facts.bad_values


def test_more_than_ten_paths_keep_their_order(read):
    paths = [f"t.k{number}" for number in range(12)]
    row = SOME | {"t": {"k10": "later", "k2": "sooner"}}
    assert read(ndjson([row]), logs={"tenant_from": paths}).column("tenant_id") == ["sooner"]


@pytest.mark.parametrize("write", [as_csv, parquet])
def test_flat_files_find_the_tenant_under_the_path_as_column_name(read, write):
    name = "x.csv" if write is as_csv else "x.parquet"
    rows = [SOME | {"headers.x-tenant-id": "a"}, SOME | {"headers.x-tenant-id": None}]
    seen = read(write(rows), name, logs={"tenant_from": ["headers.x-tenant-id"]})
    assert seen.column("tenant_id") == ["a", None]


@pytest.mark.parametrize(
    "paths", [["request_id.inner"], ["request_id.inner", "x"], ["a.b", "a"], ["a", "a.b"]]
)
def test_paths_that_cannot_both_be_read_are_an_error(read, paths):
    with pytest.raises(IncidentError):
        read(ndjson([SOME]), logs={"tenant_from": paths})


def test_the_node_of_a_side_comes_from_the_path_where_stated(form, read):
    name, write = form
    rows = [
        SOME | {"hop": "prefill"},
        SOME | {"hop": "decode", "decode_node": "own"},
        SOME | {"hop": "gateway"},
        SOME,
    ]
    pattern = r"(?P<node>[^/]+)/x\."
    seen = read(write(rows), f"node-07/{name}", logs={"node_from": pattern})
    assert seen.column("prefill_node") == ["node-07", None, None, None]
    assert seen.column("decode_node") == [None, "own", None, None]
    assert read(write(rows), f"node-07/{name}").column("prefill_node") == [None] * 4
