"""What start lines, pool lines, quoted limits and snapshots say of one boot of a server."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
LOG, INFO, SCRAPE = (
    "prefill-01/sglang.log",
    "prefill-01/server_info.json",
    "prefill-01/metrics.prom",
)
UTC = '[logs]\ntimezone = "UTC"\n'
POOL, LIMIT = 681_280, 681_274
SECOND = 1_788_220_800
"""Epoch of 2026-09-01 00:00:00 UTC."""


def start(hour: int, mode: str = "prefill", page: int | None = 64) -> str:
    size = f", page_size={page}" if page else ""
    return (
        f"[2026-09-01 {hour:02}:00:00] server_args=ServerArgs(model_path='m', "
        f"disaggregation_mode='{mode}'{size})"
    )


def pool(hour: int, tokens: int) -> str:
    return (
        f"[2026-09-01 {hour:02}:01:00 DP0 TP0 EP0] max_total_num_tokens={tokens}, "
        "chunked_prefill_size=16384, max_prefill_tokens=16384, max_running_requests=32, "
        "context_len=1048576, available_gpu_mem=12.31 GB"
    )


def rank_pool(hour: int, rank: int, tokens: int) -> str:
    return (
        f"[2026-09-01 {hour:02}:01:00 DP{rank} TP{rank} EP{rank}] KV Cache is allocated. "
        f"#tokens: {tokens}, KV size: 37.48 GB"
    )


def truncated(hour: int, kept: int) -> str:
    return (
        f"[2026-09-01 {hour:02}:30:00 DP0 TP0 EP0] Request length is longer than the KV cache pool "
        f"size or the max context length. Truncated. len(req.origin_input_ids)=900000, "
        f"max_req_input_len={kept}."
    )


def info(limit: int | None = LIMIT, tokens: int = POOL, **values: Any) -> list[str]:
    told = {
        "disaggregation_mode": "prefill",
        "page_size": 64,
        "context_length": 1_048_576,
        "api_key": "CANARY-SECRET",
        "max_total_num_tokens": tokens,
        "max_req_input_len": limit,
        "internal_states": [{"memory_usage": {"token_capacity": tokens}}],
        "version": "0.5.19",
        **values,
    }
    return [json.dumps(told)]


def scrape(*pools: int) -> list[str]:
    labels = 'engine_type="prefill",model_name="m",tp_rank="0"'
    gauges = {"page_size": [64] * len(pools), "context_len": [1_048_576] * len(pools)}
    return [
        f'sglang:{gauge}{{dp_rank="{rank}",{labels}}} {value}.0'
        for gauge, values in {"max_total_num_tokens": pools, **gauges}.items()
        for rank, value in enumerate(values)
    ]


def request(hour: int, tokens: int, rank: int = 0, room: int = 0) -> str:
    room = 4_000_000_000_000_000_000 + (room or hour * 1_000_000 + tokens)
    return (
        f"[2026-09-01 {hour:02}:20:01 DP{rank} TP{rank} EP{rank}] ReqTimeStats(rid=p-{room}, "
        f"bootstrap_room={room}, input_len=1, cached_input_len=0, output_len=1, attempts=0, "
        "type=prefill): bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration="
        f"980.00ms, entry_time={SECOND + hour * 3_600 + 1_200}.000"
    )


def decoded(hour: int, tokens: int, room: int = 0) -> str:
    line = request(hour, tokens, room=room)
    line = line.replace("type=prefill", "type=decode").replace("rid=p-", "rid=d-")
    return line.replace("input_len=1,", f"input_len={tokens},").replace(
        "output_len=1", "output_len=9"
    )


def epochs(case: forensics.Case) -> pl.DataFrame:
    return case.analysis.capacity.epochs.select("node", "limit_low", "limit", "limit_basis")


def limits(case: forensics.Case) -> list[tuple[int | None, int | None]]:
    return list(epochs(case).select("limit_low", "limit").iter_rows())


def test_a_reported_limit_beats_the_formula_and_is_marked_inferred(node_logs: NodeLogs) -> None:
    logs = {LOG: [start(0), pool(0, POOL)]}
    assert limits(node_logs(logs, UTC)) == [(LIMIT, LIMIT)]
    case = node_logs(logs | {INFO: info(600_000)}, UTC)
    assert limits(case) == [(600_000, 600_000)]
    (row,) = case.capacity.polars().iter_rows(named=True)
    assert (row["limit_basis"], row["inferred"], row["engine_version"]) == (
        "reported",
        True,
        "0.5.19",
    )
    assert "CANARY" not in str(case.exposure())


def test_a_stated_threshold_beats_a_reported_limit(node_logs: NodeLogs) -> None:
    asked = UTC + "[trigger]\nthreshold_tokens = 681280\n"
    case = node_logs({LOG: [start(0)], INFO: info(600_000)}, asked)
    assert limits(case) == [(681_281, 681_281)]


def test_a_logged_pool_beats_a_declared_limit(node_logs: NodeLogs) -> None:
    asked = UTC + '[[capacity]]\nnode = "prefill-*"\ninput_limit_tokens = 1000\n'
    case = node_logs({LOG: [start(0), pool(0, POOL)]}, asked)
    # What was declared is left for the nodes of which no log tells a pool.
    assert limits(case) == [(1_000, 1_000), (LIMIT, LIMIT)]
    assert case.capacity.polars()["node"][0] == "prefill-*"


def test_a_snapshot_alone_is_known_for_all_ranks(node_logs: NodeLogs) -> None:
    lines = {LOG: [request(5, 700_000, rank=3)], "decode-01/sglang.log": [decoded(5, 700_000)]}
    case = node_logs(lines | {INFO: info()})
    row = case.requests.polars().row(0, named=True)
    assert row["input_limit_tokens"] == LIMIT
    (epoch,) = [e for e in case.exposure().epochs if e.node == "prefill-01"]
    assert (epoch.effective_at, epoch.role, epoch.page_tokens) == (None, "prefill", 64)
    assert epoch.limit_basis == "reported, of a boot whose start is not known"


TWO_BOOTS = [start(0), start(12)]


@pytest.mark.parametrize(("tokens", "tier"), [(599_999, "not_assessable"), (600_000, "possible")])
@pytest.mark.parametrize("hour", [5, 15])
def test_a_snapshot_of_one_of_several_boots_never_clears(
    node_logs: NodeLogs, tokens: int, tier: str, hour: int
) -> None:
    lines = {LOG: TWO_BOOTS, "decode-01/sglang.log": [decoded(hour, tokens)]}
    case = node_logs(lines | {INFO: info(600_000)}, UTC)
    assert limits(case)[-2:] == [(None, 600_000), (None, 600_000)]
    assert case.requests.polars()["tier"].item() == tier


def test_a_snapshot_belongs_to_the_boot_whose_pool_it_has(node_logs: NodeLogs) -> None:
    boots = [start(0), pool(0, POOL), start(12), pool(12, 500_032)]
    case = node_logs({LOG: boots, INFO: info(600_000)}, UTC)
    assert limits(case) == [(600_000, 600_000), (500_026, 500_026)]


def test_boots_of_one_pool_hold_both_readings_where_they_differ(node_logs: NodeLogs) -> None:
    boots = [start(0), pool(0, POOL), start(12), pool(12, POOL)]
    lines = {LOG: boots, "decode-01/sglang.log": [decoded(5, 650_000), decoded(15, 599_999)]}
    case = node_logs(lines | {INFO: info(600_000)}, UTC)
    assert epochs(case).filter(node="prefill-01")["limit_basis"].unique().to_list() == [
        "readings differ, from 600000"
    ]
    rows = case.requests.polars().sort("prompt_tokens")
    assert rows["tier"].to_list() == ["ruled_out", "possible"]
    assert rows["reasons"].to_list() == [["below_limit"], ["limit_uncertain"]]
    same = node_logs({LOG: boots, INFO: info(LIMIT)}, UTC)
    assert set(limits(same)) == {(LIMIT, LIMIT)}


def test_a_snapshot_with_a_start_time_belongs_to_that_boot(node_logs: NodeLogs) -> None:
    told = info(600_000, startup_time=SECOND + 13 * 3_600)
    case = node_logs({LOG: TWO_BOOTS, INFO: told}, UTC)
    assert limits(case)[-1] == (600_000, 600_000)
    assert (600_000, 600_000) not in limits(case)[:-1]


def test_ranks_that_agree_are_one_row_and_ranks_that_differ_span(node_logs: NodeLogs) -> None:
    assert limits(node_logs({SCRAPE: scrape(POOL, POOL)})) == [(LIMIT, LIMIT)]
    case = node_logs({SCRAPE: scrape(POOL, 500_032)})
    assert epochs(case).select("node", "limit_low", "limit").rows() == [
        ("prefill-01", 500_026, LIMIT),
        ("prefill-01/dp0", LIMIT, LIMIT),
        ("prefill-01/dp1", 500_026, 500_026),
    ]


def test_a_limit_that_one_scheduler_reported_is_not_that_of_a_rank_of_another_pool(
    node_logs: NodeLogs,
) -> None:
    case = node_logs({INFO: info(600_000), SCRAPE: scrape(POOL, 500_032)})
    assert epochs(case).select("node", "limit_low", "limit").rows() == [
        ("prefill-01", 500_026, LIMIT),
        ("prefill-01/dp0", LIMIT, LIMIT),
        ("prefill-01/dp1", 500_026, 500_026),
    ]


def test_each_rank_is_judged_by_its_own_pool(node_logs: NodeLogs) -> None:
    prefill = [request(5, 0, rank=0, room=1_000), request(5, 0, rank=1, room=2_000)]
    prefill = [line.replace("input_len=1,", "input_len=550000,") for line in prefill]
    lines = {LOG: prefill, SCRAPE: scrape(POOL, 500_032)}
    rows = node_logs(lines).requests.polars().sort("prefill_node")
    assert rows["input_limit_tokens"].to_list() == [LIMIT, 500_026]


def test_a_rank_that_names_more_than_its_server_may_have_either_pool(node_logs: NodeLogs) -> None:
    lines = [start(0), rank_pool(0, 0, POOL), rank_pool(0, 0, 9_000), rank_pool(0, 1, POOL)]
    pools = node_logs({LOG: lines}, UTC).capacity.polars()["pool_tokens"].to_list()
    assert pools == [POOL]
    case = node_logs({LOG: [*lines, pool(0, 600_064)]}, UTC)
    assert set(case.capacity.polars()["pool_tokens"]) == {600_064}
    assert set(limits(case)) == {(600_058, POOL - 6)}


def test_a_truncation_line_quotes_the_limit_and_the_setting(node_logs: NodeLogs) -> None:
    case = node_logs({LOG: [start(0), truncated(0, LIMIT)]}, UTC)
    (row,) = case.capacity.polars().iter_rows(named=True)
    assert (row["input_limit_tokens"], row["auto_truncate"], row["inferred"]) == (LIMIT, True, True)
    assert row["limit_basis"] == "quoted in a truncation"


def test_the_basis_names_the_lines_that_quote_the_limit(node_logs: NodeLogs) -> None:
    refused = (
        f"[2026-09-01 00:40:00 DP0 TP0 EP0] Input length (700000 tokens) exceeds the maximum "
        f"allowed length ({LIMIT} tokens). Use a shorter input or enable --allow-auto-truncate., "
        "self.rid='r'"
    )
    for lines, basis in (
        ([], "a rejection"),
        ([truncated(0, LIMIT)], "a rejection and a truncation"),
    ):
        told = node_logs({LOG: [start(0), *lines, refused]}, UTC).capacity.polars()
        assert told["limit_basis"].to_list() == [f"quoted in {basis}"]


def test_limits_that_differ_within_a_boot_span(node_logs: NodeLogs) -> None:
    case = node_logs({LOG: [start(0), truncated(0, LIMIT), truncated(1, 500_026)]}, UTC)
    assert limits(case) == [(500_026, LIMIT)]


def test_start_and_snapshot_that_contradict_leave_a_value_unknown(node_logs: NodeLogs) -> None:
    case = node_logs({LOG: [start(0, page=1), pool(0, POOL)], INFO: info()}, UTC)
    assert case.capacity.polars()["page_tokens"].to_list() == [None]


def test_a_scrape_of_one_of_several_boots_accuses_by_its_largest_pool(node_logs: NodeLogs) -> None:
    case = node_logs({LOG: TWO_BOOTS, SCRAPE: scrape(POOL, 500_032)}, UTC)
    assert limits(case) == [(None, LIMIT), (None, LIMIT)]


def test_the_order_of_files_changes_no_epoch(node_logs: NodeLogs) -> None:
    lines, told = [start(0), pool(1, POOL)], {INFO: info(600_000), SCRAPE: scrape(POOL, 500_032)}
    first, last = "prefill-01/log.log", "prefill-01/stdout.log"
    one, two = node_logs(told | {first: lines}, UTC), node_logs(told | {last: lines[::-1]}, UTC)
    assert epochs(one).height == 3
    assert epochs(one).equals(epochs(two))
