"""Zeros of a gateway that counted nothing show neither a prompt nor that nothing was delivered."""

import pytest

FAILED = {"request_id": "a", "status": "failure", "prompt_tokens": 0, "completion_tokens": 0}
TABLE = (
    "request_id,call_type,api_key,spend,startTime,model,metadata,prompt_tokens,completion_tokens\n"
    "a,acompletion,k,0.1,2026-03-14 09:00:29,m,{},0,0\n"
)


def test_no_answer_was_counted_where_no_prompt_was(case_of):
    (row,) = case_of(FAILED).requests.polars().to_dicts()
    assert (row["prompt_tokens"], row["completion_tokens"]) == (None, None)
    assert row["tier"] == "not_assessable"


@pytest.mark.parametrize("told", [{"prompt_tokens": 7}, {}])
def test_an_answer_of_no_token_stays_one_beside_a_prompt_or_alone(case_of, told):
    record = {"request_id": "a", "completion_tokens": 0, **told}
    assert case_of(record).requests.polars()["completion_tokens"].to_list() == [0]


def test_a_spend_table_of_an_older_proxy_is_one(read):
    seen = read(TABLE)
    assert seen.facts.format == "litellm-spend"
    assert seen.rows["completion_tokens"].to_list() == [None]
