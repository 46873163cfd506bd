"""Which prompt would have been rejected: derived, reported, declared, at restarts, unknown node."""

from collections.abc import Callable
from typing import Any

import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
AT = "2026-09-01T12:00:00Z"


def pool(node: str, tokens: int | None, at: str | None = None, **values: Any) -> dict[str, Any]:
    record = {
        "node": node,
        "role": "prefill",
        "effective_at": at,
        "pool_tokens": tokens,
        "context_tokens": 1_048_576,
        "engine": "sglang",
        **values,
    }
    return {name: value for name, value in record.items() if value is not None}


def ask(
    tokens: int, at: str | None = AT, node: str | None = "prefill-01/dp0", **values: Any
) -> dict[str, Any]:
    record = {
        "request_id": f"r-{tokens}-{at}-{node}",
        "tenant_id": "acme",
        "received_at": at,
        "prefill_node": node,
        "prompt_tokens": tokens,
        "http_status": 200,
        **values,
    }
    return {name: value for name, value in record.items() if value is not None}


def tiers(case: forensics.Case) -> list[str]:
    rows = case.requests.polars().sort("prompt_tokens", "received_at")
    return rows["tier"].to_list()


@pytest.mark.parametrize(
    ("capacity", "limit"),
    [
        (pool("prefill-01", 681_280), 681_274),
        (pool("prefill-01", 284_928), 284_922),
        (pool("prefill-01", 2_040_000), 1_048_570),
        (pool("prefill-01", 681_280, engine="another"), 681_281),
        (pool("prefill-01", 681_280, context_tokens=None), 681_274),
        (pool("prefill-01", 681_280, input_limit_tokens=600_000), 600_000),
    ],
)
def test_the_limit_of_a_pool(case_of: CaseOf, capacity: dict[str, Any], limit: int) -> None:
    case = case_of(capacity, ask(limit - 1), ask(limit), ask(limit + 1))
    assert tiers(case) == ["ruled_out", "possible", "possible"]
    assert case.requests.polars()["input_limit_tokens"].unique().to_list() == [limit]


def test_a_rank_of_its_own_beats_its_server(case_of: CaseOf) -> None:
    case = case_of(
        pool("prefill-01", 681_280),
        pool("prefill-01/dp1", 100_006),
        ask(200_000),
        ask(200_001, node="prefill-01/dp1"),
    )
    assert tiers(case) == ["ruled_out", "possible"]


RESTARTS = (
    pool("prefill-01", 681_280, "2026-09-01T00:00:00Z"),
    pool("prefill-01", 300_000, "2026-09-02T00:00:00Z"),
    pool("prefill-01", 2_040_000, "2026-09-03T00:00:00Z"),
)
DAYS = ("2026-09-01T12:00:00Z", "2026-09-02T00:00:00Z", "2026-09-03T12:00:00Z")


def test_a_pool_that_changes_at_restarts_is_judged_by_its_epoch(case_of: CaseOf) -> None:
    case = case_of(*RESTARTS, *(ask(500_000, day) for day in DAYS))
    assert tiers(case) == ["ruled_out", "possible", "ruled_out"]


def test_a_fixed_threshold_misses_and_accuses_where_pools_change(case_of: CaseOf) -> None:
    asked = (*RESTARTS, *(ask(500_000, day) for day in DAYS), ask(700_000, DAYS[2]))
    fixed = case_of(*asked, incident="[trigger]\nthreshold_tokens = 681280")
    assert tiers(fixed) == ["ruled_out", "ruled_out", "ruled_out", "possible"]
    assert tiers(case_of(*asked)) == ["ruled_out", "possible", "ruled_out", "ruled_out"]


def test_before_the_first_epoch_nothing_is_known(case_of: CaseOf) -> None:
    case = case_of(*RESTARTS, ask(500_000, "2026-08-31T23:59:59Z"))
    assert tiers(case) == ["not_assessable"]


def test_an_unknown_node_is_held_against_all_prefill_limits_in_force(case_of: CaseOf) -> None:
    case = case_of(
        pool("prefill-01", 681_280),
        pool("prefill-02", 300_000),
        pool("decode-01", 100, role="decode"),
        *(ask(tokens, node=None) for tokens in (299_993, 299_994, 681_273, 681_274)),
    )
    assert tiers(case) == ["ruled_out", "possible", "possible", "possible"]
    reasons = case.requests.polars().sort("prompt_tokens")["reasons"].to_list()
    assert reasons == [["below_limit"], ["limit_uncertain"], ["limit_uncertain"], ["over_limit"]]


def test_an_unknown_time_is_held_against_all_limits_of_its_node(case_of: CaseOf) -> None:
    case = case_of(*RESTARTS, ask(200_000, None), ask(500_000, None), ask(1_048_570, None))
    assert tiers(case) == ["not_assessable", "possible", "possible"]


