"""Bounds against worked values, against their definition, and where they fail."""

import random

import pytest

from forensics.bounds import binomial
from forensics.bounds.statistical import (
    effective,
    imperfect_detector,
    kept_at_rate,
    kept_at_small_rate,
    missed_all,
    none_in_review,
    none_in_sample,
    rule_of_none,
    share,
    two_detectors,
)


@pytest.mark.parametrize(
    ("seen", "rate", "point", "high"),
    [(155, 0.97, 160, 164), (155, 0.90, 172, 180), (155, 0.50, 310, 341), (0, 0.01, 0, 298)],
)
def test_what_was_there_before_a_share_was_lost(seen, rate, point, high):
    found = kept_at_rate(seen, rate)
    assert (found.low, found.point, found.high) == (seen, point, high)
    assert binomial.at_most(seen, high, rate) > 0.05 >= binomial.at_most(seen, high + 1, rate)


def test_both_limits_of_what_a_small_share_was_kept_of():
    found = kept_at_small_rate(10, 0.01)
    assert (found.low, found.point, found.high) == (480, 1_000, 1_839)
    none = kept_at_small_rate(0, 0.01)
    assert (none.low, none.point, none.high, none.sided) == (0, 0, 368, "two-sided")
    assert kept_at_small_rate(7, 1).low == 7, "no fewer than were seen"


def test_nothing_is_added_where_all_was_kept():
    assert kept_at_rate(155, 1.0).high == 155


def test_none_found():
    assert none_in_review(155).high == pytest.approx(0.0191, abs=5e-5)
    assert none_in_review(300).high == pytest.approx(0.0099, abs=5e-5)
    assert none_in_sample(200, 50).high == 10
    assert none_in_sample(10_000, 500).high == 58
    assert none_in_sample(20, 20).high == 0
    assert rule_of_none(0.01) == pytest.approx(298.07, abs=0.01)


def test_a_share_of_reviews():
    assert share(155, 155).low == pytest.approx(0.976, abs=5e-4)
    assert share(0, 155).high == pytest.approx(0.0235, abs=5e-5)
    low, high = share(8, 40).low, share(8, 40).high
    assert 1 - binomial.at_most(7, 40, low) == pytest.approx(0.025, abs=1e-9)
    assert binomial.at_most(8, 40, high) == pytest.approx(0.025, abs=1e-9)


def test_a_detector_that_may_miss():
    assert imperfect_detector(155, 20, 20).high == 180
    assert imperfect_detector(155, 18, 20).high > 180
    with pytest.raises(ValueError, match="no seeded case"):
        imperfect_detector(155, 0, 20)
    assert [missed_all(found, 20).high for found in (20, 10)] == [2, 11]
    with pytest.raises(ValueError, match="bounds nothing"):
        missed_all(0, 20)


def test_two_detectors():
    found = two_detectors(155, 40, 38)
    assert round(found.point) == 163
    assert (found.high - found.point) / 2 == pytest.approx(4.96, abs=0.01)
    assert found.low >= 157


def test_requests_of_few_tenants_are_worth_fewer():
    assert effective(1_000, 10, 0) == 1_000
    assert effective(1_000, 10, 1) == 10


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: kept_at_rate(3, 0),
        lambda: kept_at_rate(3, 1.2),
        lambda: kept_at_small_rate(3, 0),
        lambda: none_in_review(0),
        lambda: none_in_sample(5, 6),
        lambda: share(3, 2),
        lambda: two_detectors(3, 2, 3),
        lambda: effective(3, 0, 0.5),
    ],
)
def test_figures_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


def covered(total, rate, draw, keeps):
    seen = sum(keeps(draw, number) for number in range(total))
    return total <= kept_at_rate(seen, rate).high


@pytest.mark.few(2)
@pytest.mark.parametrize(("total", "rate"), [(40, 0.5), (155, 0.9), (155, 0.97), (300, 0.2)])
def test_the_truth_is_covered_as_often_as_is_said(total, rate):
    draw = random.Random(total)
    hits = sum(covered(total, rate, draw, lambda d, _: d.random() < rate) for _ in range(1_000))
    assert hits >= 936


def test_it_fails_where_loss_depends_on_size_which_is_why_arithmetic_leads():
    """Half of all records are kept, but of the large ones, which are counted, one in five."""
    draw = random.Random(7)
    hits = sum(covered(155, 0.5, draw, lambda d, _: d.random() < 0.2) for _ in range(200))
    assert hits == 0
