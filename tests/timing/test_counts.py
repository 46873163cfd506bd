"""Whole numbers by key: the same sums whichever way they are counted."""

from collections import Counter

import numpy as np
import pytest

from forensics.timing import counts

SPANS = (3, 5_000, 10**7, 10**12)
"""Few keys of many rows are counted in a table, many of few by sorting."""


def drawn(span: int, size: int = 500) -> np.ndarray:
    return np.random.default_rng(span).integers(0, span, size) + 7


@pytest.mark.parametrize("span", SPANS)
def test_keys_are_counted_and_numbered_in_order(span):
    keys = drawn(span)
    wanted = sorted(Counter(keys.tolist()).items())
    distinct, requests = counts.counted(keys)
    assert list(zip(distinct.tolist(), requests.tolist(), strict=True)) == wanted
    distinct, place = counts.numbered(keys)
    assert distinct.tolist() == [key for key, _ in wanted]
    assert (distinct[place] == keys).all()


def test_parts_add_up_in_any_order(monkeypatch):
    monkeypatch.setattr(counts, "_PENDING", 10)
    parts = [counts.counted(drawn(50, size)) for size in (100, 3, 40, 700)]
    forth, back = counts.Tally(), counts.Tally()
    for one in parts:
        forth.add(*one, one[1] * 2)
    for one in parts[::-1]:
        back.add(*one, one[1] * 2)
    keys, once, twice = forth.total()
    assert [column.tolist() for column in back.total()] == [c.tolist() for c in forth.total()]
    assert (np.diff(keys) > 0).all()
    assert (once.sum(), twice.sum()) == (843, 1_686)


def test_rows_are_counted_some_at_a_time(monkeypatch):
    monkeypatch.setattr(counts, "_PENDING", 10)
    rows, counter = drawn(50), counts.Counter()
    for part in np.array_split(rows, 90):
        counter.add(part)
    wanted = sorted(Counter(rows.tolist()).items())
    assert list(zip(*(column.tolist() for column in counter.total()), strict=True)) == wanted


def test_a_share_of_each_run_is_reached_where_so_many_are_behind():
    requests = np.array([1, 1, 1, 1, 5, 1, 3])
    first = np.array([0, 4, 6])
    assert counts.reached(first, requests, 0.5).tolist() == [1, 4, 6]
    assert counts.reached(first, requests, 0.51).tolist() == [2, 4, 6]
    assert counts.reached(first, requests, 0.9).tolist() == [3, 5, 6]


def test_nothing_has_no_keys():
    none = np.zeros(0, dtype=np.int64)
    for found in (counts.counted(none), counts.numbered(none), counts.merged(none, none)):
        assert [len(column) for column in found] == [0, 0]


def test_each_run_has_an_end_and_no_keys_have_no_run():
    first, ends = counts.spans(np.array([3, 3, 1, 2, 2, 2]))
    assert (first.tolist(), ends.tolist()) == ([0, 2, 3], [2, 3, 6])
    assert [part.tolist() for part in counts.spans(np.array([], dtype=np.int64))] == [[], []]
