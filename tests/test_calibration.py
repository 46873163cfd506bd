"""Pages from megabytes: from healthy requests of the same engine, and never to clear anyone."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import calibration
from forensics.findings import FINDINGS

NodeLogs = Callable[..., forensics.Case]
RATE = 3.7514
SECOND = 1_788_264_000
"""Epoch of 2026-09-01 12:00:00 UTC."""
ROOM = 4_000_000_000_000_000_000
PREFILL_START = (
    "[2026-09-01 00:00:00] server_args=ServerArgs(model_path='m', disaggregation_mode='prefill', "
    "page_size=64)"
)


def stats(number: int, tokens: int, side: str, sent: float | None = None, rank: int = 1) -> str:
    total = "" if sent is None else f", transfer_speed=1.00 GB/s, transfer_total={sent:.2f} MB"
    return (
        f"[2026-09-01 12:00:{number % 60:02} DP{rank} TP{rank} EP{rank}] "
        f"ReqTimeStats(rid={side}-{number}, bootstrap_room={ROOM + number}, input_len={tokens}, "
        f"cached_input_len=0, output_len=40, attempts=0, type={side}): "
        "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=80.00ms, "
        f"entry_time={SECOND + number}.000{total}"
    )


def megabytes(pages: int) -> float:
    return pages * RATE


def healthy(*prompts: int, rank: int = 1, rate: float = RATE) -> list[str]:
    return [
        stats(number, tokens, "prefill", -(-tokens // 64) * rate, rank)
        for number, tokens in enumerate(prompts)
    ]


ENOUGH = (912, 1_830, 25_000, 33_000, 118_000)
STUB = stats(50, 1, "prefill", megabytes(1))


def pages_of(case: forensics.Case) -> dict[int, int | None]:
    rows = case.analysis.requests.select("prefill_prompt_tokens", "transferred_pages")
    return dict(rows.iter_rows())


@pytest.mark.parametrize("start", [[PREFILL_START], []], ids=["page known", "page unknown"])
def test_pages_follow_from_the_rate_of_healthy_requests(
    node_logs: NodeLogs, start: list[str]
) -> None:
    case = node_logs({"prefill-01": [*start, *healthy(*ENOUGH), STUB]})
    assert pages_of(case) == {912: 15, 1_830: 29, 25_000: 391, 33_000: 516, 118_000: 1_844, 1: 1}
    reasons = case.requests.polars()["reasons"].to_list()
    assert all("transfer_calibrated" in found for found in reasons)
    assert "transfer_calibrated" in {item.code for item in case.exposure().limitations}


def test_fewer_than_five_healthy_requests_give_no_rate(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(*ENOUGH[:4]), STUB]})
    assert set(pages_of(case).values()) == {None}


def test_requests_of_fewer_than_eight_pages_give_no_rate(node_logs: NodeLogs) -> None:
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(64, 128, 192, 256, 448), STUB]})
    assert set(pages_of(case).values()) == {None}


def test_rates_that_differ_give_none(node_logs: NodeLogs) -> None:
    lines = [*healthy(*ENOUGH[:4]), stats(9, 118_000, "prefill", megabytes(1_800))]
    case = node_logs({"prefill-01": [PREFILL_START, *lines, STUB]})
    assert set(pages_of(case).values()) == {None}


def test_a_short_transfer_that_looks_healthy_takes_no_rate_away(node_logs: NodeLogs) -> None:
    """Both sides count the prompt in full: only the megabytes show that one page arrived."""
    short = stats(9, 24_000, "prefill", megabytes(1))
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(*ENOUGH), short]})
    assert pages_of(case)[24_000] == 1
    assert pages_of(case)[25_000] == 391


def test_where_a_third_of_the_rates_differ_there_is_none(node_logs: NodeLogs) -> None:
    short = [stats(n, 24_000 + n, "prefill", megabytes(n)) for n in (9, 10, 11)]
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(*ENOUGH), *short]})
    assert set(pages_of(case).values()) == {None}


def test_where_rates_differ_a_little_large_transfers_stay_unknown(node_logs: NodeLogs) -> None:
    lines = [*healthy(*ENOUGH[:4]), stats(9, 118_000, "prefill", megabytes(1_844) * 1.01)]
    # By chance a whole number of pages at the rate in the middle.
    lines.append(stats(10, 64_000, "prefill", megabytes(1_000) * 1.005))
    pages = pages_of(node_logs({"prefill-01": [PREFILL_START, *lines, STUB]}))
    assert pages[1] == 1
    assert (pages[64_000], pages[118_000]) == (None, None)


@pytest.mark.parametrize(("sent", "pages"), [(1.04, 1), (1.06, None), (0.4, None), (2_000.5, None)])
def test_what_is_no_whole_number_of_pages_stays_unknown(
    node_logs: NodeLogs, sent: float, pages: int | None
) -> None:
    lines = [PREFILL_START, *healthy(*ENOUGH), stats(50, 1, "prefill", sent * RATE)]
    assert pages_of(node_logs({"prefill-01": lines}))[1] == pages


def test_ranks_of_a_server_share_a_rate_where_one_has_too_few(node_logs: NodeLogs) -> None:
    lines = [*healthy(*ENOUGH), stats(50, 1, "prefill", megabytes(1), rank=4)]
    assert pages_of(node_logs({"prefill-01": [PREFILL_START, *lines]}))[1] == 1
    elsewhere = {
        "prefill-01": [PREFILL_START, *healthy(*ENOUGH)],
        "prefill-02": [PREFILL_START, STUB],
    }
    assert pages_of(node_logs(elsewhere))[1] is None


def test_a_rank_with_enough_of_its_own_has_its_own_rate(node_logs: NodeLogs) -> None:
    other = [line.replace("-01 12:", "-01 13:") for line in healthy(*ENOUGH, rank=2, rate=2.5)]
    other = [
        line.replace(f"_room={ROOM}", f"_room={ROOM + 900}").replace("rid=prefill-", "rid=other-")
        for line in other
    ]
    renamed = [line.replace(f"={ROOM + n},", f"={ROOM + 900 + n},") for n, line in enumerate(other)]
    stub = stats(50, 1, "prefill", 2.5, rank=2)
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(*ENOUGH), *renamed, stub]})
    assert pages_of(case)[1] == 1


def test_a_rate_ends_with_its_boot(node_logs: NodeLogs) -> None:
    restart = PREFILL_START.replace("00:00:00", "12:00:40")
    case = node_logs({"prefill-01": [PREFILL_START, *healthy(*ENOUGH), restart, STUB]})
    assert pages_of(case)[1] is None


def test_requests_whose_sides_differ_give_no_rate(node_logs: NodeLogs) -> None:
    decode = [stats(0, 5_000, "decode")]
    lines = {"prefill-01": [PREFILL_START, *healthy(*ENOUGH), STUB], "decode-01": decode}
    assert set(pages_of(node_logs(lines)).values()) == {None}


def decode_epoch(config: str | None, engine: str = "sglang") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "node": ["decode-01"],
            "effective_at": [0],
            "engine": [engine],
            "config": [config],
            "page_tokens": [64],
        },
        schema_overrides={"config": pl.String},
    )


OFF = "disaggregation_decode_enable_radix_cache=False"


def handed_off(**values: Any) -> pl.DataFrame:
    row = {
        "prefill_node": "prefill-01",
        "decode_node": "decode-01",
        "received_at": 10,
        "decode_prompt_tokens": 701_234,
        "prefill_page_tokens": None,
        "decode_page_tokens": 64,
        **values,
    }
    return pl.DataFrame([row], schema_overrides={"reserved_pages": pl.Int64})


@pytest.mark.parametrize(
    ("epoch", "reserved"),
    [
        (decode_epoch(f"dp_size=8;{OFF}"), 10_957),
        (decode_epoch(OFF.replace("False", "True")), None),
        (decode_epoch("dp_size=8"), None),
        (decode_epoch(None), None),
        (decode_epoch(OFF, engine="other"), None),
    ],
)
def test_reserved_pages_follow_only_where_decodes_own_cache_is_off(
    epoch: pl.DataFrame, reserved: int | None
) -> None:
    found = calibration.fill(handed_off(), epoch)
    pages = found["reserved_pages"].item() if "reserved_pages" in found.columns else None
    assert pages == reserved


@pytest.mark.parametrize(
    ("setting", "pages"),
    [
        (", disaggregation_decode_enable_radix_cache=False", [2, 391]),
        (", disaggregation_decode_enable_radix_cache=True", [None, None]),
        ("", [None, None]),
    ],
    ids=["off", "on", "not logged"],
)
def test_the_setting_is_read_from_the_start_of_the_decode_node(
    setting: str, pages: list[int | None], node_logs: NodeLogs
) -> None:
    start = (
        "[2026-09-01 00:00:00] server_args=ServerArgs(model_path='m', "
        f"disaggregation_mode='decode', page_size=64{setting})"
    )
    served = [
        f"[2026-09-01 12:00:0{n + 1}] ReqTimeStats(rid=d-{n}, bootstrap_room={ROOM + n}, "
        f"input_len={tokens}, cached_input_len=0, output_len=40, attempts=0, type=decode): "
        f"bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=980.00ms, "
        f"entry_time={SECOND + n}.000"
        for n, tokens in enumerate((65, 25_000))
    ]
    rows = node_logs({"decode-01": [start, *served]}).not_assessable.polars()
    assert rows.sort("prompt_tokens")["reserved_pages"].to_list() == pages


def test_logged_counts_stand() -> None:
    rows = pl.concat(
        handed_off(
            prefill_prompt_tokens=tokens,
            decode_prompt_tokens=tokens,
            prefill_page_tokens=64,
            transfer_mb=megabytes(-(-tokens // 64)),
            transferred_pages=3 if tokens == 912 else None,
            reserved_pages=12 if tokens == 912 else None,
        ).cast({"prefill_page_tokens": pl.Int64, "transferred_pages": pl.Int64})
        for tokens in ENOUGH
    )
    found = calibration.fill(rows, decode_epoch(OFF))
    assert found["transferred_pages"].to_list() == [3, 29, 391, 516, 1_844]
    assert found["reserved_pages"].to_list() == [12, 29, 391, 516, 1_844]
    assert found["transfer_calibrated"].to_list() == [False, True, True, True, True]


def test_calibrated_pages_may_accuse_and_never_clear() -> None:
    rows = pl.DataFrame(
        {
            "request_id": ["full", "short", "logged"],
            "reserved_pages": [15, 15, 15],
            "transferred_pages": [15, 1, 15],
            "transfer_calibrated": [True, True, False],
        }
    )
    full, short = (found for found in FINDINGS if found.code in CODES)
    flags = rows.with_columns(
        page_tokens=64,
        reserved_tokens=pl.lit(None, dtype=pl.Int64),
        transferred_tokens=pl.lit(None, dtype=pl.Int64),
    ).select(full=full.expression, short=short.expression)
    assert flags["full"].to_list() == [False, False, True]
    assert flags["short"].to_list() == [False, True, False]


CODES = ("full_transfer", "short_transfer")
