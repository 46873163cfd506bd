"""What a time that is too fast does to a verdict."""

import json

import polars as pl
import pytest

import forensics

DECLARED = """
[[capacity]]
node = "prefill-*"
engine = "sglang"
pool_tokens = 681280
page_tokens = 64
context_tokens = 1048576
"""
FIELDS = ("request_id", "tenant_id", "prefill_node", "prompt_tokens", "cached_tokens", "prefill_ms")
FULL = {"transfer_id": "77", "reserved_pages": 10_938, "transferred_pages": 10_938}
VALUES = {
    "fast": {},
    "as-slow-as-it-has-to-be": {"prefill_ms": 46_000.0},
    "cached": {"cached_tokens": 699_904},
    "cached-unknown": {"cached_tokens": None},
    "no-time": {"prefill_ms": None},
    "delivery-unknown": {"completion_tokens": None, "http_status": 499},
    "full-transfer": FULL,
    "below-the-limit": {"prompt_tokens": 600_000},
    "not-delivered": {"completion_tokens": 0},
}
"""What is otherwise with a prompt over the limit that came back at once."""


@pytest.fixture(scope="module")
def case(tmp_path_factory, honest):
    """Read each of the requests, named by what is otherwise, among a thousand honest ones."""
    usual = [
        {**row, "received_at": "2026-09-01T12:00:00Z", "http_status": 200}
        for row in honest(1_500).select(FIELDS).to_dicts()
    ]
    over = usual[0] | {"prompt_tokens": 700_000, "cached_tokens": 0, "prefill_ms": 56.0}
    odd = [over | {"completion_tokens": 9, "request_id": name} | VALUES[name] for name in VALUES]
    folder = tmp_path_factory.mktemp("rule")
    known = [{name: value for name, value in row.items() if value is not None} for row in odd]
    lines = "".join(json.dumps(row) + "\n" for row in usual + known)
    (folder / "case.ndjson").write_text(lines)
    (folder / "incident.toml").write_text(DECLARED)
    return forensics.read_logs(folder / "case.ndjson", incident=folder / "incident.toml")


@pytest.fixture(scope="module")
def verdict(case):
    rows = case.requests.polars()
    return lambda name: rows.filter(request_id=name).to_dicts()[0]


def test_over_the_limit_and_too_fast_is_probable(verdict, case):
    row = verdict("fast")
    assert (row["tier"], row["reasons"]) == ("probable", ["over_limit", "too_fast"])
    assert row["expected_prefill_ms"] == pytest.approx(47_300, rel=0.1)
    kinds = dict(case.analysis.timing.clusters.select("cluster", "kind").iter_rows())
    assert kinds[row["timing_cluster"]] == "leak"


@pytest.mark.parametrize(
    "name",
    ["as-slow-as-it-has-to-be", "cached", "cached-unknown", "no-time", "delivery-unknown"],
)
def test_over_the_limit_stays_possible_without_it(verdict, name):
    assert verdict(name)["tier"] == "possible"


def test_a_notebook_shows_flags_and_clusters_as_tables(case):
    row = case.odd_times.polars().row(by_predicate=pl.col("request_id") == "fast", named=True)
    clusters = case.timing_clusters.polars().filter(cluster=row["timing_cluster"])
    assert (row["speed"], clusters["kind"].to_list()) == ("too_fast", ["leak"])
    assert "case.odd_times" in case.odd_times.held_by
    assert case.timing_clusters.held_by == "timing_clusters.csv"


def test_a_full_transfer_clears_it_all_the_same(verdict):
    row = verdict("full-transfer")
    assert row["tier"] == "ruled_out"
    assert {"full_transfer", "too_fast"} <= set(row["reasons"])


def test_too_fast_alone_is_listed_and_affects_nobody(verdict, case):
    row = verdict("below-the-limit")
    assert (row["tier"], row["reasons"]) == ("ruled_out", ["below_limit", "too_fast"])
    assert "below-the-limit" in case.ruled_out.polars()["request_id"]


def test_nothing_delivered_is_ruled_out(verdict):
    row = verdict("not-delivered")
    assert row["tier"] == "ruled_out"
    assert "too_fast" in row["reasons"]
