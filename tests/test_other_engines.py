"""One incident as spans, Dynamo, TensorRT-LLM, llm-d and LMCache tell it, alone and together.

Fourteen requests to a fleet with a pool of 40,000 tokens: three of them longer and answered
(3, 6, 9), one as long as the pool and one shorter by a token (5, 8), one refused with 400 (2)
and one with 503 (10). Each source tells a part of it, under ids of its own where it has some.
"""

import csv
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

import forensics

DATA = Path(__file__).parent / "_data" / "sources" / "other"
TRUTH = list(csv.DictReader((DATA / "truth.csv").open()))
OVERSIZE, BOUNDARY, REFUSED = {3, 6, 9}, {5, 8}, {2, 10}
DAY = (
    '[scope]\nwindow = ["2026-02-03T00:00:00Z", "2026-02-04T00:00:00Z"]\n[logs]\ntimezone = "UTC"\n'
)
POOL = '[[capacity]]\nnode = "*"\nrole = "prefill"\npool_tokens = 40000\ncontext_tokens = 131072\n'
SPANS, DYNAMO, EPP = "spans.jsonl", "dynamo.jsonl", "epp.log"
METRICS, TIMES, LOG = "perf_metrics.json", "rank_0_send.csv", "trtllm.log"
LOOKUPS, PREFILL = "lookup_hashes_20260203_120000_000000.jsonl", "prefill-7.log"
GATEWAY = "gateway.ndjson"
REQUESTS = (SPANS, DYNAMO, EPP, METRICS, TIMES, LOOKUPS)
_TRTLLM_ID = 700_000

Read = Callable[..., pl.DataFrame]


@pytest.fixture
def rows(tmp_path: Path) -> Read:
    """Judged requests of some of the files, with the number of each in the truth as ``i``."""

    def read(*names: str, incident: str = DAY) -> pl.DataFrame:
        asked = tmp_path / "incident.toml"
        asked.write_text(incident)
        case = forensics.read_logs(*(DATA / name for name in names), incident=asked)
        found = case.requests.polars()
        ids = zip(found["request_id"], found["prompt_tokens"], strict=True)
        return found.with_columns(i=pl.Series([number(*one) for one in ids], dtype=pl.Int64))

    return read


def number(request_id: str, prompt_tokens: int | None) -> int | None:
    """Which request of the truth a row is: by any of its ids, else by its length."""
    for row in TRUTH:
        own = str(_TRTLLM_ID + int(row["i"]))
        if request_id in (row["request_id"], row["dynamo_id"], own):
            return int(row["i"])
    return next((int(r["i"]) for r in TRUTH if int(r["prompt_tokens"]) == prompt_tokens), None)


def tiers(found: pl.DataFrame, *numbers: int) -> set[str]:
    return set(found.filter(pl.col("i").is_in(numbers))["tier"])


def affected(found: pl.DataFrame) -> set[int]:
    return set(found.filter(pl.col("tier").is_in(["possible", "probable"]))["i"])


@pytest.mark.parametrize("name", REQUESTS)
def test_alone_none_clears_what_was_served(rows: Read, name: str) -> None:
    served = rows(name).filter(~pl.col("i").is_in(REFUSED).fill_null(value=False))
    assert served.height == 12
    assert set(served["tier"]) <= {"possible", "not_assessable"}


@pytest.mark.parametrize("name", [SPANS, DYNAMO])
def test_lengths_and_a_declared_pool_find_them_and_class_the_boundary(
    rows: Read, name: str
) -> None:
    found = rows(name, incident=DAY + POOL)
    assert affected(found) == OVERSIZE
    assert tiers(found, *OVERSIZE) == {"possible"}
    assert tiers(found, *BOUNDARY) == {"ruled_out"}
    assert set(found.filter(pl.col("i").is_in(OVERSIZE))["rung"]) == {"delivered"}


def test_bytes_and_blocks_find_them_without_a_pool_or_a_length(rows: Read) -> None:
    found = rows(METRICS)
    assert affected(found) == OVERSIZE
    short = found.filter(pl.col("i").is_in(OVERSIZE))
    assert short["transferred_pages"].to_list() == [1, 1, 1]
    assert sorted(short["reserved_pages"]) == [1_251, 1_282, 1_625]
    for reasons in short["reasons"]:
        assert {"short_transfer", "transfer_calibrated", "delivery_unknown"} <= set(reasons)
    assert tiers(found, *BOUNDARY) == {"not_assessable"}


WITH_LENGTHS = (
    (SPANS, PREFILL),
    (DYNAMO, PREFILL),
    (LOOKUPS, PREFILL, GATEWAY),
    (EPP, GATEWAY, PREFILL),
    (DYNAMO, GATEWAY, PREFILL),
    (SPANS, GATEWAY, LOG),
    (SPANS, DYNAMO, LOG),
    (METRICS, GATEWAY, PREFILL),
    (SPANS, DYNAMO, EPP, METRICS, TIMES, LOOKUPS, GATEWAY, PREFILL, LOG),
)


