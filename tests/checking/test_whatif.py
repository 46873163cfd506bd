"""What would settle a request: only what does so whatever it turns out to say."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.checking.whatif import UNDECIDED, effects
from forensics.incident import Incident, parse

CaseOf = Callable[..., forensics.Case]

DECODE = {
    "request_id": "d1",
    "transfer_id": "71",
    "hop": "decode",
    "received_at": "2026-08-28T03:00:00Z",
    "decode_node": "decode-01",
    "decode_prompt_tokens": 700_000,
    "completion_tokens": 90,
}
PREFILL = {
    "request_id": "p1",
    "transfer_id": "71",
    "hop": "prefill",
    "received_at": "2026-08-28T03:00:00Z",
    "prefill_node": "prefill-01",
    "prefill_prompt_tokens": 25_000,
}
GATEWAY = {
    "request_id": "g1",
    "hop": "gateway",
    "received_at": "2026-08-28T03:00:00Z",
    "tenant_id": "acme",
    "prompt_tokens": 25_000,
    "http_status": 200,
}
POOL = {"node": "prefill-01", "role": "prefill", "engine": "sglang", "pool_tokens": 681_280}


def found(case: forensics.Case, asked: Incident | None = None) -> dict[str, tuple[int, int]]:
    rows = case.analysis.requests
    rows = rows.filter(pl.col("tier").is_in(UNDECIDED))
    assert rows.height
    told = effects(rows, asked or Incident())
    return {e.need: (int(e.settled.sum()), int(e.judged.sum())) for e in told}


def some(effects_found: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {need: counts for need, counts in effects_found.items() if any(counts)}


def test_decode_alone_is_settled_by_prefills_record_and_only_judged_by_the_limit(
    case_of: CaseOf,
) -> None:
    told = some(found(case_of(DECODE)))
    assert told["prefill side"] == (1, 1)
    assert told["prefill limit"] == (0, 1), "over the limit stays possible"
    assert set(told) == {"prefill side", "prefill limit"}


def test_over_a_known_limit_the_limit_is_not_asked_for_again(case_of: CaseOf) -> None:
    told = some(found(case_of(DECODE, POOL)))
    assert told == {"prefill side": (1, 0)}


def test_prefill_alone_is_settled_by_decodes_record(case_of: CaseOf) -> None:
    told = some(found(case_of(PREFILL)))
    assert told["decode side"][0] == 1
    assert "both sides" not in told


def test_a_gateway_alone_needs_both_sides(case_of: CaseOf) -> None:
    told = some(found(case_of(GATEWAY)))
    assert told["both sides"][0] == 1
    assert "prefill side" not in told
    assert "decode side" not in told


def test_direct_evidence_without_an_outcome_is_settled_by_the_outcome(case_of: CaseOf) -> None:
    decode: dict[str, Any] = {**DECODE, "completion_tokens": None}
    prefill = {**PREFILL, "prefill_prompt_tokens": 1}
    told = some(found(case_of(decode, prefill)))
    assert told == {"outcome": (1, 0)}


def test_a_request_over_the_limit_is_not_settled_by_its_outcome_alone(case_of: CaseOf) -> None:
    told = some(found(case_of({**DECODE, "completion_tokens": None}, POOL)))
    assert "outcome" not in told


def test_a_remedy_does_nothing_for_requests_that_have_it(case_of: CaseOf) -> None:
    other = {"request_id": "d2", "transfer_id": "72"}
    served: dict[str, Any] = {**DECODE, **other, "completion_tokens": None}
    short = {**PREFILL, **other, "prefill_prompt_tokens": 1}
    told = found(case_of(DECODE, served, short))
    assert told["prefill side"][0] == 1
    assert told["outcome"][0] == 1


def test_a_prompt_within_the_slack_is_not_settled_by_the_limit(case_of: CaseOf) -> None:
    incident = "[trigger]\nslack_tokens = 100\n"
    near = {**DECODE, "decode_prompt_tokens": 681_200}
    told = some(
        found(case_of(near, POOL, incident=incident), parse({"trigger": {"slack_tokens": 100}}))
    )
    assert told == {"prefill side": (1, 0)}


@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_remedy_does_hangs_on_no_order(case_of: CaseOf, reverse: bool) -> None:
    records = [{**DECODE, "request_id": f"d{n}", "transfer_id": f"{n}"} for n in range(9)]
    records = records[::-1] if reverse else records
    assert found(case_of(*records))["prefill side"] == (9, 9)
