"""Filters leave the rows that their line of code leaves, whatever the names are."""

import html
from datetime import UTC, date, datetime

import polars as pl
import pytest

from forensics import explore
from forensics.explore import Choice
from tests.explore.conftest import HOSTILE

CHOICES = {
    "everything": Choice(),
    "tiers": Choice(tiers=("probable", "ruled_out")),
    "hostile tenant": Choice(tenants=(HOSTILE,)),
    "no tenant": Choice(tenants=(None,)),
    "either": Choice(tenants=(None, "tenant-b")),
    "node of either side": Choice(nodes=("decode-01",)),
    "no such node": Choice(nodes=("decode-99",)),
    "model": Choice(models=("glm-5.3",)),
    "window": Choice(
        since=datetime(2026, 8, 28, 10, 0, 0, 100, tzinfo=UTC),
        until=datetime(2026, 8, 29, 10, 0, 0, 100, tzinfo=UTC),
    ),
}
LEFT = dict(zip(CHOICES, (4, 4, 1, 1, 3, 4, 0, 4, 1), strict=True))


@pytest.mark.parametrize("name", CHOICES)
def test_the_line_of_code_leaves_the_same_rows(case, name):
    choice = CHOICES[name]
    left = choice.of(case.requests.polars())
    line = choice.code()
    assert line.isascii()
    assert left.equals(eval(line, {"case": case, "pl": pl}))  # noqa: S307 -- that is the point
    assert left.height == LEFT[name]


def test_a_name_can_not_get_out_of_its_literal(case):
    for name in ('") or print("out', "\\", '\\"', "a\nb", "'", "\u2028"):
        line = Choice(tenants=(name,)).code()
        inside = line.removeprefix('case.requests.polars().filter(pl.col("tenant_id").is_in([')
        assert eval(inside.removesuffix("]))")) == name  # noqa: S307


@pytest.fixture
def filters(case):
    return explore.filters(case.affected)


def test_choosing_in_a_list_changes_rows_and_line(filters):
    assert filters.code == "case.affected.polars()"
    filters.tenant.value = ("tenant-b",)
    assert filters.code == 'case.affected.polars().filter(pl.col("tenant_id").is_in(["tenant-b"]))'
    assert filters.frame["request_id"].to_list() == ["r-2"]
    shown = filters._area.outputs[0]["data"]["text/html"]
    assert "1 of 1 row;" in shown
    assert "affected_requests.parquet" in shown


def test_the_window_is_one_of_whole_days(filters):
    filters.window.value = (date(2026, 8, 28), date(2026, 8, 28))
    assert filters.choice.since == datetime(2026, 8, 28, tzinfo=UTC)
    assert filters.choice.until == datetime(2026, 8, 29, tzinfo=UTC)
    assert filters.frame["request_id"].to_list() == ["r-2"]


def test_lists_hold_what_the_rows_hold(filters):
    assert [value for _, value in filters.tier.options] == ["probable"]
    assert {value for _, value in filters.tenant.options} == {HOSTILE, "tenant-b", None}
    assert [value for _, value in filters.node.options] == ["decode-01", "prefill-01"]
    assert any("⟨U+202E⟩" in label for label, _ in filters.tenant.options)


def test_no_name_is_markup_in_what_is_shown(filters):
    filters.tenant.value = (HOSTILE,)
    made = filters._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in made
    for text in (made["text/html"], filters._line.value):
        assert "<img" not in text
    assert filters.code in html.unescape(filters._line.value)


def test_a_case_without_a_row_has_empty_lists(case):
    empty = explore.filters(case.not_assessable)
    assert empty.window is None
    assert empty.tier.options == ()
    assert empty.frame.height == 0
