"""The 5th percentile of prefill time, against an exact one."""

import math
import random

import polars as pl
import pytest

import forensics


def requests(times: list[float], tokens: int = 5000) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "request_id": [f"r{n}" for n in range(len(times))],
            "received_at": ["2026-09-01T12:00:00Z"] * len(times),
            "prompt_tokens": [tokens] * len(times),
            "prefill_ms": times,
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_it_is_within_a_bin_of_the_exact_one(seed: int) -> None:
    drawn = random.Random(seed)
    times = [drawn.lognormvariate(6, 1) for _ in range(2000)]
    exact = sorted(times)[math.ceil(0.05 * len(times)) - 1]
    (row,) = forensics.prefill_p5(requests(times)).to_dicts()
    assert row["requests"] == 2000
    assert row["p5_ms"] == pytest.approx(exact, rel=0.0313)


@pytest.mark.parametrize(
    ("tokens", "low"),
    [(1, 1), (4095, 2048), (4096, 4096), (4097, 4096), (2**54 - 1, 2**53), (2**62, 2**62)],
)
def test_buckets_are_powers_of_two(tokens: int, low: int) -> None:
    (row,) = forensics.prefill_p5(requests([10.0], tokens)).to_dicts()
    assert row["low"] == low


def test_rows_without_a_time_or_a_length_are_left_out() -> None:
    frame = requests([10.0, 20.0, 0.0]).with_columns(
        prompt_tokens=pl.Series([5000, None, 5000], dtype=pl.Int64)
    )
    (row,) = forensics.prefill_p5(frame).to_dicts()
    assert row["requests"] == 1
