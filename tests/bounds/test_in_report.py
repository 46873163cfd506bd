"""What the report says of a sample, and of rates."""

from collections.abc import Callable
from typing import Any

import forensics
from forensics.bounds.sampled import sampled
from forensics.tables import notifications

CaseOf = Callable[..., forensics.Case]


def row(number: int, tenant: str, hour: int, *, short: bool) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "tenant_id": tenant,
        "received_at": f"2026-09-01T{hour:02}:00:00Z",
        "reserved_pages": 10,
        "transferred_pages": 1 if short else 10,
        "completion_tokens": 5,
        "http_status": 200,
    }


ROWS = [
    *(row(n, "A", 3, short=n == 0) for n in range(8)),
    *(row(10 + n, "B", 4, short=n < 2) for n in range(4)),
    *(row(20 + n, "C", 5, short=False) for n in range(3)),
]


def test_three_rates_with_the_numbers_they_are_made_of(case_of: CaseOf) -> None:
    found = case_of(*ROWS).exposure().headline.rates
    assert [(rate.name, rate.affected, rate.total, rate.at) for rate in found] == [
        ("requests", 3, 15, None),
        ("requests of the worst hour, 2026-09-01 04:00 UTC", 2, 4, "2026-09-01T04:00:00.000000Z"),
        ("tenants with at least one", 2, 3, None),
    ]


def test_no_affected_request_has_no_worst_hour(case_of: CaseOf) -> None:
    found = case_of(*ROWS[-3:]).exposure().headline.rates
    assert [(rate.affected, rate.total) for rate in found] == [(0, 3), (0, 1)]


def test_a_sample_is_scaled_with_its_assumption(case_of: CaseOf) -> None:
    whole = case_of(*ROWS).exposure().headline.further_bounds
    assert "binomial inversion" not in {bound.method for bound in whole}
    small = case_of(*ROWS, incident="[logs]\nsampling_rate = 0.5").exposure()
    found = small.headline.further_bounds
    (bound,) = [bound for bound in found if bound.method == "binomial inversion"]
    assert (bound.low, bound.point, bound.high) == (3, 6, 12)
    for said in ("95%", "one-sided", "nothing to do with", "it could be more"):
        assert said in bound.sentence


def test_a_sample_is_no_complete_evidence(case_of: CaseOf) -> None:
    """What this tool finds of all logs says nothing of requests that were never logged."""
    case = case_of(*ROWS, incident="[logs]\nsampling_rate = 0.5")
    head = case.exposure().headline
    assert head.incomplete == ["the logs are a sample of 0.5 of all requests"]
    assert head.sentence.endswith("The evidence is incomplete: 1 reason below.")
    assert {bound.method for bound in head.further_bounds} == {"binomial inversion"}
    rows = notifications(case.exposure(), case.requests.polars(), None)
    assert set(rows["bound_method"]) == {"arithmetic over a sample"}


def test_of_a_small_sample_both_limits_are_told() -> None:
    one, both = sampled(10, 0.01)
    assert (one.low, one.sided, both.sided) == (10, "one-sided", "two-sided")
    assert "between 480 and 1,839 (95%, two-sided, Poisson scaling)" in both.sentence
    assert len(sampled(10, 0.5)) == 1
