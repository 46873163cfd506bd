"""Hours without any record, of which it cannot be told whether records are missing."""

import numpy as np
import polars as pl
import pytest

from forensics.activity import HOUR
from forensics.coverage.hours import Coverage
from forensics.coverage.quiet import quiet
from forensics.coverage.still import STILL


def coverage(hours: list[int], still: list[tuple[int, int]]) -> Coverage:
    rows = pl.DataFrame(
        {"hour": [hour * HOUR for hour in hours], "records": [1] * len(hours)},
        schema={"hour": pl.Int64, "records": pl.Int64},
    )
    spans = [("n", "decode", begin, end, "node") for begin, end in still]
    return Coverage(rows, rows.clear(), pl.DataFrame(spans, schema=STILL, orient="row"))


@pytest.mark.parametrize("seed", range(20))
def test_they_are_those_amid_records_that_no_silence_touches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 60, rng.integers(0, 12)).tolist()
    begins = rng.integers(-10 * HOUR, 70 * HOUR, rng.integers(0, 5)).tolist()
    still = [(begin, begin + int(rng.integers(1, 9 * HOUR))) for begin in begins]
    empty = [hour for hour in range(min(hours), max(hours)) if hour not in hours] if hours else []
    untold = [
        hour
        for hour in empty
        if not any(begin < (hour + 1) * HOUR and end > hour * HOUR for begin, end in still)
    ]
    assert quiet(coverage(hours, still)).untold == len(untold)


def test_a_clock_that_is_off_by_centuries_is_no_matter() -> None:
    assert quiet(coverage([0, 70_000_000], [])).untold == 69_999_999
