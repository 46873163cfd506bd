"""How the bytes are shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.checking.budget import LEAST, TOTAL, Budget, parse, shares
from forensics.errors import UsageError


@given(st.lists(st.integers(0, 1 << 40), max_size=200), st.integers(LEAST, 1 << 30))
def test_no_more_is_given_than_there_is_and_no_file_more_than_its_size(
    sizes: list[int], total: int
) -> None:
    given_out = shares(sizes, Budget(total))
    assert sum(given_out) <= total
    assert all(got <= max(size, 1) for got, size in zip(given_out, sizes, strict=True))
    assert max(given_out, default=0) <= Budget(total).per_file


def test_small_files_are_taken_whole_and_leave_the_rest_to_the_large_ones() -> None:
    assert shares([100, 1 << 30, 300, 1 << 30], Budget(1 << 20)) == [100, 1 << 16, 300, 1 << 16]


def test_files_beyond_the_budget_get_nothing_rather_than_too_little() -> None:
    given_out = shares([1 << 30] * 100, Budget(LEAST * 10))
    assert sorted(given_out)[-10:] == [LEAST] * 10
    assert sum(given_out) == LEAST * 10


@pytest.mark.parametrize(
    ("text", "total"),
    [("64M", TOTAL), ("64MiB", TOTAL), ("64mb", TOTAL), ("1G", 1 << 30), ("9000", 9000)],
)
def test_sizes_as_people_write_them(text: str, total: int) -> None:
    assert parse(text).total == total


@pytest.mark.parametrize("text", ["", "M", "-1", "3", "1.5G", "64X", "0"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)
