"""Fewer pages than the prompt fills: prefixes that decode kept, or pages that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import forensics

NodeLogs = Callable[..., forensics.Case]
UTC = '[logs]\ntimezone = "UTC"\n'
SECOND = 1_788_220_800
"""Epoch of 2026-09-01 00:00:00 UTC."""
PAGE_MB = 3.75
SIZES = (2_000, 5_000, 900, 12_000, 700, 33_000, 4_100)


def start(mode: str, setting: str = "") -> list[str]:
    at = "[2026-09-01 00:00:00"
    args = f"{at}] server_args=ServerArgs(disaggregation_mode='{mode}', page_size=64{setting})"
    pool = (
        f"{at} DP0 TP0 EP0] max_total_num_tokens=681280, chunked_prefill_size=16384, "
        "max_prefill_tokens=16384, max_running_requests=32, context_len=1048576, "
        "available_gpu_mem=12.31 GB"
    )
    return [args, pool]


def line(side: str, room: int, tokens: int, sent: int | None = None) -> str:
    told = f", transfer_speed=0.41 GB/s, transfer_total={(sent or 0) * PAGE_MB:.2f} MB"
    return (
        f"[2026-09-01 01:{room:02}:02 DP0 TP0 EP0] ReqTimeStats(rid={side}-{room}, "
        f"bootstrap_room={5_000_000_000 + room}, input_len={tokens}, cached_input_len=0, "
        f"output_len={1 if side == 'prefill' else 9}, attempts=0, type={side}): "
        "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=980.00ms, "
        f"entry_time={SECOND + 3_600 + room * 60}.000{told if side == 'prefill' else ''}"
    )


def judged(node_logs: NodeLogs, sent: int, decode: list[str]) -> tuple[str, list[str]]:
    """Tier and reasons of a prompt of 79 pages of which so many were sent, beside healthy ones."""
    healthy = list(enumerate(SIZES))
    prefill = [line("prefill", room, size, -(-size // 64)) for room, size in healthy]
    others = [line("decode", room, size) for room, size in healthy]
    logs = {
        "prefill-01/sglang.log": [*start("prefill"), *prefill, line("prefill", 50, 5_000, sent)],
        "decode-01/sglang.log": [*decode, *others, line("decode", 50, 5_000)],
    }
    rows = node_logs(logs, UTC).requests.polars()
    others = rows.filter(rows["request_id"] != "decode-50")
    assert set(others["tier"]) == {"ruled_out"}
    (row,) = rows.filter(request_id="decode-50").iter_rows(named=True)
    return row["tier"], row["reasons"]


ON = ", disaggregation_decode_enable_radix_cache=True"
OFF = ", disaggregation_decode_enable_radix_cache=False"
CLEARED = ["below_limit", "same_count", "transfer_calibrated"]


@pytest.mark.parametrize("decode", [[], start("decode")], ids=["no settings", "not among them"])
def test_where_no_setting_tells_of_a_cache_a_short_transfer_is_possible(
    node_logs: NodeLogs, decode: list[str]
) -> None:
    found = judged(node_logs, 16, decode)
    assert found == ("possible", ["same_count", "short_unless_cached", "transfer_calibrated"])


def test_a_cache_that_is_on_may_have_held_the_rest(node_logs: NodeLogs) -> None:
    assert judged(node_logs, 16, start("decode", ON)) == ("ruled_out", CLEARED)


def test_without_a_cache_the_pages_are_lacking(node_logs: NodeLogs) -> None:
    tier, reasons = judged(node_logs, 16, start("decode", OFF))
    assert (tier, "short_transfer" in reasons) == ("probable", True)


def test_a_whole_transfer_is_cleared_whatever_the_settings(node_logs: NodeLogs) -> None:
    assert judged(node_logs, 79, []) == ("ruled_out", CLEARED)


def test_a_snapshot_of_another_boot_tells_nothing_of_the_cache(node_logs: NodeLogs) -> None:
    """The cache was on when it was asked: that is after the requests, and of no known start."""
    healthy = list(enumerate(SIZES))
    told = (
        '{"disaggregation_mode": "decode", "page_size": 64, "max_total_num_tokens": 681280, '
        '"max_req_input_len": 681274, "internal_states": [], '
        '"disaggregation_decode_enable_radix_cache": true, "version": "0.5.23"}'
    )
    logs = {
        "prefill-01/sglang.log": [
            *start("prefill"),
            *(line("prefill", room, size, -(-size // 64)) for room, size in healthy),
            line("prefill", 50, 5_000, 16),
        ],
        "decode-01/sglang.log": [line("decode", room, size) for room, size in healthy]
        + [line("decode", 50, 5_000)],
        "decode-01/server_info.json": [told],
    }
    rows = node_logs(logs, UTC).requests.polars().filter(request_id="decode-50")
    assert rows["tier"].to_list() == ["possible"]
