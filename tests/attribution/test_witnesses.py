"""What speaks against a replay: figures of the engine at their moment, and times of other hops."""

import numpy as np
import polars as pl
import pytest

from forensics.attribution import hops, usage
from forensics.attribution.holds import Holds
from forensics.attribution.stay import Stay
from forensics.clock import Clocks

SECOND = 1_000_000
START = 1_788_220_800 * SECOND
PAGE = 64
POOL = 100


def holds(moved: int = 0) -> Holds:
    """Return forty requests of ten pages, one a minute for ten seconds; the sixth is moved."""
    reserved = START + 60 * SECOND * np.arange(40) + 7
    reserved[5] += moved * SECOND
    ten = np.full(40, 10)
    return Holds(
        np.arange(40), reserved, reserved + 10 * SECOND, ten, ten * PAGE, np.ones(40, int), ten,
        np.full(40, SECOND), PAGE,
    )  # fmt: skip


def stay(moved: int = 0) -> Stay:
    rows = pl.DataFrame({"tier": ["probable"], "last": [START + 3_600 * SECOND]})
    return Stay("d", START - SECOND, rows, POOL, PAGE, "sorted-sweep", holds=holds(moved))


def lines(*, lone: bool) -> pl.DataFrame:
    """Return what batch lines say: ten pages in use, five seconds after each minute."""
    at = [START + (60 * minute + 5) * SECOND for minute in range(40)]
    frame = pl.DataFrame({"node": "d", "hop": "decode", "at": at, "used_tokens": 10 * PAGE})
    frame = frame.with_columns(naive=False, source_node=pl.lit("d"), usage=pl.lit(0.1))
    if lone:
        return frame
    quarter = usage.QUARTER
    return frame.with_columns(pl.col("at") // quarter * quarter, batches=pl.lit(1, pl.Int64))


def told(*frames: pl.DataFrame) -> pl.DataFrame:
    return usage.figures(list(frames), Clocks({}))


@pytest.mark.parametrize("lone", [True, False])
def test_figures_of_complete_records_fit(lone):
    checked = stay()
    usage.check(checked, told(lines(lone=lone)))
    assert not checked.reasons
    assert checked.hours == checked.hours_fitting == 1


def test_one_hold_at_another_time_is_seen_by_the_figure_of_its_moment():
    checked = stay(moved=600)
    usage.check(checked, told(lines(lone=True)))
    assert checked.reasons == {"usage_differs"}


def test_the_highest_figure_of_a_quarter_does_not_see_it():
    checked = stay(moved=600)
    usage.check(checked, told(lines(lone=False)))
    assert not checked.reasons


@pytest.mark.parametrize("lone", [True, False])
@pytest.mark.parametrize("pool", [90, 110])
def test_a_pool_of_another_size_is_seen_by_tokens_and_their_share(lone, pool):
    checked = stay()
    checked.pool_pages = pool
    usage.check(checked, told(lines(lone=lone)))
    assert checked.reasons == {"pool_differs"}
    assert (checked.hours, checked.hours_fitting) == (1, 0)


def test_figures_are_the_same_however_the_lines_are_split():
    frame = lines(lone=True)
    more = frame.with_columns(pl.col("at") + SECOND, pl.col("used_tokens") - 1)
    whole = told(pl.concat([frame, more]))
    assert whole.height == 40
    assert whole.equals(told(more, frame))
    assert whole.equals(told(frame.reverse(), more.reverse()))


def requests(count: int = 100, **more: object) -> pl.DataFrame:
    received = [START + n * SECOND for n in range(count)]
    frame = pl.DataFrame({"received_at": received})
    at = pl.col("received_at")
    return frame.with_columns(
        reserved_at=at + SECOND // 2,
        released_at=at + 9 * SECOND,
        finished_at=at + 9 * SECOND + 1_000,
        finish_reason=pl.lit("stop"),
        http_status=pl.lit(200),
    ).with_columns(**more)


def some(name: str, by: int, every: int = 1_000_000) -> dict[str, pl.Expr]:
    """Move one request of so many by some seconds."""
    moved = pl.int_range(pl.len()) % every == 0
    return {name: pl.when(moved).then(pl.col(name) + by * SECOND).otherwise(name)}


def test_times_that_can_be_true_contradict_nothing():
    assert not hops.contradicted(requests())
    assert not hops.contradicted(requests().clear())


def test_clocks_that_are_apart_contradict_nothing():
    for seconds in (-30, 30):
        away = {name: pl.col(name) + seconds * SECOND for name in ("reserved_at", "released_at")}
        assert not hops.contradicted(requests(**away))


@pytest.mark.parametrize(("name", "by"), [("reserved_at", -5), ("released_at", 5)])
def test_a_hold_before_or_after_its_request_contradicts(name, by):
    assert hops.contradicted(requests(**some(name, by)))


HOLD = ("reserved_at", "released_at")


@pytest.mark.parametrize("every", [50, 20, 5, 2])
@pytest.mark.parametrize("by", [-60, 60])
def test_holds_that_moved_contradict_however_many_they_are(every, by):
    moved = {key: value for name in HOLD for key, value in some(name, by, every).items()}
    assert hops.contradicted(requests(**moved))


@pytest.mark.parametrize(("known", "by"), [("received_at", -60), ("finished_at", 60)])
def test_times_of_one_kind_alone_are_held_against_each_other(known, by):
    moved = {key: value for name in HOLD for key, value in some(name, by, 10).items()}
    (other,) = {"received_at", "finished_at"} - {known}
    unknown = {other: pl.lit(None, dtype=pl.Int64)}
    assert hops.contradicted(requests(**moved).with_columns(**unknown))
    assert not hops.contradicted(requests().with_columns(**unknown))


def test_an_answer_that_did_not_end_of_itself_may_hold_pages_for_longer():
    left = {"finish_reason": pl.lit("abort")}
    assert not hops.contradicted(requests(**some("released_at", 5), **left))


def test_one_among_very_many_does_not_count():
    assert not hops.contradicted(requests(5_000, **some("released_at", 5)))
