"""Silences of a log that its own traffic makes no chance, wherever they begin."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from forensics.coverage.pauses import silences
from forensics.coverage.still import MINUTE, Away, still, throughout, wrote

Times = npt.NDArray[np.float64]
DAY = 1440
LOST = 72


def poisson(rng: np.random.Generator, rate: float, days: float) -> Times:
    return rng.uniform(0, DAY * days, rng.poisson(rate * 24 * days))


def nights(rng: np.random.Generator, rate: float, days: float) -> Times:
    """At night a ninth of what comes by day."""
    times = poisson(rng, 2 * rate, days)
    busy = (1 - 0.8 * np.cos(2 * np.pi * times / DAY)) / 2
    return times[rng.uniform(size=len(times)) < busy]


def closed(rng: np.random.Generator, rate: float, days: float) -> Times:
    """Nothing at all from ten in the evening to seven."""
    times = poisson(rng, rate, days)
    hour = times / 60 % 24
    return times[(hour >= 7) & (hour < 22)]


def bursts(rng: np.random.Generator, rate: float, days: float) -> Times:
    """Five requests at a time, within some minutes."""
    begun = rng.uniform(0, DAY * days, rng.poisson(rate / 5 * 24 * days))
    size = rng.geometric(1 / 5, len(begun))
    return np.repeat(begun, size) + rng.exponential(5, size.sum())


def shifts(rng: np.random.Generator, rate: float, days: float) -> Times:
    """Now and then a job of half an hour, and nothing between two."""
    begun = np.cumsum(30 + rng.exponential(30, int(24 * days)))
    each = rng.poisson(rate, len(begun))
    return np.repeat(begun, each) + rng.uniform(0, 30, each.sum())


Kind = Callable[[np.random.Generator, float, float], Times]


def minutes(times: Times) -> npt.NDArray[np.int64]:
    return np.unique(times.astype(np.int64))


@pytest.mark.parametrize("kind", [poisson, nights, bursts, shifts])
@pytest.mark.parametrize("rate", [1, 4, 15, 60])
def test_whole_logs_have_none(kind: Kind, rate: float) -> None:
    """Busy or not: of a log in which records are rare not every pause is a hole."""
    rng = np.random.default_rng(5)
    found = [silences(minutes(kind(rng, rate, days))) for days in (0.5, 2, 7) for _ in range(12)]
    assert sum(map(bool, found)) <= (kind is bursts)


def test_nights_without_traffic_that_others_have_as_well_are_none() -> None:
    rng = np.random.default_rng(5)
    assert not any(silences(minutes(closed(rng, rate, 14))) for rate in (5, 30, 120))


def test_a_few_records_at_even_times_make_no_pause_a_hole() -> None:
    """Five of them in forty minutes, then none for an hour and a half, then more."""
    few = [0, 12, 21, 32, 41]
    more = [141, 147, 149, 153, 155, 158, 181, 183, 186, 189, 191, 195, 196, 197, 203, 208, 213]
    assert silences(np.array([*few, *more])) == []


def weekends(rng: np.random.Generator, rate: float, days: float) -> Times:
    """Nothing in the nights, and nothing on the sixth day and the seventh."""
    times = closed(rng, rate, days)
    return times[times / DAY % 7 < 5]


@pytest.mark.parametrize("rate", [5, 30, 120])
@pytest.mark.parametrize(("kind", "days"), [(closed, 2), (weekends, 12)])
def test_the_only_night_or_weekend_of_a_log_that_begins_and_ends_with_one_is_none(
    kind: Kind, days: float, rate: float
) -> None:
    times = kind(np.random.default_rng(5), rate, days)
    assert silences(minutes(times)) == []


@pytest.mark.parametrize(("first", "last"), [(9, 46), (7, 43)])
def test_a_night_that_is_lost_of_a_log_of_other_hours_is_one(first: float, last: float) -> None:
    """The hours of another day, as far as the log reaches, are no closed ones."""
    times = closed(np.random.default_rng(5), 120, 2) / 60
    inside = times[(times >= first) & (times < last)]
    assert len(silences(minutes(60 * inside))) == 1


@pytest.mark.parametrize(("kind", "rate"), [(poisson, 60), (poisson, 300), (bursts, 300)])
@pytest.mark.parametrize("begin", [130, 7 * 60 + 31, 24 * 60 + 599.5])
def test_a_silence_is_found_wherever_it_begins(kind: Kind, begin: float, rate: float) -> None:
    times = kind(np.random.default_rng(7), rate, 2)
    whole = times[(times < begin) | (times >= begin + LOST)]
    ((first, last),) = silences(minutes(whole))
    assert first - 15 < begin < begin + LOST <= last + 15
    assert silences(minutes(times)) == []


def test_two_silences_near_each_other_do_not_hide_one_another() -> None:
    times = poisson(np.random.default_rng(3), 120, 1)
    gone = [(130, 202), (300, 372), (600, 672)]
    for begin, end in gone:
        times = times[(times < begin) | (times >= end)]
    found = silences(minutes(times))
    assert len(found) == len(gone)
    for (first, last), (begin, end) in zip(found, gone, strict=True):
        assert first - 5 < begin < end < last + 5


def records(source: tuple[str, str], times: Times) -> pl.DataFrame:
    node, hop = source
    at = (times * MINUTE).astype(np.int64)
    return pl.DataFrame({"at": at}).select(
        pl.lit(node).alias("node"), pl.lit(hop).alias("hop"), "at"
    )


def test_what_each_logs_too_little_to_tell_all_of_them_tell() -> None:
    rng, found = np.random.default_rng(2), {}
    for lost in (False, True):
        rows = []
        for hop in ("prefill", "decode"):
            for node in range(8):
                times = poisson(rng, 6, 0.5)
                if lost:
                    times = times[(times < 130) | (times >= 202)]
                rows.append(records((f"{hop}-{node}", hop), times))
        told = still(wrote(pl.concat(rows)))
        found[lost] = set(told.select("node", "hop", "of").rows())
    assert found == {
        False: set(),
        True: {(None, None, "all"), (None, "decode", "hop"), (None, "prefill", "hop")},
    }


def test_what_the_incident_says_nothing_ran_in_is_none() -> None:
    times = poisson(np.random.default_rng(1), 120, 0.5)
    rows = wrote(records(("p1", "prefill"), times[(times < 130) | (times >= 202)]))
    assert still(rows).height == 1
    assert still(rows, Away((130 * MINUTE, 202 * MINUTE))).height == 0
    assert still(rows, Away((130 * MINUTE, 160 * MINUTE))).height == 1


@pytest.mark.parametrize(("start", "rank", "found"), [(150, 0, 0), (150, 1, 1), (80, 0, 1)])
def test_a_rank_that_starts_took_no_requests_before(start: int, rank: int, found: int) -> None:
    """Not for long, and no other did so for that."""
    times = poisson(np.random.default_rng(1), 120, 0.5)
    rows = wrote(records(("p1/dp0", "prefill"), times[(times < 130) | (times >= 160)]))
    assert still(rows, Away(starts={f"p1/dp{rank}": [start * MINUTE]})).height == found


def test_records_that_were_counted_by_the_hour_show_what_lies_between_two() -> None:
    rows = records(("p1", "prefill"), poisson(np.random.default_rng(1), 120, 0.5))
    kept = rows.filter(~pl.col("at").is_between(130 * MINUTE, 202 * MINUTE))
    counted = kept.group_by("node", "hop", pl.col("at") // (60 * MINUTE)).agg(
        first_at=pl.col("at").min(), last_at=pl.col("at").max()
    )
    assert still(throughout(counted)).rows() == still(wrote(kept)).rows()
