"""Which flagged requests belong together, and what they are taken for."""

import polars as pl
import pytest

SECOND = 1_000_000
HOUR = 3_600 * SECOND


@pytest.fixture
def clusters(honest, scored):
    """Form the clusters of some requests among honest ones; values are of each request."""

    def form(*others, rows=None):
        rows = honest() if rows is None else rows
        first = rows.head(1).to_dicts()[0]
        added = [
            first
            | {"prompt_tokens": 700_000, "cached_tokens": 0, "prefill_ms": 56.0}
            | {"request_id": f"x-{number}", "handoff": 10**6 + number, "tenant_id": "own"}
            | values
            for number, values in enumerate(others)
        ]
        found, timing = scored(pl.concat([rows, pl.DataFrame(added, schema=rows.schema)]))
        return timing.clusters, found.tail(len(others))["timing_cluster"].to_list()

    return form


def at(hours: float, **values):
    return {"received_at": 1_788_000_000_000_000 + int(hours * HOUR), **values}


def test_prompts_over_the_limit_are_a_leak(clusters):
    found, members = clusters(at(1), at(3), at(9))
    assert found.select("kind", "requests", "nodes").rows() == [("leak", 3, ["prefill-0/dp0"])]
    assert "times faster than their tokens can be computed" in found["reason"][0]
    assert members == [1, 1, 1]


def test_clusters_end_at_gaps_in_time_and_are_numbered_by_their_first_moment(clusters):
    found, members = clusters(at(60), at(1), at(2), at(61))
    assert members == [2, 1, 1, 2]
    assert found["first_at"].is_sorted()


def test_ranks_of_one_server_are_together_and_servers_apart(clusters):
    nodes = ("prefill-0/dp0", "prefill-0/dp1", "prefill-1/dp0")
    found, members = clusters(*(at(1 + n / 10, prefill_node=node) for n, node in enumerate(nodes)))
    assert found["nodes"].to_list() == [list(nodes[:2]), [nodes[2]]]
    assert members == [1, 1, 2]


def test_sizes_and_ratios_far_apart_are_apart(clusters):
    small = {"prompt_tokens": 90_000}
    # As many tokens to compute, but they look at far more.
    slow = {"prompt_tokens": 3_700_000, "cached_tokens": 3_000_000, "prefill_ms": 30.0}
    limits = {"limit_low": 80_000}
    others = (at(1, **limits), at(2, **limits, **small), at(3, **limits, **slow))
    assert sorted(clusters(*others)[1]) == [1, 2, 3]


def test_below_the_limit_after_a_prompt_as_long_it_was_a_hit_nobody_counted(clusters):
    first = at(1, prompt_tokens=300_000, prefill_ms=17_300.0)
    again = at(1.2, prompt_tokens=320_000)
    found, members = clusters(first, again)
    assert found["kind"].to_list() == ["cache_hit"]
    assert found["reason"][0].endswith(
        "would explain it. That the prompts began alike is not known."
    )
    assert members == [None, 1]


@pytest.mark.parametrize("change", [{"tenant_id": "another"}, at(9), {"prompt_tokens": 9_000}])
def test_below_the_limit_without_one_it_cannot_be_told(clusters, change):
    first = at(1, prompt_tokens=300_000, prefill_ms=17_300.0)
    if "prompt_tokens" in change:
        change = change | {"prefill_ms": 507.0}
    found, _ = clusters(first | change, at(1.2, prompt_tokens=320_000))
    assert found["kind"].to_list() == ["other"]


def slow(hours: float, **values):
    return at(hours, prompt_tokens=300_000, prefill_ms=400_000.0, **values)


def test_all_of_a_node_for_some_minutes_is_a_stall(clusters, honest):
    rows = honest().filter(pl.col("received_at") > at(2)["received_at"])
    found, members = clusters(*(slow(1 + n / 60) for n in range(5)), rows=rows)
    assert found["kind"].to_list() == ["stall"]
    assert members == [1] * 5


def test_slow_ones_that_chance_may_explain_are_slow_all_the_same(clusters, honest):
    """Three are far slower than usual; the ten others of the node are so twice and a half."""
    rows = honest().filter(pl.col("received_at") > at(2)["received_at"])
    somewhat = {"prompt_tokens": 300_000, "prefill_ms": 17_300 * 2.5}
    others = [at(1 + n / 60, **somewhat) for n in range(1, 11)]
    found, _ = clusters(slow(1), slow(1.1), slow(1.2), *others, rows=rows)
    assert found["kind"].to_list() == ["stall"]
    assert found["reason"][0].startswith("13 of 13 requests of the node")


def test_most_of_a_node_for_hours_is_a_slow_node(clusters, honest):
    rows = honest().filter(pl.col("received_at") > at(6)["received_at"])
    found, _ = clusters(*(slow(1 + n / 3) for n in range(12)), rows=rows)
    assert found["kind"].to_list() == ["slow_node"]


def test_a_slow_rank_among_healthy_ranks_of_its_server_is_a_slow_node(clusters, honest):
    """Nor do two slow requests of the healthy rank in that time hide it."""
    node = "prefill-0/dp7"
    others = [slow(1 + n / 3, prefill_node=node) for n in range(12)] + [slow(2.1), slow(3.1)]
    found, _ = clusters(*others)
    assert found["kind"].to_list() == ["slow_node"]
    assert found["reason"][0].startswith("12 of 12 requests of its nodes in that time took longer")


def test_some_slow_ones_among_many_are_neither(clusters):
    found, _ = clusters(*(slow(1 + n / 6) for n in range(4)))
    assert found["kind"].to_list() == ["other"]


def test_two_slow_ones_are_no_cluster(clusters):
    found, members = clusters(slow(1), slow(1.1))
    assert found.height == 0
    assert members == [None, None]
