"""Blocks of rows, in any order and of any size, give what the whole gives."""

import numpy as np
import polars as pl
import pytest

from forensics.timing import blocks, expected, scores, work

NO_EPOCHS = pl.DataFrame(schema={"node": pl.String, "effective_at": pl.Int64})


@pytest.fixture(scope="module")
def timed(honest):
    """Honest requests, two that are too fast and one that is slow."""
    rows = honest()
    first = rows.head(1).to_dicts()[0] | {"prompt_tokens": 700_000, "cached_tokens": 0}
    odd = [first | {"prefill_ms": ms} for ms in (56.0, 900_000.0, 58.0)]
    rows = pl.concat([rows, pl.DataFrame(odd, schema=rows.schema)])
    return work.timed(rows, pl.DataFrame(), {}, NO_EPOCHS)


@pytest.fixture(scope="module", params=[2, 7])
def parts(request, timed):
    """Blocks in another order; groups are numbered in each: the last knows one node only."""
    one = timed["node"] == "prefill-0/dp0"
    frames = [timed.filter(pl.col("_row") % request.param == n) for n in range(request.param)]
    frames[-1] = frames[-1].filter(pl.col("node") == "prefill-0/dp0")
    rest = timed.filter(~one & (pl.col("_row") % request.param == request.param - 1))
    split = [work.grouped(part.drop("group")) for part in (rest, *frames[::-1])]
    return [block for part in split for block in blocks.of(part)]


def by_name(model):
    """The curve and limits of each group: numbers depend on the order, names do not."""
    names = list(model.numbers.parts)
    columns = (model.curves, *(getattr(model.limits, name) for name in LIMITS))
    return {name: [column[n].tolist() for column in columns] for n, name in enumerate(names)}


LIMITS = ("low", "high", "longest", "fastest")


def test_parts_expect_what_the_whole_expects(timed, parts):
    whole = by_name(expected.expectation(lambda: blocks.of(timed)))
    assert len(whole) == 2
    assert by_name(expected.expectation(lambda: iter(parts))) == whole


def test_parts_flag_what_the_whole_flags(timed, parts):
    whole = scores.score(timed, timed.height).columns
    fast, slow = (np.flatnonzero(whole[name]) for name in ("timing_fast", "timing_slow"))
    assert (len(fast), len(slow) >= 1) == (2, True)
    found = scores.judge(lambda: iter(parts))
    assert (sorted(found.fast), sorted(found.slow)) == (fast.tolist(), slow.tolist())
