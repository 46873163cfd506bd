"""What this project writes of judged requests is no log, wherever it lies among logs."""

import json
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics.sources.howmany import RESULT

REQUEST = {
    "request_id": "a", "hop": "gateway", "received_at": "2026-03-02T09:00:00Z", "prompt_tokens": 9,
}  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "gateway.ndjson").write_text(json.dumps(REQUEST) + "\n")
    return folder


def unread(case: forensics.Case) -> dict[str, list[str]]:
    return {f.name.rpartition("/")[2]: [u.reason for u in f.unread] for f in case.analysis.files}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("also", [("tier", "reasons"), ("affected", "delivered")])
def test_a_table_of_verdicts_is_left_out_and_said(logs, kind, also):
    rows = pl.DataFrame([REQUEST | {"request_id": "found"} | dict.fromkeys(also, "x")])
    (rows.write_csv if kind == "csv" else rows.write_parquet)(logs / f"table.{kind}")
    case = forensics.read_logs(logs)
    assert case.requests.polars()["request_id"].to_list() == ["a"]
    assert unread(case) == {"gateway.ndjson": [], f"table.{kind}": [RESULT]}


def test_a_column_of_service_tiers_makes_no_verdict(logs):
    pl.DataFrame([REQUEST | {"request_id": "b", "tier": "gold"}]).write_csv(logs / "other.csv")
    assert forensics.read_logs(logs).requests.polars().height == 2
