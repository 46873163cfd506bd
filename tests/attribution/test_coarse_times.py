"""Times that are rounded down, to whatever step: what happened first within it is not known."""

import pytest

from tests.attribution.made import DAY, POOL, hold, read, tiers, warm_up

WRITERS = [hold(f"w{n}", f"01:0{n}:00.51234{n}", f"01:0{n}:01.56789{n}") for n in range(6)]
OVER = {"decode_prompt_tokens": 512, "reserved_pages": 8, "transferred_pages": 1}


@pytest.mark.parametrize(
    ("since", "until", "within", "after"),
    [
        ("02:00:00.51", "02:00:09.59", "02:00:00.5153", "02:00:00.5203"),
        ("02:00:00.5", "02:00:09.6", "02:00:00.5853", "02:00:00.6003"),
        ("02:00:10", "02:00:40", "02:00:17.5153", "02:00:20.5153"),
        ("02:01:00", "02:02:00", "02:01:47.5153", "02:02:00.5153"),
        ("02:15:00", "02:45:00", "02:21:47.5153", "02:30:00.5153"),
    ],
    ids=["10 ms", "100 ms", "10 s", "a minute", "a quarter of an hour"],
)
def test_whoever_wrote_within_the_step_of_a_read_may_be_its_source(
    tmp_path, since, until, within, after
):
    both = [hold(name, f"{at}45", f"{at}99") for name, at in (("in", within), ("late", after))]
    found = tiers(read(tmp_path, POOL, *WRITERS, hold("x", since, until, **OVER), *both))
    assert found["of-in"] == "possible"
    assert found["of-w2"] == "possible"  # by the order of the stamps alone it would be certain
    assert "of-late" not in found


def test_a_hold_of_whole_minutes_may_be_of_after_a_start(tmp_path):
    begun = POOL | {"effective_at": f"{DAY}01:20:30Z", "pool_tokens": 704}
    held = hold("odd", "01:20:00", "01:20:00")
    reader = hold("x", "02:00:00.512345", "02:00:09.598765", **OVER)
    assert tiers(read(tmp_path, POOL, *WRITERS, begun, warm_up("01:21:00"), held, reader)) == {
        "of-odd": "possible"
    }


def test_in_logs_of_whole_minutes_a_request_may_be_of_after_a_start(tmp_path):
    """A single time of one shows nothing: those of all do."""
    row = {"hop": "gateway", "decode_node": "d1", "http_status": 200}
    at = {f"w{n:02d}": f"{DAY}01:{n:02d}:00Z" for n in range(20)} | {"x": f"{DAY}01:20:00Z"}
    lines = [row | {"request_id": n, "tenant_id": n, "received_at": at[n]} for n in at]
    lines[-1] |= OVER
    begun = POOL | {"effective_at": f"{DAY}01:19:30Z", "pool_tokens": 704}
    found = tiers(read(tmp_path, POOL, begun, warm_up("01:19:40"), *lines))
    assert [name for name, tier in found.items() if tier == "possible"] == ["w19"]
