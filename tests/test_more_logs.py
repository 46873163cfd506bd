"""More logs settle more, and take nobody away without saying why."""

from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.schema import AFFECTED_TIERS

HOPS = ("gateway", "prefill", "decode")
CLEARING = {
    "not_delivered",
    "full_transfer",
    "same_count",
    "truncated_consistently",
    "not_disaggregated",
    "below_limit",
    "out_of_scope",
}
SUBSETS = [set(c) for size in (1, 2, 3) for c in combinations(HOPS, size)]


@pytest.fixture(scope="module")
def by_subset(tmp_path_factory: pytest.TempPathFactory) -> dict[frozenset[str], pl.DataFrame]:
    folder: Path = tmp_path_factory.mktemp("hops")
    lab.write_plain(lab.simulate(lab.small()), folder)
    return {
        frozenset(hops): forensics.read_logs(
            *(folder / "logs" / hop for hop in sorted(hops))
        ).requests.polars()
        for hops in SUBSETS
    }


def known_ids(rows: pl.DataFrame) -> set[str]:
    return set(rows["request_id"]) | set(rows["prefill_request_id"].drop_nulls())


PAIRS = [(a, b) for a in SUBSETS for b in SUBSETS if a < b]


@pytest.mark.few(4)
@pytest.mark.parametrize(("fewer", "more"), PAIRS, ids=lambda hops: "+".join(sorted(hops)))
def test_adding_a_log_loses_no_request_and_clears_only_with_a_reason(
    by_subset: dict[frozenset[str], pl.DataFrame], fewer: set[str], more: set[str]
) -> None:
    before, after = by_subset[frozenset(fewer)], by_subset[frozenset(more)]
    assert known_ids(before) <= known_ids(after)
    was = set(before.filter(pl.col("tier").is_in(AFFECTED_TIERS))["request_id"])
    rows = after.filter(pl.col("request_id").is_in(was) | pl.col("prefill_request_id").is_in(was))
    for tier, reasons in rows.select("tier", "reasons").iter_rows():
        assert tier != "not_assessable"
        assert tier in AFFECTED_TIERS or CLEARING & set(reasons)


@pytest.mark.parametrize("hops", SUBSETS, ids=lambda hops: "+".join(sorted(hops)))
def test_what_is_affected_is_never_ruled_out_by_fewer_logs(
    by_subset: dict[frozenset[str], pl.DataFrame], hops: set[str]
) -> None:
    truth = by_subset[frozenset(HOPS)].filter(pl.col("tier") == "probable")
    rows = by_subset[frozenset(hops)]
    ids = [*truth["request_id"], *truth["prefill_request_id"].drop_nulls()]
    seen = rows.filter(
        pl.col("request_id").is_in(ids)
        & pl.col("transfer_id").is_in([*truth["transfer_id"], None], nulls_equal=True)
    )
    assert seen.height > 0
    assert "ruled_out" not in seen["tier"].to_list()
