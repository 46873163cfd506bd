"""What is decided, sentence by sentence of the contract."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.findings import FINDINGS
from forensics.verdicts import ORDER

AT = "2026-09-01T12:00:00Z"
POOL = {
    "node": "prefill-01",
    "role": "prefill",
    "effective_at": "2026-08-01T00:00:00Z",
    "pool_tokens": 681_280,
    "page_tokens": 64,
    "context_tokens": 1_048_576,
    "engine": "sglang",
    "disaggregated": True,
}
DECLARED = """
[[capacity]]
node = "prefill-*"
engine = "sglang"
pool_tokens = 681280
page_tokens = 64
context_tokens = 1048576
"""
LIMIT = 681_274

Judge = Callable[..., dict[str, Any]]


def request(**values: Any) -> dict[str, Any]:
    """One joined record; a value of None leaves the column out."""
    record = {
        "request_id": "r-1",
        "transfer_id": "77",
        "tenant_id": "acme",
        "received_at": AT,
        "prefill_node": "prefill-01",
        "decode_node": "decode-01",
        **values,
    }
    return {name: value for name, value in record.items() if value is not None}


def test_over_the_limit_with_a_full_transfer_is_ruled_out(verdict_of: Judge) -> None:
    row = verdict_of(
        POOL,
        request(
            prompt_tokens=700_000, reserved_pages=10938, transferred_pages=10938, http_status=200
        ),
    )
    assert row["tier"] == "ruled_out"
    assert row["reasons"] == ["full_transfer", "over_limit"]


@pytest.mark.parametrize(("prompt", "tier"), [(700_000, "possible"), (5_000, "ruled_out")])
def test_a_full_transfer_does_not_clear_the_end_of_the_last_page(
    verdict_of: Judge, prompt: int, tier: str
) -> None:
    pages = -(-prompt // 64)
    row = verdict_of(
        POOL,
        request(
            prompt_tokens=prompt,
            prefill_prompt_tokens=prompt - 3,
            decode_prompt_tokens=prompt,
            reserved_pages=pages,
            transferred_pages=pages,
            http_status=200,
        ),
    )
    assert row["tier"] == tier
    assert {"full_transfer", "short_tail"} <= set(row["reasons"])


def test_a_full_transfer_does_not_clear_a_placeholder(verdict_of: Judge) -> None:
    row = verdict_of(
        POOL,
        request(
            prompt_tokens=700_000,
            prefill_prompt_tokens=1,
            decode_prompt_tokens=700_000,
            reserved_pages=10938,
            transferred_pages=10938,
            http_status=200,
        ),
    )
    assert row["tier"] == "probable"
    assert row["reasons"] == ["full_transfer", "over_limit", "placeholder_prefill"]


def test_a_short_transfer_with_503_and_no_tokens_is_ruled_out(verdict_of: Judge) -> None:
    row = verdict_of(
        request(reserved_pages=500, transferred_pages=1, http_status=503, completion_tokens=0)
    )
    assert row["tier"] == "ruled_out"
    assert row["reasons"] == ["not_delivered", "short_transfer"]
    assert row["rung"] == "triggered"


def test_one_of_500_pages_is_probable_without_a_prompt_length(verdict_of: Judge) -> None:
    row = verdict_of(POOL, request(reserved_pages=500, transferred_pages=1, http_status=200))
    assert row["tier"] == "probable"
    assert row["reasons"] == ["short_transfer"]
    assert "prompt_tokens" in row["missing"]


def test_an_answer_aborted_after_30_tokens_was_delivered(verdict_of: Judge) -> None:
    row = verdict_of(
        request(
            reserved_pages=500,
            transferred_pages=1,
            http_status=499,
            completion_tokens=30,
            finish_reason="abort",
        )
    )
    assert (row["rung"], row["tier"]) == ("delivered", "probable")


@pytest.mark.parametrize(
    ("tokens", "tier", "reason"),
    [
        (LIMIT - 1, "ruled_out", "below_limit"),
        (LIMIT, "possible", "over_limit"),
        (LIMIT + 1, "possible", "over_limit"),
        (681_280, "possible", "over_limit"),
        (681_281, "possible", "over_limit"),
    ],
)
def test_lengths_and_statuses_alone(verdict_of: Judge, tokens: int, tier: str, reason: str) -> None:
    row = verdict_of(POOL, request(prompt_tokens=tokens, http_status=200, hop="gateway"))
    assert (row["tier"], row["reasons"]) == (tier, [reason])
    assert row["input_limit_tokens"] == LIMIT


@pytest.mark.parametrize(
    ("tokens", "tier"),
    [(LIMIT, "ruled_out"), (681_279, "ruled_out"), (681_280, "ruled_out"), (681_281, "possible")],
)
def test_a_stated_threshold_means_longer_than_it_on_every_node(
    verdict_of: Judge, tokens: int, tier: str
) -> None:
    row = verdict_of(
        POOL,
        request(prompt_tokens=tokens, http_status=200, prefill_node="elsewhere"),
        incident="[trigger]\nthreshold_tokens = 681280",
    )
    assert row["tier"] == tier


def decode_record(tokens: int) -> dict[str, Any]:
    return request(
        hop="decode", prefill_node=None, decode_prompt_tokens=tokens, completion_tokens=9
    )


@pytest.mark.parametrize("tokens", [1, 64, LIMIT - 1, LIMIT, 1_000_000])
def test_a_decode_log_alone_is_not_assessable(verdict_of: Judge, tokens: int) -> None:
    row = verdict_of(decode_record(tokens))
    assert row["tier"] == "not_assessable"
    assert "input_limit_tokens" in row["missing"]


@pytest.mark.parametrize(
    ("tokens", "tier"), [(LIMIT - 1, "ruled_out"), (LIMIT, "possible"), (1_000_000, "possible")]
)
def test_with_the_prefill_pool_declared_a_decode_log_shows_the_possible_ones(
    verdict_of: Judge, tokens: int, tier: str
) -> None:
    assert verdict_of(decode_record(tokens), incident=DECLARED)["tier"] == tier


def test_decodes_own_pool_never_clears(verdict_of: Judge) -> None:
    decode_pool = POOL | {"node": "decode-01", "role": "decode", "pool_tokens": 2_000_000}
    row = verdict_of(decode_pool, decode_record(700_000))
    assert row["tier"] == "not_assessable"


@pytest.mark.parametrize(
    ("values", "tier", "rung"),
    [
        ({"http_status": 200}, "probable", "delivered"),
        ({"http_status": 200, "stream_error": True}, "possible", "triggered"),
        ({"http_status": 499}, "possible", "triggered"),
        ({"http_status": 504}, "possible", "triggered"),
        ({}, "possible", "triggered"),
        ({"http_status": 500}, "ruled_out", "triggered"),
        ({"http_status": 500, "stream_error": True}, "possible", "triggered"),
        ({"http_status": 400}, "ruled_out", "triggered"),
        ({"http_status": 200, "completion_tokens": 0}, "ruled_out", "triggered"),
        ({"http_status": 503, "completion_tokens": 4}, "probable", "delivered"),
        ({"completion_tokens": 1, "stream_error": True}, "probable", "delivered"),
    ],
)
def test_delivery(verdict_of: Judge, values: dict[str, Any], tier: str, rung: str) -> None:
    row = verdict_of(request(reserved_pages=9, transferred_pages=1, **values))
    assert (row["tier"], row["rung"]) == (tier, rung)


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        ({"prefill_prompt_tokens": 1, "decode_prompt_tokens": 2}, ["placeholder_prefill"]),
        ({"prefill_prompt_tokens": 1, "decode_prompt_tokens": 1}, ["same_count"]),
        (
            {"prefill_prompt_tokens": 100, "decode_prompt_tokens": 164, "reserved_tokens": 192},
            ["count_mismatch"],
        ),
        ({"reserved_tokens": 640, "transferred_tokens": 64}, ["short_transfer"]),
        (
            {"reserved_pages": 8, "transferred_pages": 1, "transfer_status": "complete"},
            ["complete_but_short", "short_transfer"],
        ),
        ({"reserved_pages": 8, "transferred_pages": 9}, ["transfer_mismatch"]),
        ({"rejected": True, "http_status": 200}, ["rejected_but_served"]),
        ({"owner_generation": 4, "read_generation": 5, "slot_owner": "x"}, ["owner_mismatch"]),
        ({"owner_generation": 4, "read_generation": 4}, ["slot_unread"]),
        ({"owner_generation": 4, "read_generation": 4, "slot_owner": "acme"}, []),
        ({"sender_tenant": "acme", "receiver_tenant": "other"}, ["owner_mismatch"]),
    ],
)
def test_findings(verdict_of: Judge, values: dict[str, Any], reasons: list[str]) -> None:
    row = verdict_of(request(completion_tokens=3, **values))
    assert row["reasons"] == reasons


def test_a_page_less_than_decode_counted_is_a_placeholder(verdict_of: Judge) -> None:
    counts = {"prefill_prompt_tokens": 1000, "completion_tokens": 3}
    less = verdict_of(POOL, request(decode_prompt_tokens=1064, **counts))
    near = verdict_of(POOL, request(decode_prompt_tokens=1024, **counts))
    assert (less["tier"], less["reasons"]) == ("probable", ["below_limit", "placeholder_prefill"])
    assert (near["tier"], near["reasons"]) == ("ruled_out", ["below_limit", "short_tail"])


@pytest.mark.parametrize("decode", [1025, 1063])
def test_tokens_that_fill_a_page_fewer_clear_nobody(verdict_of: Judge, decode: int) -> None:
    counts = {"prefill_prompt_tokens": 1000, "completion_tokens": 3}
    row = verdict_of(POOL, request(decode_prompt_tokens=decode, **counts))
    assert row["tier"] == "possible"
    assert row["reasons"] == ["below_limit", "short_page", "short_tail"]


def test_computing_a_page_less_than_reserved_is_a_placeholder(verdict_of: Judge) -> None:
    counts = {"prompt_tokens": 1000, "completion_tokens": 3, "cached_tokens": 200}
    less = verdict_of(POOL, request(prefill_tokens=700, reserved_pages=16, **counts))
    full = verdict_of(POOL, request(prefill_tokens=800, reserved_pages=16, **counts))
    unlogged = verdict_of(POOL, request(prefill_tokens=700, **counts))
    assert less["tier"] == unlogged["tier"] == "probable"
    assert full["tier"] == "ruled_out"


def test_a_count_of_prefill_above_decodes_is_a_finding_though_both_are_below(verdict_of: Judge):
    row = verdict_of(POOL, request(prompt_tokens=500, prefill_prompt_tokens=600, http_status=200))
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["below_limit", "count_mismatch"])


@pytest.mark.parametrize("hop", ["gateway", "prefill", None])
@pytest.mark.parametrize("name", ["prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"])
def test_the_largest_length_that_any_record_states_has_to_be_below(verdict_of, hop, name):
    told = [
        request(hop="gateway", prompt_tokens=500, http_status=200),
        request(hop="decode", prompt_tokens=500, decode_prompt_tokens=500, completion_tokens=3),
        request(hop="prefill", prefill_prompt_tokens=560),
    ]
    below = verdict_of(POOL, *told, request(hop=hop, **{name: 600}))
    over = verdict_of(POOL, *told, request(hop=hop, **{name: 700_000}))
    assert "below_limit" in below["reasons"]
    assert "over_limit" in over["reasons"]
    assert over["tier"] != "ruled_out"


def test_counts_that_differ_without_a_page_size_clear_nobody(verdict_of: Judge) -> None:
    row = verdict_of(
        request(
            prompt_tokens=163,
            prefill_prompt_tokens=100,
            decode_prompt_tokens=163,
            completion_tokens=1,
        ),
        incident="[trigger]\nthreshold_tokens = 681280",
    )
    assert (row["tier"], row["reasons"]) == ("not_assessable", ["count_mismatch"])


def test_what_may_be_over_the_limit_counts_as_delivered_where_a_log_holds_the_delivery(
    verdict_of: Judge,
) -> None:
    slack = "[trigger]\nslack_tokens = 500"
    row = verdict_of(POOL, request(prompt_tokens=681_000, http_status=200), incident=slack)
    assert (row["tier"], row["rung"]) == ("possible", "delivered")
    unsent = verdict_of(POOL, request(prompt_tokens=681_000, http_status=504), incident=slack)
    assert unsent["rung"] != "delivered"


def test_both_sides_agreeing_on_a_shortened_prompt_clears(verdict_of: Judge) -> None:
    row = verdict_of(
        POOL,
        request(hop="gateway", prompt_tokens=900_000, http_status=200, transfer_id=None),
        request(hop="prefill", request_id="p-1", prefill_prompt_tokens=600_000),
        request(hop="decode", decode_prompt_tokens=600_000, completion_tokens=5),
    )
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["over_limit", "truncated_consistently"])


def test_a_node_that_does_not_disaggregate_clears_but_not_a_slot_pool(verdict_of: Judge) -> None:
    unified = POOL | {"role": "unified", "disaggregated": False}
    row = verdict_of(unified, request(prompt_tokens=700_000, http_status=200))
    assert (row["tier"], row["rung"]) == ("ruled_out", "eligible")
    assert "not_disaggregated" in row["reasons"]
    slot = request(prompt_tokens=700_000, http_status=200, owner_generation=1, slot_owner="acme")
    assert verdict_of(unified, slot)["tier"] == "possible"


SCOPE = """
[scope]
models = ["glm-5.3"]
window = ["2026-08-27T00:00:00Z", "2026-09-10T00:00:00Z"]
"""


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("values", "tier"),
    [
        ({}, "probable"),
        ({"model": "glm-5.3"}, "probable"),
        ({"model": "other"}, "ruled_out"),
        ({"received_at": "2026-08-27T00:00:00Z"}, "probable"),
        ({"received_at": "2026-08-26T23:59:59.999999Z"}, "ruled_out"),
        ({"received_at": "2026-09-09T23:59:59.999999Z"}, "probable"),
        ({"received_at": "2026-09-10T00:00:00Z"}, "ruled_out"),
        ({"received_at": None}, "probable"),
        ({"received_at": None, "reserved_at": "2026-09-10T00:00:00Z"}, "ruled_out"),
    ],
)
def test_scope_is_half_open_and_an_unknown_model_is_in_it(
    verdict_of: Judge, values: dict[str, Any], tier: str
) -> None:
    record = request(reserved_pages=9, transferred_pages=1, completion_tokens=3, **values)
    row = verdict_of(record, incident=SCOPE)
    assert row["tier"] == tier
    assert (row["rung"] is None) == (tier == "ruled_out")


def test_a_foreign_marker_confirms_even_where_nothing_was_logged_as_delivered(
    verdict_of: Judge,
) -> None:
    marker = {
        "marker": "a" * 16,
        "planted_request_id": "other",
        "planted_tenant": "canary",
        "seen_request_id": "r-1",
        "seen_at": AT,
    }
    short = request(reserved_pages=9, transferred_pages=1, http_status=503)
    assert verdict_of(marker, short)["tier"] == "confirmed"
    own = marker | {"planted_request_id": "r-1"}
    assert verdict_of(own, short)["tier"] == "ruled_out"
    assert verdict_of(marker, request(model="other"), incident=SCOPE)["tier"] == "ruled_out"


@pytest.mark.parametrize("mechanism", ["write", "unknown"])
def test_below_the_limit_clears_nobody_unless_the_trigger_reads(
    verdict_of: Judge, mechanism: str
) -> None:
    small = request(prompt_tokens=100, http_status=200)
    assert verdict_of(POOL, small)["tier"] == "ruled_out"
    row = verdict_of(POOL, small, incident=f'[trigger]\nmechanism = "{mechanism}"')
    assert row["tier"] == "not_assessable"


@pytest.mark.parametrize(("gateway", "decode"), [(LIMIT, LIMIT - 9), (LIMIT - 9, LIMIT)])
def test_the_larger_count_is_held_against_the_limit(
    verdict_of: Judge, gateway: int, decode: int
) -> None:
    row = verdict_of(
        POOL, request(prompt_tokens=gateway, decode_prompt_tokens=decode, http_status=200)
    )
    assert (row["tier"], row["reasons"]) == ("possible", ["over_limit"])


def test_slack_around_the_edge_is_possible(verdict_of: Judge) -> None:
    incident = "[trigger]\nslack_tokens = 10"
    near = verdict_of(POOL, request(prompt_tokens=LIMIT - 10, http_status=200), incident=incident)
    below = verdict_of(POOL, request(prompt_tokens=LIMIT - 11, http_status=200), incident=incident)
    assert (near["tier"], near["reasons"]) == ("possible", ["near_limit"])
    assert (below["tier"], below["reasons"]) == ("ruled_out", ["below_limit"])


def test_an_engine_version_rules_nothing_out(verdict_of: Judge) -> None:
    fixed = POOL | {"engine_version": "0.5.23"}
    short = request(prompt_tokens=700_000, reserved_pages=9, transferred_pages=1, http_status=200)
    assert verdict_of(fixed, short)["tier"] == "probable"


def test_a_row_that_lacks_everything_is_not_assessable_and_says_so(verdict_of: Judge) -> None:
    row = verdict_of({"request_id": "r-1", "tenant_id": "acme"})
    assert row["tier"] == "not_assessable"
    assert {"prompt_tokens", "received_at", "input_limit_tokens", "completion_tokens"} <= set(
        row["missing"]
    )


CLUES: tuple[dict[str, Any], ...] = (
    {"prompt_tokens": 700_000},
    {"prefill_prompt_tokens": 1, "decode_prompt_tokens": 700_000},
    {"reserved_pages": 10_938, "transferred_pages": 1},
    {"http_status": 200},
    {"completion_tokens": 12},
    {"rejected": True},
)


@pytest.mark.parametrize("size", range(1, len(CLUES) + 1))
def test_no_combination_of_values_without_a_clearing_fact_rules_out(
    case_of: Callable[..., forensics.Case], size: int
) -> None:
    records = []
    for number, chosen in enumerate(combinations(CLUES, size)):
        merged = {name: value for clue in chosen for name, value in clue.items()}
        records.append(request(request_id=f"r-{number}", transfer_id=f"{1000 + number}", **merged))
    rows = case_of(POOL, *records).requests.polars()
    assert "ruled_out" not in rows["tier"].to_list()


def test_reasons_are_sorted_and_known(case_of: Callable[..., forensics.Case]) -> None:
    known = {finding.code for finding in FINDINGS}
    rows = case_of(POOL, request(prompt_tokens=700_000, rejected=True, http_status=200)).requests
    for reasons in rows.polars()["reasons"].to_list():
        assert reasons == sorted(reasons)
        assert set(reasons) <= known


def test_every_finding_is_documented_and_can_take_part() -> None:
    assert len({finding.code for finding in FINDINGS}) == len(FINDINGS)
    for finding in FINDINGS:
        assert finding.meaning
        assert finding.does_not_prove
    assert ORDER[-1].tier == "not_assessable"


def test_adding_a_log_moves_rows_only_with_a_reason(
    case_of: Callable[..., forensics.Case],
) -> None:
    gateway = [
        request(
            hop="gateway",
            request_id=f"r-{n}",
            transfer_id=None,
            prompt_tokens=700_000,
            http_status=200,
        )
        for n in range(3)
    ]
    decode = request(
        hop="decode",
        request_id="r-0",
        transfer_id="9",
        decode_prompt_tokens=700_000,
        completion_tokens=3,
    )
    prefill = request(hop="prefill", request_id="p-0", transfer_id="9", prefill_prompt_tokens=1)
    before = case_of(POOL, *gateway).requests.polars()
    after = case_of(POOL, *gateway, decode, prefill).requests.polars()
    assert set(before["request_id"]) == set(after["request_id"]) == {"r-0", "r-1", "r-2"}
    moved = after.filter(pl.col("request_id") == "r-0").row(0, named=True)
    assert (moved["tier"], moved["reasons"]) == ("probable", ["over_limit", "placeholder_prefill"])
    assert set(after.filter(pl.col("request_id") != "r-0")["tier"]) == {"possible"}


@pytest.mark.parametrize(
    ("values", "tier"),
    [
        ({"prefill_prompt_tokens": 700_000, "decode_prompt_tokens": 25_000}, "possible"),
        ({"prefill_prompt_tokens": 25_640, "decode_prompt_tokens": 25_000}, "ruled_out"),
        ({"prefill_prompt_tokens": 24_990, "decode_prompt_tokens": 25_000}, "ruled_out"),
        ({"prompt_tokens": 9, "rejection_code": "timeout", "completion_tokens": 0}, "ruled_out"),
        ({"prompt_tokens": 9, "transfer_status": "failed", "completion_tokens": 0}, "ruled_out"),
    ],
    ids=["prefill over the limit", "prefill more", "less than a page", "refused", "failed"],
)
def test_what_hops_disagree_about_or_refused_is_listed(
    case_of: Callable[..., forensics.Case], values: dict[str, Any], tier: str
) -> None:
    case = case_of(POOL, request(**{"completion_tokens": 40} | values))
    listed = case.affected if tier == "possible" else case.ruled_out
    assert listed.polars()["tier"].to_list() == [tier]


def test_prefills_own_count_clears_no_prompt_that_decode_did_not_count(verdict_of: Judge) -> None:
    row = verdict_of(POOL, request(prefill_prompt_tokens=1, completion_tokens=40))
    assert row["tier"] == "not_assessable"
