"""Times that were written without a year: what tells it, and when nothing does."""

import json
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import years
from forensics.cli import run
from forensics.incident import Incident
from forensics.years import Span

DAY = 86_400_000_000
AT = 1_772_000_000_000_000
CORE = "(EngineCore_DP0 pid=61) INFO 02-03"
ENGINE = f"""\
{CORE} 04:00:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: max_seq_len=131072
{CORE} 04:00:30 [kv_cache_utils.py:1087] GPU KV cache size: 49,152 tokens
(APIServer pid=5) INFO 02-03 09:00:02 [async_llm.py:316] Added request chatcmpl-b.
"""


def client(rid: str, at: str, tokens: int) -> str:
    return json.dumps(
        {
            "hop": "gateway",
            "request_id": rid,
            "received_at": at,
            "prompt_tokens": tokens,
            "http_status": 200,
        }
    )


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "prefill-0.log").write_text(ENGINE)
    return folder


def dated(folder: Path, *days: str) -> None:
    lines = [client(f"r{at}", f"{day}T09:00:01Z", 60_000 + at) for at, day in enumerate(days)]
    (folder / "gw.ndjson").write_text("\n".join([*lines, ""]))


def epochs(case: forensics.Case) -> list[tuple[str, int]]:
    rows = case.capacity.polars().drop_nulls("pool_tokens")
    return [(str(at)[:16], pool) for at, pool in rows.select("effective_at", "pool_tokens").rows()]


def test_the_dates_of_other_files_tell_the_year(logs):
    dated(logs, "2026-02-03", "2026-02-03")
    case = forensics.read_logs(logs)
    assert epochs(case) == [("2026-02-03 04:00", 49_152)]
    assert not any("without a year" in flag for flag in case.exposure().headline.incomplete)
    requests = case.requests.polars()
    assert str(requests.filter(request_id="b")["received_at"][0])[:19] == "2026-02-03 09:00:02"
    over = requests.filter(request_id="r0")
    assert over["tier"][0] == "possible"
    assert "over_limit" in over["reasons"].to_list()[0]


def test_alone_it_is_not_guessed(logs):
    case = forensics.read_logs(logs)
    assert epochs(case) == []
    assert case.requests.polars()["received_at"].to_list() == [None]
    assert any("without a year" in flag for flag in case.exposure().headline.incomplete)


def test_a_few_wrong_dates_decide_nothing(logs):
    dated(logs, *["2026-02-03"] * 30, "2024-06-01")
    assert epochs(forensics.read_logs(logs)) == [("2026-02-03 04:00", 49_152)]


def test_where_two_years_fit_it_is_not_known(logs):
    dated(logs, "2025-01-01", "2025-01-02", "2026-06-01", "2026-06-02")
    assert epochs(forensics.read_logs(logs)) == []


def test_a_set_of_the_log_alone_learns_it_later(logs, tmp_path):
    dated(logs, "2026-02-03")
    evidence = tmp_path / "set"
    assert run(["ingest", str(logs / "prefill-0.log"), "-o", str(evidence), "-q"]) in (0, 3)
    seen = forensics.read_logs(evidence, logs / "gw.ndjson")
    assert epochs(seen) == epochs(forensics.read_logs(logs))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0004-02-03 04:05:06.000007", "2026-02-03 04:05:06.000007"),
        ("0004-12-31 23:59:59", "2025-12-31 23:59:59"),
        ("0004-02-29 00:00:00", None),
        ("0005-01-01 00:00:00", "0005-01-01 00:00:00"),
    ],
)
def test_a_moment_is_put_into_the_year_that_is_nearest(text, told):
    form = "%Y-%m-%d %H:%M:%S%.f"
    frame = pl.DataFrame({"at": [text]}).select(pl.col("at").str.to_datetime(form).to_physical())
    found = years.told(frame, ["at", "other"], Span(AT - 9 * DAY, AT))["at"].cast(pl.Datetime("us"))
    assert found.to_list() == pl.Series([told], dtype=pl.String).str.to_datetime(form).to_list()


def test_what_is_dated_asks_for_no_span():
    frame = pl.DataFrame({"effective_at": [AT]})
    assert years.of_records([], [frame], Incident()) is None