def test_a_declared_pool_fills_what_no_log_holds_and_is_warned_about_where_it_differs(
    case_of: CaseOf,
) -> None:
    declared = """
[[capacity]]
node = "prefill-*"
engine = "sglang"
pool_tokens = 100006
"""
    unlogged = case_of(ask(99_999), ask(100_000), incident=declared)
    assert tiers(unlogged) == ["ruled_out", "possible"]
    logged = case_of(pool("prefill-01", 681_280), ask(100_000), ask(681_274), incident=declared)
    assert tiers(logged) == ["ruled_out", "possible"]
    assert any(
        "declared pool_tokens 100006" in flag for flag in logged.exposure().headline.incomplete
    )


EVERYWHERE = '[[capacity]]\nnode = "*"\nengine = "sglang"\npool_tokens = 100006\n'
EARLY = "2026-08-31T12:00:00Z"


@pytest.mark.parametrize("node", ["prefill-01/dp0", "prefill-02/dp0"])
def test_a_declared_pool_stands_where_the_log_of_a_node_does_not_tell_one(
    case_of: CaseOf, node: str
) -> None:
    # Before the first record of the one node, and at the other one, of which there is none.
    logged = pool("prefill-01", 100_006, "2026-09-01T00:00:00Z")
    case = case_of(logged, ask(99_999, EARLY, node), ask(100_000, EARLY, node), incident=EVERYWHERE)
    assert tiers(case) == ["ruled_out", "possible"]
    assert not case.exposure().changes


def test_where_the_log_tells_another_pool_later_nobody_is_cleared_between_the_two(
    case_of: CaseOf,
) -> None:
    logged = pool("prefill-01", 50_006, "2026-09-01T00:00:00Z")
    sizes = (49_999, 50_000, 99_999, 100_000)
    case = case_of(logged, *(ask(size, EARLY) for size in sizes), incident=EVERYWHERE)
    assert tiers(case) == ["ruled_out", "possible", "possible", "possible"]
    reasons = case.requests.polars().sort("prompt_tokens")["reasons"].to_list()
    assert reasons[1:] == [["limit_uncertain"], ["limit_uncertain"], ["over_limit"]]
    assert not case.exposure().changes


def test_a_declared_prefill_pool_says_nothing_about_a_decode_node(case_of: CaseOf) -> None:
    declared = '[[capacity]]\nnode = "*"\npool_tokens = 1000\ncontext_tokens = 900\n'
    decode = pool("decode-01", 5_000, role="decode", engine=None)
    case = case_of(decode, ask(950, node=None), incident=declared)
    epochs = case.capacity.polars()
    assert epochs.filter(node="decode-01")["pool_tokens"].to_list() == [5_000]
    assert tiers(case) == ["possible"]


def test_changed_settings_are_events_even_where_the_pool_stood(case_of: CaseOf) -> None:
    case = case_of(
        pool("prefill-01", 681_280, "2026-09-01T00:00:00Z", config={"tp_size": 8, "api_key": "k"}),
        pool("prefill-01", 681_280, "2026-09-02T00:00:00Z", config={"tp_size": 16}),
        ask(1),
    )
    changes = case.exposure().changes
    assert [(c.setting, c.before, c.after) for c in changes] == [("tp_size", "8", "16")]
    assert "api_key" not in str(case.exposure())


@pytest.mark.parametrize(("day", "tier"), [(1, "ruled_out"), (6, "not_assessable")])
def test_a_zone_that_was_assumed_lets_no_later_start_clear_what_came_days_before_it(
    node_logs: CaseOf, day: int, tier: str
) -> None:
    """By no zone a start is more than some hours off: who knows less clears no more."""
    at = f"[2026-09-{day:02} 00:00:00] "
    start = (
        at + "server_args=ServerArgs(model_path='m', disaggregation_mode='prefill', page_size=64)"
    )
    sizes = at + (
        "max_total_num_tokens=1160000, chunked_prefill_size=16384, max_prefill_tokens=16384, "
        "max_running_requests=32, context_len=1048576, available_gpu_mem=12.31 GB"
    )
    served = (
        "[2026-09-01 12:00:11] "
        "ReqTimeStats(rid=d, bootstrap_room=4000000000000000001, input_len=700000, "
        "cached_input_len=0, output_len=40, attempts=0, type=decode): bootstrap_duration=15.00ms, "
        "queue_duration=5.00ms, forward_duration=980.00ms, entry_time=1788264010.000"
    )
    case = node_logs({"prefill-01": [start, sizes], "decode-01": [served]})
    assert tiers(case) == [tier]
