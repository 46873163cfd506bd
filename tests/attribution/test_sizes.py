"""Sizes that hops do not agree about, and one hold under two names: both would move all pages."""

import pytest

from tests.attribution.made import DAY, POOL, hold, read, reasons, tiers

ENDED = {"finish_reason": "stop", "hop": "decode"}
WRITERS = [
    hold(f"w{n}", f"01:{n:02}:00.512345", f"01:{n:02}:01.587654", **ENDED) for n in range(12)
]
SIZES = {"decode_prompt_tokens": 512, "reserved_pages": 8, "transferred_pages": 1}
READER = hold("x", "02:00:00.512345", "02:00:09.598765", **SIZES, **ENDED)


def told(row: dict[str, object], **more: object) -> dict[str, object]:
    """What the gateway logged of the same request."""
    kept = ("request_id", "tenant_id", "received_at", "http_status", "finish_reason")
    same = {name: row[name] for name in (*kept, "completion_tokens")}
    return same | {"hop": "gateway", "prompt_tokens": row["decode_prompt_tokens"]} | more


@pytest.mark.parametrize(
    ("off", "of", "found"),
    [
        ({}, 1, set()),
        ({"prompt_tokens": 1_000}, 1, {"sizes_differ"}),
        ({"completion_tokens": 300}, 1, {"sizes_differ"}),
        ({"prompt_tokens": 160}, 1, set()),
        ({"completion_tokens": 300, "finish_reason": "abort"}, 1, set()),
        ({"prompt_tokens": 1_000}, 11, set()),
    ],
    ids=["none", "a prompt", "an answer", "a template", "an abort", "most of them"],
)
def test_sizes_that_the_gateway_counted_otherwise_of_some_are_not_believed(
    tmp_path, off, of, found
):
    ended = {name: value for name, value in off.items() if name == "finish_reason"}
    rows = [row | (ended if n < of else {}) for n, row in enumerate([*WRITERS, READER])]
    door = [told(row, **(off if n < of else {})) for n, row in enumerate(rows)]
    case = read(tmp_path, POOL, *rows, *door)
    assert reasons(case) == found
    assert ("probable" in tiers(case).values()) is not bool(found)


@pytest.mark.parametrize(
    ("until", "found"),
    [("01:00:01.587654", {"held_twice"}), ("01:00:01.587655", set())],
    ids=["the same", "another"],
)
def test_one_hold_under_two_names_may_be_one(tmp_path, until, found):
    again = hold("w0-b", "01:00:00.512345", until, **ENDED)
    assert reasons(read(tmp_path, POOL, *WRITERS, again, READER)) == found


def test_holds_of_one_second_are_no_sign_of_one(tmp_path):
    coarse = {"reserved_at": f"{DAY}01:30:00Z", "released_at": f"{DAY}01:30:01Z"}
    rows = [hold(name, "01:30:00", "01:30:01", **coarse, **ENDED) for name in ("a", "b")]
    assert reasons(read(tmp_path, POOL, *WRITERS, *rows, READER)) == set()
