"""The runbook's alarm, by hour and prompt length."""

import polars as pl

from forensics.timing.alarms import hourly

HOUR = 3_600_000_000


def hours(*groups):
    """Each group: hour, prompt tokens, milliseconds, number of requests."""
    rows = [(hour * HOUR, tokens, ms) for hour, tokens, ms, size in groups for _ in range(size)]
    names = {"received_at": pl.Int64, "prompt_tokens": pl.Int64, "prefill_ms": pl.Float64}
    return hourly(pl.DataFrame(rows, schema=names, orient="row"))


def test_an_hour_in_which_long_prompts_come_back_fast_is_one():
    quiet = [(hour, 200_000, 11_000.0, 3) for hour in range(6)]
    found = hours(*quiet, (6, 200_000, 56.0, 1), (6, 200_000, 11_000.0, 10))
    assert found["alarm"].to_list() == [False] * 6 + [True]
    assert found["long_context"].all()


def test_a_bucket_that_is_fast_in_every_hour_is_held_against_shorter_ones():
    groups = [(hour, 200_000, 11_000.0, 3) for hour in range(4)]
    found = hours(*groups, *((hour, 800_000, 56.0, 2) for hour in range(4)))
    assert found.filter(pl.col("low") == 524_288)["alarm"].all()
    assert not found.filter(pl.col("low") == 131_072)["alarm"].any()


def test_short_prompts_are_not_marked_as_long_context():
    assert hours((1, 900, 80.0, 2))["long_context"].to_list() == [False]


def test_slower_is_no_alarm():
    found = hours(*((hour, 200_000, 11_000.0, 3) for hour in range(5)), (5, 200_000, 90_000.0, 3))
    assert not found["alarm"].any()
