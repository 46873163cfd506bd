"""Plain records: ids, names, codes, flags, settings, kinds of record and names of columns."""

from collections.abc import Callable
from typing import Any

import pytest

from forensics import read_logs
from forensics.enginesettings import UNKNOWN
from forensics.errors import IncidentError
from tests.sources.flat import FORMS, SOME, as_csv, column_of, ndjson, parquet, wanted


@pytest.fixture(params=FORMS)
def form(request) -> tuple[str, Callable[[list[dict[str, Any]]], bytes]]:
    return f"x.{request.param}", FORMS[request.param]


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
        ({"quantization": "a long text of a user"}, "quantization=unreadable"),
        ({"quantization": "x" * 49}, "quantization=unreadable"),
        ("free text", UNKNOWN),
        (5, UNKNOWN),
        ([], UNKNOWN),
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
    assert seen.facts.bad_values["config"] == ("unreadable" in (expected or ""))


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
