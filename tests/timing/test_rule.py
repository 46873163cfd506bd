"""What a time that is too fast does to a verdict."""

import pytest

DECLARED = """
[[capacity]]
node = "prefill-*"
engine = "sglang"
pool_tokens = 681280
page_tokens = 64
context_tokens = 1048576
"""
FIELDS = ("request_id", "tenant_id", "prefill_node", "prompt_tokens", "cached_tokens", "prefill_ms")


@pytest.fixture
def verdict(case_of, honest):
    """Judge one request among a thousand honest ones."""

    def judge(**values):
        usual = [
            {**row, "received_at": "2026-09-01T12:00:00Z", "http_status": 200}
            for row in honest(1_500).select(FIELDS).to_dicts()
        ]
        record = usual[0] | {"request_id": "x", "prompt_tokens": 700_000, "cached_tokens": 0}
        record |= {"prefill_ms": 56.0, "completion_tokens": 9} | values
        record = {name: value for name, value in record.items() if value is not None}
        case = case_of(*usual, record, incident=DECLARED)
        (row,) = case.requests.polars().filter(request_id="x").to_dicts()
        return row, case

    return judge


def test_over_the_limit_and_too_fast_is_probable(verdict):
    row, _ = verdict()
    assert (row["tier"], row["reasons"]) == ("probable", ["over_limit", "too_fast"])
    assert row["expected_prefill_ms"] == pytest.approx(47_300, rel=0.1)
    assert row["timing_cluster"] == 1


@pytest.mark.parametrize(
    "values",
    [
        {"prefill_ms": 46_000.0},
        {"cached_tokens": 699_904},
        {"cached_tokens": None},
        {"prefill_ms": None},
        {"completion_tokens": None, "http_status": 499},
    ],
    ids=["as slow as it has to be", "cached", "cached unknown", "no time", "delivery unknown"],
)
def test_over_the_limit_stays_possible_without_it(verdict, values):
    assert verdict(**values)[0]["tier"] == "possible"


def test_a_full_transfer_clears_it_all_the_same(verdict):
    row, _ = verdict(transfer_id="77", reserved_pages=10_938, transferred_pages=10_938)
    assert row["tier"] == "ruled_out"
    assert {"full_transfer", "too_fast"} <= set(row["reasons"])


def test_too_fast_alone_is_listed_and_affects_nobody(verdict):
    row, case = verdict(prompt_tokens=600_000)
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["below_limit", "too_fast"])
    assert case.ruled_out.polars()["request_id"].to_list() == ["x"]


def test_nothing_delivered_is_ruled_out(verdict):
    row, _ = verdict(completion_tokens=0)
    assert row["tier"] == "ruled_out"
    assert "too_fast" in row["reasons"]
