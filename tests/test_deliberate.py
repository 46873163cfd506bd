"""Deliberate use, containment and published figures: made from data, with what cannot be seen."""

from typing import Any

import pytest

POOL = {
    "node": "p1",
    "role": "prefill",
    "effective_at": "2026-09-01T00:00:00Z",
    "pool_tokens": 100_000,
    "context_tokens": 200_000,
    "input_limit_tokens": 100_000,
    "disaggregated": True,
    "engine": "sglang",
    "engine_version": "0.5.19",
}


def over(number: int, at: str = "2026-09-02T{:02d}:00:00Z", **more: Any) -> dict[str, Any]:
    known = {
        "request_id": f"r-{number}", "tenant_id": "t-1", "received_at": at.format(number % 24),
        "prefill_node": "p1", "prompt_tokens": 120_000 + 997 * number, "http_status": 200,
        "completion_tokens": 5,
    }  # fmt: skip
    return known | more


SAME_HOUR = "2026-09-02T05:{:02d}:00Z"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("records", "patterns"),
    [
        ([over(n) for n in range(9)], []),
        ([over(n, prompt_tokens=130_000) for n in range(3)], ["same_length"]),
        # Attempts of one request are no repetition.
        ([over(1, prompt_tokens=130_000, transfer_id=f"x{n}") for n in range(3)], []),
        ([over(n, SAME_HOUR) for n in range(10)], ["most_in_hour"]),
        ([over(n, prompt_tokens=99_700 + 150 * n) for n in range(5)], ["near_limit"]),
        # All on one side: nobody felt for the edge.
        ([over(n, prompt_tokens=100_100 + 150 * n) for n in range(5)], []),
    ],
)
def test_patterns(case_of, records, patterns):
    test = case_of(POOL, *records).exposure().deliberate
    (tenant,) = test.tenants
    assert tenant.patterns == patterns
    assert ("No pattern was found" in test.sentence) == (not patterns)
    assert test.searched
    assert any("no content was read" in item for item in test.blind)


def test_days_add_up_to_the_requests_at_or_over_the_limit(case_of):
    records = [over(n, f"2026-09-0{2 + n % 3}T01:00:00Z", tenant_id=f"t-{n % 2}") for n in range(7)]
    test = case_of(POOL, *records, over(8, prompt_tokens=900)).exposure().deliberate
    assert sum(row.over_limit for row in test.days) == sum(t.over_limit for t in test.tenants) == 7
    assert [t.tenant_id for t in test.tenants] == ["t-0", "t-1"]
    assert [t.requests for t in test.tenants] == [4, 4]  # one of t-1 below the limit


def test_nothing_over_the_limit_is_no_pattern(case_of):
    test = case_of(POOL, over(1, prompt_tokens=10)).exposure().deliberate
    assert (
        test.sentence == "No request is at or over the limit, so there is no pattern to look for."
    )


def test_published_figures_stand_beside_what_is_found(case_of):
    said = """
[published]
threshold_tokens = 100000
responses = 3
tenants = 2
first = "2026-09-01T00:00:00Z"
fixed_version = "0.5.22"
"""
    record = over(1, prefill_prompt_tokens=1, decode_prompt_tokens=120_997)
    rows = {r.name: r for r in case_of(POOL, record, incident=said).exposure().published}
    assert rows["threshold"].published == "longer than 100,000 tokens"
    assert rows["threshold"].found == "smallest rejected prompt: 100,000 tokens"
    assert rows["responses"].found == "1 confirmed or probable, 0 possible"
    assert rows["first response"].found == "2026-09-02 01:00:00 UTC"
    assert rows["fixed in version"].found == "affected responses on version 0.5.19"


def test_a_step_says_what_the_logs_show_after_it(case_of):
    said = '[timeline]\nfixed = "2026-09-02T03:30:00Z"\n'
    records = [over(n, prefill_prompt_tokens=1, decode_prompt_tokens=120_000) for n in range(5)]
    steps = case_of(POOL, *records, incident=said).exposure().containment
    assert steps[0].evidence == "after it: 1 request, 1 affected response"
    assert [step.basis for step in steps] == ["stated", "found", "found", "found"]


def test_requests_without_a_tenant_are_no_tenant_with_a_pattern(case_of):
    records = [over(n, prompt_tokens=130_000, tenant_id=None) for n in range(3)]
    test = case_of(POOL, *records, over(4), over(5)).exposure().deliberate
    assert [t.patterns for t in test.tenants if t.tenant_id is None] == [[]]
    assert (
        "of 5 requests at or over the limit, 2 of 1 tenant and 3 of none that is known;"
        in test.sentence
    )
