"""How much the engine's own figures have to show before whom a replay names is probable."""

import numpy as np
import polars as pl
import pytest

from forensics.attribution import usage
from forensics.attribution.enough import FEWEST
from forensics.attribution.holds import Holds
from forensics.attribution.stay import Stay
from forensics.clock import Clocks

SECOND = 1_000_000
START = 1_788_220_800 * SECOND
PAGE = 64
POOL = 1_000


def stay(pages: int, count: int = 120) -> Stay:
    """Return requests of some pages, one a minute for ten seconds."""
    reserved = START + 60 * SECOND * np.arange(count) + 7
    each = np.full(count, pages)
    rows = pl.DataFrame({"tier": ["probable"], "last": [START + count * 60 * SECOND]})
    held = Holds(
        np.arange(count), reserved, reserved + 10 * SECOND, each, each * PAGE,
        np.ones(count, int), each, np.full(count, SECOND), PAGE,
    )  # fmt: skip
    return Stay("d", START - SECOND, rows, POOL, PAGE, "sorted-sweep", holds=held)


def told(
    pages: int, minutes: range, tokens: bool = True, second: int = 5, share: bool = True
) -> pl.DataFrame:
    """Return what the engine says at a second of some minutes: tokens, their share, or both."""
    frame = pl.DataFrame(
        {
            "node": "d",
            "hop": "decode",
            "at": [START + (60 * minute + second) * SECOND for minute in minutes],
            "used_tokens": pages * PAGE if tokens else None,
            "usage": round(pages / POOL, 2) if share else None,
        },
        schema_overrides={"used_tokens": pl.Int64, "usage": pl.Float64},
    )
    frame = frame.with_columns(naive=False, source_node=pl.lit("d"))
    return usage.figures([frame], Clocks({}))


BUSY, IDLE, ALL = 900, 20, range(120)
CASES = {
    "of every hour, both": (BUSY, told(BUSY, ALL), set()),
    "share alone": (BUSY, told(BUSY, ALL, tokens=False), set()),
    "tokens alone": (BUSY, told(BUSY, ALL, share=False), {"pool_unconfirmed"}),
    "none": (BUSY, told(BUSY, range(0)), {"no_figures"}),
    "just enough": (BUSY, told(BUSY, range(0, 120, 2)[-FEWEST:]), set()),
    "one fewer": (BUSY, told(BUSY, range(0, 120, 2)[-FEWEST + 1 :]), {"few_figures"}),
    "of one hour of two": (BUSY, told(BUSY, range(60)), {"hours_without_figures"}),
    "of a hardly used pool": (IDLE, told(IDLE, ALL), {"pool_unconfirmed"}),
    "between requests": (
        BUSY,
        told(0, ALL, second=40),
        {"few_figures", "hours_without_figures", "pool_unconfirmed"},
    ),
}


@pytest.mark.parametrize(("pages", "figures", "lacking"), CASES.values(), ids=CASES)
def test_figures_confirm_where_they_are_of_most_holds_and_of_a_used_pool(pages, figures, lacking):
    checked = stay(pages)
    usage.check(checked, figures)
    assert not checked.reasons
    assert checked.hours == checked.hours_fitting
    assert checked.unchecked == lacking


def test_what_is_stated_by_hand_is_confirmed_by_no_figure():
    checked = stay(BUSY)
    checked.stated = ("engine",)
    usage.check(checked, told(BUSY, ALL))
    assert checked.unchecked == {"stated"}
