"""Scrapes of /metrics: one pool a rank, whatever the order of lines and the number of scrapes."""

from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "_data" / "sources" / "sglang_json" / "metrics.prom"
NAME = "prefill-03/metrics.prom"


def gauge(name: str, value: str, rank: int | None = 0, at: str = "", **labels: str) -> str:
    known = {"engine_type": "prefill", "model_name": "m", "tp_rank": "0"} | labels
    if rank is not None:
        known["dp_rank"] = str(rank)
    text = ",".join(f'{key}="{label}"' for key, label in known.items())
    return f"sglang:{name}{{{text}}} {value}{at and ' ' + at}"


def pool(value: str, rank: int | None = 0, at: str = "", **labels: str) -> str:
    return gauge("max_total_num_tokens", value, rank, at, **labels)


@pytest.fixture
def rows(read):
    def run(*lines: str):
        seen = read("\n".join((*lines, "")), NAME, form="sglang-metrics")
        return seen, seen.capacity.to_dicts() if seen.reading.capacity else []

    return run


def test_each_rank_has_its_own_row(read):
    seen = read(SAMPLE.read_bytes(), NAME)
    assert seen.facts.format == "sglang-metrics"
    assert seen.facts.kept == 7
    assert seen.facts.ignored == {"comment": 10, "other metric": 3}
    assert [row["node"] for row in seen.capacity.to_dicts()] == [
        "prefill-03/dp0",
        "prefill-03/dp1",
    ]
    for row in seen.capacity.to_dicts():
        assert (row["pool_tokens"], row["page_tokens"]) == (40_960, 64)
        assert (row["context_tokens"], row["role"], row["disaggregated"]) == (
            65_536,
            "prefill",
            True,
        )
        assert (row["event"], row["effective_at"]) == ("began", 1_770_091_000_000_000)
        assert (row["engine"], row["source_node"]) == ("sglang", "prefill-03")


def test_without_ranks_it_is_the_servers(rows):
    for line in (pool("640", None), "sglang:max_total_num_tokens 640.0", "sglang_page_size{} 640"):
        _, (row,) = rows(line)
        assert row["node"] == "prefill-03"
        assert 640 in (row["pool_tokens"], row["page_tokens"])


def test_tensor_and_pipeline_ranks_share_a_pool_which_the_smallest_bounds(rows):
    _, (row,) = rows(pool("640"), pool("576", pp_rank="1"), pool("640", tp_rank="1"))
    assert row["pool_tokens"] == 576


def test_scrapes_one_after_the_other(rows):
    page = gauge("page_size", "64")
    seen, found = rows(pool("640"), page, pool("640"), page, pool("512"), page)
    assert [row["pool_tokens"] for row in found] == [640, 512]
    assert [row["page_tokens"] for row in found] == [64, 64]
    assert seen.facts.kept == 6


@pytest.mark.parametrize(
    ("at", "moment"),
    [
        ("1770091680123", 1_770_091_680_123_000),
        ("1770091680", 1_770_091_680_000_000),
        ("1770091680.5", 1_770_091_680_500_000),
    ],
)
def test_a_sample_may_have_its_time(rows, at, moment):
    _, (row,) = rows(pool("640", at=at), gauge("page_size", "64", at=at))
    assert (row["effective_at"], row["pool_tokens"], row["page_tokens"]) == (moment, 640, 64)


def test_with_times_a_lost_line_mixes_no_scrapes(rows):
    first, second = "1770091680000", "1770091740000"
    _, found = rows(
        gauge("page_size", "32", at=first),
        pool("512", at=second),
        gauge("page_size", "64", at=second),
    )
    assert [(row["pool_tokens"], row["page_tokens"]) for row in found] == [(None, 32), (512, 64)]


def test_samples_of_several_servers_are_not_pinned_on_one(rows):
    seen, found = rows(pool("640", instance="a:1"), pool("512", instance="b:1"))
    assert found == []
    assert seen.facts.ignored == {"sample of several servers": 2}
    _, (row,) = rows(pool("640", instance="a:1"))
    assert row["pool_tokens"] == 640


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "0.5", "1e300"])
def test_values_that_are_no_count(rows, value):
    seen, found = rows(pool(value), gauge("page_size", "64"))
    assert [row["pool_tokens"] for row in found] == [None]
    assert seen.facts.bad_values == {"pool_tokens": 1}


def test_times_that_are_none(rows):
    seen, (row,) = rows(pool("640", at="17"))
    assert row["effective_at"] is None
    assert seen.facts.bad_values == {"effective_at": 1}


@pytest.mark.parametrize(
    "line",
    [
        'sglang:max_total_num_tokens{dp_rank="0} 640',
        "sglang:max_total_num_tokens CANARY",
        'sglang:page_size{a="CANARY"} 64 17 CANARY',
        "sglang:context_len ",
    ],
)
def test_damaged_samples_are_unreadable(rows, line):
    seen, found = rows(pool("640"), line)
    assert len(found) == 1
    assert seen.reasons == {"sample not in a known form": 1}


def test_labels_are_no_place_for_content(rows):
    odd = {"engine_type": "CANARY", "model_name": r"CANARY \", dp_rank=\"7"}
    seen, (row,) = rows(pool("640", None, **odd))
    assert (row["node"], row["role"]) == ("prefill-03", None)
    assert "CANARY" not in repr(row) + repr(seen.facts)


def test_many_blocks_of_scrapes_are_one_history(rows):
    scrape = [f"# filler {'x' * 1000}", pool("640"), gauge("page_size", "64")]
    seen, found = rows(*scrape * 5000, pool("512"), gauge("page_size", "64"))
    assert [row["pool_tokens"] for row in found] == [640, 512]
    assert seen.facts.kept == 10_002


@pytest.mark.parametrize(
    "near",
    [
        "# HELP vllm:num_requests_running x\nvllm:num_requests_running 1\n",
        "# TYPE smg_requests_total counter\nsmg_requests_total 5\n",
        "the sglang:max_total_num_tokens was 640\n",
        "sglang: max_total_num_tokens 640\n",
    ],
)
def test_what_is_no_scrape_is_not_told_as_one(read, near):
    assert read(near).facts.format != "sglang-metrics"
