"""What a server's log tells holds for a rank that has records of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics

CaseOf = Callable[..., forensics.Case]
DAY = "2026-09-01"
RANK: dict[str, Any] = {
    "node": "prefill-01/dp0", "role": "prefill", "engine": "sglang", "disaggregated": True,
    "pool_tokens": 122_880, "page_tokens": 64, "context_tokens": 65_536,
}  # fmt: skip
SERVER = RANK | {"node": "prefill-01"}
SETTINGS = {"model_path": "/m", "context_length": 65_536, "page_size": 64}


def at(hour: int, row: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"effective_at": f"{DAY}T{hour:02}:00:00Z"} | row | more


def request(hour: int, prompt: int) -> dict[str, Any]:
    return {
        "request_id": f"r{hour:02}", "tenant_id": "t", "received_at": f"{DAY}T{hour:02}:00:00Z",
        "finished_at": f"{DAY}T{hour:02}:00:09Z", "prefill_node": "prefill-01/dp0",
        "decode_node": "decode-01/dp0", "prompt_tokens": prompt, "completion_tokens": 5,
        "http_status": 200,
    }  # fmt: skip


def started(hour: int, pool: int) -> str:
    """Return what a server writes as it starts."""
    settings = SETTINGS | {"disaggregation_mode": "prefill", "dp_size": 1}
    return (
        f"[{DAY} {hour:02}:00:00] server_args={settings}\n"
        f"[{DAY} {hour:02}:00:30 DP0 TP0] max_total_num_tokens={pool}, "
        "chunked_prefill_size=16384, max_prefill_tokens=16384, max_running_requests=32, "
        "context_len=65536, available_gpu_mem=10.0 GB\n"
        f"[{DAY} {hour:02}:00:40] The server is fired up and ready to roll!\n"
    )


def tiers(case: forensics.Case) -> dict[str, str]:
    return dict(case.requests.polars().select("request_id", "tier").iter_rows())


@pytest.mark.parametrize("own", [[], [at(1, RANK)]], ids=["server alone", "rank as well"])
def test_a_start_in_the_servers_log_is_one_of_a_rank_with_a_record(
    tmp_path: Path, own: list[dict[str, Any]]
) -> None:
    rows = [*own, request(3, 50_000), request(8, 50_000), request(9, 1_000)]
    (tmp_path / "prefill-01.log").write_text(started(1, 122_880) + started(6, 40_960))
    (tmp_path / "rows.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    incident = tmp_path / "incident.toml"
    incident.write_text('[logs]\ntimezone = "UTC"\n')
    case = forensics.read_logs(
        tmp_path / "prefill-01.log", tmp_path / "rows.ndjson", incident=incident
    )
    assert tiers(case) == {"r03": "ruled_out", "r08": "possible", "r09": "ruled_out"}
    rank = case.capacity.polars().filter(pl.col("node") == "prefill-01/dp0")
    # Told of both at one moment, the rank's own stands alone.
    assert rank["pool_tokens"].to_list() == ([122_880, 40_960] if own else [])


def test_a_record_of_a_server_clears_nobody_by_a_pool_that_its_rank_denies(
    case_of: CaseOf,
) -> None:
    small = RANK | {"pool_tokens": 40_960}
    rows = [request(3, 50_000), request(8, 50_000)]
    case = case_of(at(1, small), at(6, SERVER), *rows)
    assert tiers(case) == {"r03": "possible", "r08": "possible"}
    other = case_of(at(1, RANK), at(6, SERVER | {"pool_tokens": 40_960}), *rows)
    assert tiers(other) == {"r03": "ruled_out", "r08": "possible"}


def test_a_record_of_a_rank_has_what_it_leaves_out_from_its_server(case_of: CaseOf) -> None:
    little = {"node": "prefill-01/dp0", "engine_version": "0.5.19"}
    case = case_of(at(1, SERVER), at(2, little), request(3, 50_000), request(4, 70_000))
    assert tiers(case) == {"r03": "ruled_out", "r04": "possible"}