@pytest.mark.few(4)
@pytest.mark.parametrize("names", WITH_LENGTHS, ids="+".join)
def test_together_with_a_logged_pool_they_find_them_all(rows: Read, names: tuple[str, ...]) -> None:
    found = rows(*names)
    assert affected(found) >= OVERSIZE
    assert affected(found) <= OVERSIZE | {None}
    unsaid = found.filter(pl.col("i").is_in(OVERSIZE) & (pl.col("tier") == "ruled_out"))
    assert unsaid.height == 0
    assert "possible" not in tiers(found, *BOUNDARY)


SOURCES = (*REQUESTS, GATEWAY, PREFILL)


@pytest.mark.long
@pytest.mark.parametrize("size", range(1, len(SOURCES) + 1))
@pytest.mark.parametrize("pool", ["", POOL], ids=["no pool", "declared"])
def test_no_combination_of_sources_clears_them_or_takes_a_refusal_for_an_answer(
    rows: Read, size: int, pool: str
) -> None:
    for names in combinations(SOURCES, size):
        found = rows(*names, incident=DAY + pool)
        over = found.filter(pl.col("i").is_in(OVERSIZE))
        assert "ruled_out" not in set(over["tier"]), names
        told = over.filter(pl.col("prompt_tokens").is_not_null() & pl.lit(bool(pool)))
        assert set(told["tier"]) <= {"probable", "possible"}, names
        assert "probable" not in tiers(found, *BOUNDARY), names
        refused = found.filter(pl.col("i").is_in(REFUSED))
        assert "delivered" not in set(refused["rung"]), names


@pytest.mark.few(3)
@pytest.mark.parametrize("more", [(), (SPANS,), (DYNAMO,), (EPP,), (LOOKUPS,), REQUESTS])
def test_refused_requests_are_not_delivered(rows: Read, more: tuple[str, ...]) -> None:
    found = rows(GATEWAY, PREFILL, *more)
    refused = found.filter(pl.col("i").is_in(REFUSED))
    assert set(refused["tier"]) == {"ruled_out"}
    assert all("not_delivered" in reasons for reasons in refused["reasons"])


def test_a_router_knows_its_own_refusal_and_its_tenant(rows: Read) -> None:
    (refused,) = rows(EPP).filter(i=10).to_dicts()
    assert (refused["tier"], refused["tenant_id"]) == ("ruled_out", "team-c")
    assert "not_delivered" in refused["reasons"]


def test_one_id_is_one_request_whoever_logged_it(rows: Read) -> None:
    # Dynamo names every other request by the client's id alone; the rest pairs by its size.
    assert rows(GATEWAY, EPP).height == 14
    assert rows(GATEWAY, LOOKUPS).height == 14
    assert rows(GATEWAY, DYNAMO).height == 14
    # Spans without an id (of OpenLLMetry, OpenInference) have a trace that nobody else logged:
    # they pair by their lengths.
    assert rows(GATEWAY, SPANS).height == 14


def test_a_worker_that_no_capacity_names_hides_no_limit(rows: Read) -> None:
    """Dynamo numbers its workers: a pool that another log has under a name still stands."""
    before, after = rows(GATEWAY, LOG), rows(GATEWAY, LOG, DYNAMO)
    assert affected(before) == affected(after) == OVERSIZE
    (named,) = after.filter(i=6).to_dicts()
    assert (named["prefill_node"], named["tier"]) == ("31/dp0", "possible")
    assert after.filter(i=8)["tier"].to_list() == ["not_assessable"]


def test_both_files_of_one_hand_off_are_one_request(rows: Read) -> None:
    found = rows(METRICS, TIMES)
    assert found.height == 12
    assert affected(found) == OVERSIZE


def test_tenants_are_taken_where_an_attribute_has_one_or_the_incident_says_so(rows: Read) -> None:
    found = rows(SPANS)
    named = found.drop_nulls("tenant_id")
    truth = {int(row["i"]): row["tenant"] for row in TRUTH}
    assert named.height == 7
    assert all(tenant == truth[i] for i, tenant in named.select("i", "tenant_id").iter_rows())
    nobody = rows(DYNAMO)
    assert nobody["tenant_id"].null_count() == 12
    session = '[logs]\ntenant_from = ["agent_context.session_id"]\n'
    stated = rows(DYNAMO, incident=session).drop_nulls("tenant_id")
    assert stated.height == 5
    assert all(tenant == truth[i] for i, tenant in stated.select("i", "tenant_id").iter_rows())


def test_the_order_of_files_and_lines_changes_nothing(rows: Read, tmp_path: Path) -> None:
    one = rows(*REQUESTS, PREFILL).drop("i")
    other = rows(*reversed((*REQUESTS, PREFILL))).drop("i")
    assert one.equals(other)
