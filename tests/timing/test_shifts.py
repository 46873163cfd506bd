"""A node that becomes faster or slower as a whole is held against what it does from then on."""

import numpy as np
import polars as pl
import pytest

from forensics.timing import blind, blocks, scores, work
from forensics.timing.shifts import heaviest

NO_EPOCHS = pl.DataFrame(schema={"node": pl.String, "effective_at": pl.Int64})
NODE = pl.col("prefill_node") == "prefill-0/dp0"
EVERY = pl.lit(value=True)
FIXED = 55.0
SHIFTS = {
    "late, one node": (0.9, 1 / 6, NODE, 0.0),
    "early, one node": (0.2, 1 / 6, NODE, 0.0),
    "in the middle, the fleet": (0.5, 1 / 6, EVERY, 0.0),
    "more for a token than for a batch": (0.7, 1 / 20, NODE, FIXED),
    "late and slower, the fleet": (0.6, 4, EVERY, 0.0),
    "nearly all the time slower, one node": (0.05, 5, NODE, 0.0),
}
"""From which part of the time on, how much slower, where, and milliseconds that stay."""


def moved(rows: pl.DataFrame, start: float, times: float, where: pl.Expr, fixed: float):
    """Return the rows with other times from then on, and which these are."""
    later = where & (pl.col("handoff") >= start * rows.height)
    other = fixed + (pl.col("prefill_ms") - fixed).clip(0) * times
    return rows.with_columns(prefill_ms=pl.when(later).then(other).otherwise("prefill_ms"))


def with_leaks(rows: pl.DataFrame, start: float, times: float, where: pl.Expr, fixed: float):
    """Swap some prompts over the limit for one token, before and after, in the time of that."""
    leak = pl.col("handoff") % 97 < 2
    later = where & (pl.col("handoff") >= start * rows.height)
    took = fixed + (FIXED - fixed) * pl.when(later).then(times).otherwise(1.0)
    long = pl.when(leak)
    return moved(rows, start, times, where, fixed).with_columns(
        prompt_tokens=long.then(700_000).otherwise("prompt_tokens"),
        cached_tokens=long.then(0).otherwise("cached_tokens"),
        prefill_ms=long.then(took).otherwise("prefill_ms"),
        leak=leak,
    )


@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
def test_a_shift_makes_nobody_too_fast_and_hides_nobody(honest, scored, shift):
    rows = with_leaks(honest(), *shift)
    found, timing = scored(rows)
    assert found["timing_fast"].to_list() == rows["leak"].to_list()
    assert timing.paces.height >= 1
    assert timing.sources["tested"].sum() == rows.height


def test_it_is_said_where_and_when(honest, scored):
    _, timing = scored(moved(honest(), *SHIFTS["late, one node"]))
    assert timing.paces.select("node", "side").rows() == [("prefill-0/dp0", -1)]
    (said,) = blind.sentences(timing)
    assert "prefill-0/dp0: 203 requests from 2026-09-0" in said
    assert "far less time than the node's others" in said


def test_too_few_at_another_pace_are_not_tested(honest, scored):
    """Twenty, and one beside them too short to tell: which pace is usual is not known of so few."""
    rows = moved(honest(), 0.99, 1 / 8, NODE, 0.0)
    found, timing = scored(rows)
    late = NODE & (pl.col("handoff") >= 3_960)
    assert found.filter(late)["timing_fast"].null_count() == 20
    assert "21 ran at another pace than the node's" in next(blind.sentences(timing))


@pytest.mark.parametrize(
    "shift",
    [(0.992, 1 / 10, EVERY, 0.0), (0.99, 1 / 5, EVERY, 0.0), (0.992, 1 / 10, NODE, 0.0)],
    ids=["the fleet", "the fleet, less", "one node"],
)
def test_a_change_just_before_the_end_makes_nobody_too_fast(honest, scored, shift):
    """All of a node or a fleet changed, and few are left to tell it by: prompts over or below."""
    rows = with_leaks(honest(), *shift)
    found, timing = scored(rows)
    late = pl.col("handoff") >= shift[0] * rows.height
    assert found.filter(late & ~pl.col("leak"))["timing_fast"].fill_null(value=False).sum() == 0
    assert timing.paces.height == (2 if shift[2] is EVERY else 1)
    before = found.filter(~late)
    assert before["timing_fast"].fill_null(value=False).to_list() == before["leak"].to_list()


def test_short_prompts_that_wait_for_others_or_not_are_no_shift(honest, scored):
    """Where most batches are shared, one alone takes a tenth of what is usual for short ones."""
    rng = np.random.default_rng(5)
    busy = np.where(rng.random(4_000) < 0.6, rng.uniform(0, 1_600, 4_000), 0)
    rows = honest().with_columns(pl.col("prefill_ms") + pl.Series(busy))
    rows = with_leaks(rows, 1, 1, EVERY, 0)
    found, timing = scored(rows)
    assert timing.paces.height == 0
    assert found["timing_fast"].to_list() == rows["leak"].to_list()


def test_times_of_mixed_units_make_nobody_too_fast(honest, scored):
    """A tenth of the times are in seconds: of a long prompt it is what one token takes in ms."""
    seconds = pl.col("handoff") % 10 == 0
    rows = honest(longest=1_000_000).with_columns(
        prefill_ms=pl.when(seconds).then(pl.col("prefill_ms") / 1_000).otherwise("prefill_ms")
    )
    assert not scored(rows)[0]["timing_fast"].any()


def test_long_prompts_alone_are_no_shift_where_no_limit_is_known(honest, scored):
    """Most prompts over 200,000 tokens come back at once for a day; the others as ever."""
    rows = honest().with_columns(limit_low=pl.lit(None, dtype=pl.Int64))
    leak = (pl.col("prompt_tokens") > 200_000) & (pl.col("handoff") >= 3_000)
    rows = rows.with_columns(
        cached_tokens=pl.when(leak).then(0).otherwise("cached_tokens"),
        prefill_ms=pl.when(leak).then(57.0).otherwise("prefill_ms"),
    )
    found, timing = scored(rows)
    assert timing.paces.height == 0
    assert found["timing_fast"].to_list() == rows.select(leak).to_series().to_list()


def test_a_slow_day_is_shown_as_slow(honest, scored):
    hours = pl.col("handoff").is_between(2_000, 2_300)
    rows = honest().with_columns(
        prefill_ms=pl.when(hours & NODE).then(pl.col("prefill_ms") * 9).otherwise("prefill_ms")
    )
    found, timing = scored(rows)
    assert timing.paces.height == 0
    assert found.filter(hours & NODE)["timing_slow"].mean() > 0.9


def test_parts_in_any_order_find_the_same(honest):
    rows = work.timed(
        with_leaks(honest(), *SHIFTS["late, one node"]), pl.DataFrame(), {}, NO_EPOCHS
    )
    one = scores.judge(lambda: blocks.of(rows))
    parts = [next(blocks.of(rows.filter(pl.col("_row") % 3 == n))) for n in (2, 0, 1)]
    other = scores.judge(lambda: iter(parts))
    assert len(one.fast) > 50
    assert np.sort(one.fast).tolist() == np.sort(other.fast).tolist()


def test_heaviest_runs_are_maximal():
    """A dip that weighs less than both sides is within; one that weighs more is between them."""
    assert heaviest(np.array([5, -2, 4, -9, 6]), 1) == [(0, 2), (4, 4)]
    assert heaviest(np.array([5, -2, 4, -9, 6]), 7) == [(0, 2)]
    assert heaviest(np.array([-1, -2]), 1) == []
