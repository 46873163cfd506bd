"""Snapshots and quoted limits of a boot whose start no log has: what they do not show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
LOG, INFO, SCRAPE = (
    "prefill-01/sglang.log",
    "prefill-01/server_info.json",
    "prefill-01/metrics.prom",
)
DECODE = "decode-01/sglang.log"
SECOND = 1_788_220_800
"""Epoch of 2026-09-01 00:00:00 UTC."""
UTC = '[logs]\ntimezone = "UTC"\n'
LARGE, SMALL = 1_160_000, 681_280
LONG, ROOM = 700_000, 4_000_000_000_000_000_000


def info(**values: Any) -> list[str]:
    told = {
        "disaggregation_mode": "prefill",
        "page_size": 64,
        "context_length": 1_048_576,
        "max_total_num_tokens": LARGE,
        "max_req_input_len": 1_048_570,
        "internal_states": [{"memory_usage": {"token_capacity": LARGE}}],
        "version": "0.5.23",
        **values,
    }
    return [json.dumps(told)]


def scrape(hour: int | None = None, began: int | None = None) -> list[str]:
    labels = '{engine_type="prefill",model_name="m",tp_rank="0",dp_rank="0"}'
    at = "" if hour is None else f" {(SECOND + hour * 3_600) * 1_000}"
    gauges = {"max_total_num_tokens": LARGE, "page_size": 64, "context_len": 1_048_576}
    lines = [f"sglang:{name}{labels} {value}.0{at}" for name, value in gauges.items()]
    if began is not None:
        lines.append(f"process_start_time_seconds {(SECOND + began * 3_600) / 1e9:.9f}e+09{at}")
    return lines


def decoded(hour: int, tokens: int = LONG) -> str:
    return (
        f"[2026-09-01 {hour:02}:20:01 DP0 TP0 EP0] ReqTimeStats(rid=d-{hour}, "
        f"bootstrap_room={ROOM + hour}, input_len={tokens}, cached_input_len=0, output_len=9, "
        "attempts=0, type=decode): bootstrap_duration=15.00ms, queue_duration=5.00ms, "
        f"forward_duration=980.00ms, entry_time={SECOND + hour * 3_600 + 1_200}.000"
    )


def worked(hour: int) -> str:
    return (
        f"[2026-09-01 {hour:02}:01:00 DP0 TP0 EP0] Prefill batch, #new-seq: 1, #new-token: 64, "
        "#cached-token: 0, token usage: 0.04, #running-req: 0, #queue-req: 0, #pending-token: 0, "
        "#bootstrap-req: 0, #inflight-req: 2, cuda graph: False, input throughput (token/s): 980.06"
    )


def refused(hour: int, limit: int) -> str:
    return (
        f"[2026-09-01 {hour:02}:10:00 DP0 TP0 EP0] Input length (1048571 tokens) exceeds the "
        f"maximum allowed length ({limit} tokens). Use a shorter input or enable "
        f"--allow-auto-truncate., self.rid='r-{hour}'"
    )


def tiers(case: forensics.Case) -> dict[int, str]:
    """Tier of each long prompt by the hour in which it came."""
    rows = case.requests.polars().filter(decode_prompt_tokens=LONG)
    hours = rows["received_at"].dt.hour()
    return dict(sorted(zip(hours, rows["tier"], strict=True)))


HOURS = (3, 9, 15)
ASKED = {DECODE: [decoded(hour) for hour in HOURS]}
UNKNOWN = "not_assessable"


@pytest.mark.parametrize(
    "snapshot", [{INFO: info()}, {INFO: info(startup_time=45.2)}, {SCRAPE: scrape()}]
)
def test_a_snapshot_without_a_time_clears_nobody(
    node_logs: NodeLogs, snapshot: dict[str, list[str]]
) -> None:
    case = node_logs(ASKED | snapshot, UTC)
    assert set(tiers(case).values()) == {UNKNOWN}
    assert {";".join(row) for row in case.requests.polars()["reasons"]} == {"start_unseen"}


def test_at_the_limit_of_a_snapshot_it_is_possible_all_the_same(node_logs: NodeLogs) -> None:
    case = node_logs({DECODE: [decoded(3, 1_048_570)], INFO: info()}, UTC)
    assert case.requests.polars()["tier"].to_list() == ["possible"]


@pytest.mark.parametrize(
    "snapshot",
    [
        {INFO: info(startup_time=SECOND + 6 * 3_600)},
        {SCRAPE: scrape(began=6)},
        {SCRAPE: scrape(hour=20, began=6)},
        {SCRAPE: scrape(hour=6)},
    ],
    ids=["startup time", "process start", "process start of a dated scrape", "dated scrape"],
)
def test_a_snapshot_clears_from_when_its_boot_is_known_on(
    node_logs: NodeLogs, snapshot: dict[str, list[str]]
) -> None:
    assert tiers(node_logs(ASKED | snapshot, UTC)) == {3: UNKNOWN, 9: "ruled_out", 15: "ruled_out"}


BUSY = {LOG: [worked(hour) for hour in range(8, 24)]}
LATER = {DECODE: [decoded(hour) for hour in (9, 15)]}


def test_a_log_without_a_start_shows_that_the_boot_of_a_dated_scrape_ran(
    node_logs: NodeLogs,
) -> None:
    case = node_logs(LATER | BUSY | {SCRAPE: scrape(hour=14)}, UTC)
    assert tiers(case) == {9: "ruled_out", 15: "ruled_out"}
    alone = node_logs(LATER | {SCRAPE: scrape(hour=14)}, UTC)
    assert tiers(alone) == {9: UNKNOWN, 15: "ruled_out"}


def test_a_log_that_ended_before_a_scrape_shows_nothing_of_its_boot(node_logs: NodeLogs) -> None:
    log = {LOG: [worked(hour) for hour in range(8, 12)]}
    first = {DECODE: [decoded(9)]}
    assert tiers(node_logs(first | log | {SCRAPE: scrape(hour=14)}, UTC)) == {9: UNKNOWN}


def test_a_quoted_limit_holds_since_the_log_that_quotes_it_begins(node_logs: NodeLogs) -> None:
    case = node_logs(LATER | {LOG: [*BUSY[LOG], refused(12, 1_048_570)]}, UTC)
    assert tiers(case) == {9: "ruled_out", 15: "ruled_out"}
    early = node_logs({DECODE: [decoded(7)], LOG: [*BUSY[LOG], refused(12, 1_048_570)]}, UTC)
    assert tiers(early) == {7: UNKNOWN}


def test_a_pool_that_is_printed_begins_a_boot(node_logs: NodeLogs) -> None:
    """The start line was lost with the log before it: what ran until then had another pool."""
    pool = (
        f"[2026-09-01 12:01:00 DP0 TP0 EP0] max_total_num_tokens={LARGE}, chunked_prefill_size=1, "
        "max_prefill_tokens=16384, max_running_requests=32, context_len=1048576, "
        "available_gpu_mem=12.31 GB"
    )
    case = node_logs(LATER | {LOG: [*BUSY[LOG], pool]}, UTC)
    assert tiers(case) == {9: UNKNOWN, 15: "ruled_out"}


def test_a_process_that_began_with_a_logged_start_is_of_that_boot(node_logs: NodeLogs) -> None:
    start = "[2026-09-01 06:01:30] server_args=ServerArgs(disaggregation_mode='prefill')"
    case = node_logs(ASKED | {LOG: [start], SCRAPE: scrape(began=6)}, UTC)
    own = case.capacity.polars().filter(node="prefill-01")
    assert own["effective_at"].dt.strftime("%H:%M:%S").to_list() == ["06:01:30"]
    assert own["pool_tokens"].to_list() == [LARGE]


@pytest.mark.parametrize(("pool", "tier"), [(LARGE, "ruled_out"), (SMALL, "possible")])
def test_what_is_declared_stands_before_a_snapshot(
    node_logs: NodeLogs, pool: int, tier: str
) -> None:
    asked = UTC + f'[[capacity]]\nnode = "prefill-*"\nrole = "prefill"\npool_tokens = {pool}\n'
    assert set(tiers(node_logs(ASKED | {INFO: info()}, asked)).values()) == {tier}
