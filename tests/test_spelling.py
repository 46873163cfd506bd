"""A UUID with dashes in one log and without them in another is one id."""

from collections.abc import Callable

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
DASHED = "0f8e2c1a-5b7d-4e39-8a46-1c2d3e4f5a6b"
BARE = DASHED.replace("-", "")
AT = {"received_at": "2026-09-01T12:00:00Z"}
GATEWAY = {"hop": "gateway", "tenant_id": "A", "prompt_tokens": 900, "http_status": 200}
DECODE = {"hop": "decode", "decode_node": "d1", "decode_prompt_tokens": 900}


def found(case: forensics.Case) -> list[tuple[str, str | None]]:
    rows = case.requests.polars().sort("request_id").to_dicts()
    return [(row["request_id"], row["tenant_id"]) for row in rows]


@pytest.mark.parametrize(("client", "engine"), [(DASHED, BARE), (BARE, DASHED)])
def test_two_spellings_of_one_id_are_one_request(case_of: CaseOf, client: str, engine: str) -> None:
    case = case_of(GATEWAY | AT | {"request_id": client}, DECODE | AT | {"request_id": engine})
    assert found(case) == [(DASHED, "A")]


def test_an_id_that_no_log_writes_with_dashes_stays_as_it_is(case_of: CaseOf) -> None:
    other = "f" * 32
    case = case_of(
        GATEWAY | AT | {"request_id": BARE}, DECODE | AT | {"request_id": other}, GATEWAY | AT
    )
    assert {name for name, _ in found(case)} >= {BARE, other}
