"""Moments and lengths of time in each unit, and texts that are none."""

import json
from datetime import UTC, datetime

import pytest

NOON = int(datetime(2026, 2, 3, 12, tzinfo=UTC).timestamp())
TICKS = 621_355_968_000_000_000 + NOON * 10**7


def profile(column: str, **source):
    return {
        "name": "own",
        "title": "x",
        "verified": True,
        "told_by": ["id"],
        "columns": {"request_id": "id", column: {"from": "at", **source}},
    }


def one(read, value, column="received_at", more=None, logs=None, **source):
    logs = {"profiles": [profile(column, **source)], **(logs or {})}
    return read(json.dumps({"id": "r", "at": value, **(more or {})}), "own.jsonl", logs=logs)


def micros(seen) -> int | None:
    (value,) = seen.column("received_at")
    return None if value is None else value - NOON * 1_000_000


MOMENTS = [
    ("rfc3339", "2026-02-03T13:00:00.25+01:00", 250_000),
    ("rfc3339", "2026-02-03 12:00:00.25 UTC", 250_000),
    ("utc", "2026-02-03 12:00:00.250", 250_000),
    ("utc", "2026-02-03T12:00:00", 0),
    ("utc", "2026-02-03T13:00:00+01:00", 0),
    ("s", NOON + 0.25, 250_000),
    ("s", NOON + 0.811253, 811_253),
    ("s", NOON, 0),
    ("s", f"{NOON}.811253", 811_253),
    ("ms", NOON * 1_000 + 250, 250_000),
    ("ms", f"{NOON}250.5", 250_500),
    ("us", NOON * 10**6 + 1, 1),
    ("ns", f"{NOON}000001999", 1),
    ("epoch", NOON, 0),
    ("epoch", f"{NOON}.25", 250_000),
    ("epoch", NOON * 1_000 + 1, 1_000),
    ("epoch", NOON * 10**6 + 1, 1),
    ("epoch", NOON * 10**9 + 1_000, 1),
    ("ticks", TICKS + 10, 1),
    ("ticks", str(TICKS + 19), 1),
]


@pytest.mark.parametrize(("unit", "value", "expected"), MOMENTS)
def test_a_moment(read, unit, value, expected):
    seen = one(read, value, unit=unit)
    assert micros(seen) == expected
    assert not seen.facts.bad_values


NONE = [
    ("s", NOON * 1_000),
    ("ms", NOON),
    ("us", NOON * 1_000),
    ("ns", NOON),
    ("ticks", NOON),
    ("epoch", 12),
    ("epoch", "2026-02-03T12:00:00Z"),
    ("s", "CANARY"),
    ("rfc3339", str(NOON)),
    ("utc", "CANARY"),
    ("rfc3339", {"at": "CANARY"}),
]


@pytest.mark.parametrize(("unit", "value"), NONE)
def test_what_is_no_moment_of_that_unit_is_none_and_is_counted(read, unit, value):
    seen = one(read, value, unit=unit)
    assert micros(seen) is None
    assert dict(seen.facts.bad_values) == {"received_at": 1}
    assert "CANARY" not in repr(seen.facts)


def test_a_moment_without_zone_needs_one_stated(read):
    naive = "2026-02-03T13:00:00"
    seen = one(read, naive)
    assert dict(seen.reasons) == {"time without a zone; state it as [logs] timezone": 1}
    assert micros(one(read, naive, logs={"timezone": "Europe/Berlin"})) == 0


PLUS = [("s", 1.5, 1_500_000), ("ms", "250", 250_000), ("us", 7, 7), ("ns", 1_000, 1)]


@pytest.mark.parametrize(("unit", "length", "expected"), PLUS)
@pytest.mark.parametrize(
    ("of", "at"), [("s", NOON), ("rfc3339", "2026-02-03T12:00:00Z"), ("utc", "2026-02-03 12:00:00")]
)
def test_a_length_of_time_is_added(read, of, at, unit, length, expected):
    plus = {"from": "took", "unit": unit}
    assert micros(one(read, at, more={"took": length}, unit=of, plus=plus)) == expected


def test_without_a_length_there_is_no_later_moment(read):
    seen = one(read, NOON, unit="s", plus={"from": "took"})
    assert micros(seen) is None
    assert micros(one(read, "2026-02-03T12:00:00", more={"took": 1}, plus={"from": "took"})) is None


LENGTHS = [("s", 0.25, 250.0), ("ms", "250", 250.0), (None, 250, 250.0), ("us", 250, 0.25)]


@pytest.mark.parametrize(("unit", "value", "expected"), LENGTHS)
def test_a_length_of_time_is_in_milliseconds(read, unit, value, expected):
    stated = {} if unit is None else {"unit": unit}
    assert one(read, value, "prefill_ms", **stated).column("prefill_ms") == [expected]


@pytest.mark.parametrize("value", ["CANARY", "nan", "inf"])
def test_a_length_that_is_no_number_is_none_and_is_counted(read, value):
    seen = one(read, value, "prefill_ms", unit="s")
    assert seen.column("prefill_ms") == [None]
    assert dict(seen.facts.bad_values) == {"prefill_ms": 1}


CODES = {"end_turn": "stop", "max": "length"}


@pytest.mark.parametrize(
    ("value", "otherwise", "expected"),
    [("max", None, "length"), ("odd", None, None), ("odd", "other", "other"), ("", "other", None)],
)
def test_a_map_puts_ours_for_theirs(read, value, otherwise, expected):
    source = {"values": CODES} | ({} if otherwise is None else {"otherwise": otherwise})
    assert one(read, value, "finish_reason", **source).column("finish_reason") == [expected]


def test_the_first_of_several_that_has_a_value(read):
    own = profile("tenant_id")
    own["absent"] = ["-"]
    own["columns"]["tenant_id"] = [{"from": "a", "absent": ["none"]}, "b/c", "d"]
    rows = [
        {"id": 1, "a": "A", "d": "D"},
        {"id": 2, "a": "none", "b": {"c": "C"}, "d": "D"},
        {"id": 3, "a": "-", "b": {"c": "-"}, "d": "D"},
        {"id": 4, "a": "", "b": None, "d": 7},
        {"id": 5, "a": None},
    ]
    seen = read("\n".join(map(json.dumps, rows)), "own.jsonl", logs={"profiles": [own]})
    assert seen.column("tenant_id") == ["A", "C", "D", "7", None]
