"""Tries of one request on several ranks, without a number of their own: each rank knows of all."""

import pytest

from forensics.assemble import sources
from tests.attribution.made import POOL, hold, read, tiers, warm_up

WRITERS = [hold(f"w{n}", f"01:0{n}:00.51234{n}", f"01:0{n}:01.56789{n}") for n in range(6)]
OVER = {"decode_prompt_tokens": 512, "prompt_tokens": 512, "reserved_pages": 8}
READER = hold("x", "02:00:00.512345", "02:00:09.598765", **OVER, transferred_pages=1)
FIRST = ("01:30:00.123456", "01:30:05.345678")
AGAIN = ("01:30:10.123456", "01:30:15.345678")
WRITES = '[case]\nid = "a"\n[trigger]\nmechanism = "write"\nthreshold_tokens = 500\n'


def of(rank: str, *rows: dict[str, object]) -> list[dict[str, object]]:
    """Records of one rank."""
    return [row | {"decode_node": rank} for row in rows]


def pools(*ranks: str) -> list[dict[str, object]]:
    """Of servers that started a second apart."""
    moments = (f"2026-09-01T00:00:0{n}Z" for n in range(len(ranks)))
    return [
        POOL | {"node": rank, "effective_at": at} for rank, at in zip(ranks, moments, strict=True)
    ]


@pytest.mark.parametrize(("here", "there"), [("d1", "d2"), ("d1/dp0", "d1/dp1"), ("d2", "d1")])
@pytest.mark.parametrize("last", [False, True], ids=["left", "came"])
def test_a_rank_that_a_retry_left_or_came_to_knows_of_its_hold(tmp_path, here, there, last):
    away = of(there, hold("r", *(FIRST if last else AGAIN)))
    tried = of(here, hold("r", *(AGAIN if last else FIRST)))
    case = read(tmp_path, *pools(here, there), *of(here, *WRITERS, READER), *tried, *away)
    assert tiers(case) == dict.fromkeys(("of-r", *(f"of-w{n}" for n in range(6))), "possible")
    (stay,) = case.analysis.attribution.stays
    assert (stay.node, stay.reasons) == (here, {"holds_not_logged"})


def test_a_response_of_several_ranks_may_have_read_on_each(tmp_path):
    """It is one response all the same, and each of its pairs is there once."""
    first = hold("x", "01:59:50.123456", "01:59:55.345678", **OVER, transferred_pages=1)
    other = of("d2", hold("o", *FIRST), first)
    case = read(tmp_path, *pools("d1", "d2"), *WRITERS, READER, *other)
    pairs = case.sources.polars().select("request_id", "source_tenant_id", "tier")
    assert sorted(pairs["source_tenant_id"]) == ["of-o", *(f"of-w{n}" for n in range(6))]
    assert set(pairs["tier"]) == {"possible"}
    assert [stay.node for stay in case.analysis.attribution.stays] == ["d1", "d2"]
    assert "None of 1 affected response" in sources.attribution(case.analysis).sentence


def test_each_rank_is_asked_from_its_own_start_on(tmp_path):
    old, new = hold("old", "01:10:00.123456", "01:10:05.345678"), hold("new", *AGAIN)
    begun = POOL | {"node": "d2", "effective_at": "2026-09-01T01:20:00Z", "pool_tokens": 704}
    first = hold("x", "01:59:50.123456", "01:59:55.345678", **OVER, transferred_pages=1)
    lines = [
        *pools("d1", "d2"),
        begun,
        warm_up("01:21:00", "d2"),
        *WRITERS,
        READER,
        *of("d2", old, new, first),
    ]
    everyone = ["of-new", *(f"of-w{n}" for n in range(6))]
    assert sorted(read(tmp_path, *lines).sources.polars()["source_tenant_id"]) == everyone


def test_one_that_the_gateway_calls_otherwise_is_of_one_rank(tmp_path):
    door = [
        {"request_id": row["request_id"], "tenant_id": row["tenant_id"], "hop": "gateway"}
        | {"received_at": row["received_at"], "http_status": 200, "decode_node": "10.0.0.7:30000"}
        for row in (*WRITERS, READER)
    ]
    own = [row | {"hop": "decode"} for row in (*WRITERS, READER)]
    case = read(tmp_path, POOL, *own, *door)
    assert "probable" in tiers(case).values()


def test_a_write_on_one_of_several_ranks_may_have_reached_whoever_was_on_any(tmp_path):
    first = hold("x", "01:58:00.512345", "01:58:09.598765", **OVER, transferred_pages=1)
    first |= {"http_status": 503, "completion_tokens": 0}
    later = [
        hold("y", "02:30:00.1", "02:31:00.1"),
        *of("d2", hold("o", "02:30:00.2", "02:31:00.2")),
    ]
    tries = [*of("d2", first), READER]
    case = read(tmp_path, *pools("d1", "d2"), *later, *tries, incident=WRITES)
    pairs = case.sources.polars().select("request_id", "source_tenant_id", "tier").rows()
    assert set(pairs) == {("y", "of-x", "possible"), ("o", "of-x", "possible")}
    assert {"y", "o"} <= set(case.affected.polars()["request_id"])
