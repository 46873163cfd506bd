"""Times of engine logs: inferred, stated or assumed zones, and what an assumption costs."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.cli import run
from forensics.clock import Clocks

WINDOW = """
[scope]
window = ["2026-08-27T00:00:00Z", "2026-09-10T00:00:00Z"]
"""


def finished(at: str, rid: str, room: int, tokens: int, *, prefill: bool) -> str:
    reason: dict[str, Any] = {"type": "length", "length": 0} if prefill else {"type": "stop"}
    meta = {
        "finish_reason": reason,
        "prompt_tokens": tokens,
        "completion_tokens": 1 if prefill else 20,
        "cached_tokens": 0,
    }
    record = {
        "timestamp": at,
        "event": "request.finished",
        "rid": rid,
        "obj": {"rid": rid, "bootstrap_room": room},
        "out": {"meta_info": meta},
    }
    return json.dumps(record)


def placeholder(at: str, room: int) -> list[str]:
    """A hand-off of one token for 700,000, with no epoch stamp to tell the zone by."""
    return [
        finished(at, f"p{room}", room, 1, prefill=True),
        finished(at, f"d{room}", room, 700_000, prefill=False),
    ]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    path = tmp_path / "node-7.log"
    stamps = ("2026-08-26T09:00:00", "2026-08-26T11:00:00", "2026-08-28T00:00:00")
    lines = [line for n, at in enumerate(stamps) for line in placeholder(at, 2**62 + n)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _rows(logs: Path, tmp_path: Path, incident: str) -> list[tuple[str, list[str]]]:
    asked = tmp_path / "incident.toml"
    asked.write_text(incident)
    rows = forensics.read_logs(logs, incident=asked).requests.polars().sort("request_id")
    return list(rows.select("tier", "reasons").iter_rows())


def test_within_14_hours_of_the_edge_an_assumed_zone_is_at_most_possible(
    logs: Path, tmp_path: Path
) -> None:
    outside, near, inside = _rows(logs, tmp_path, WINDOW)
    assert outside == ("ruled_out", ["out_of_scope", "placeholder_prefill"])
    assert near == ("possible", ["placeholder_prefill", "zone_assumed"])
    assert inside == ("probable", ["placeholder_prefill"])


def test_a_stated_zone_decides(logs: Path, tmp_path: Path) -> None:
    east = _rows(logs, tmp_path, WINDOW + '[logs]\ntimezone = "UTC"\n')
    assert [tier for tier, _ in east] == ["ruled_out", "ruled_out", "probable"]
    west = _rows(logs, tmp_path, WINDOW + '[logs]\ntimezone = "Pacific/Pago_Pago"\n')
    assert [tier for tier, _ in west] == ["ruled_out", "ruled_out", "probable"]
    wester = _rows(logs, tmp_path, WINDOW + '[logs]\ntimezone = "Etc/GMT+12"\n')
    assert [tier for tier, _ in wester] == ["ruled_out", "ruled_out", "probable"]


def test_an_assumed_zone_is_named_and_leaves_the_evidence_incomplete(
    logs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run(["report", str(logs), "-o", str(out), "-q"]) == 3
    document = json.loads((out / "report.json").read_text())
    assert any("UTC was assumed for: node-7" in flag for flag in document["headline"]["incomplete"])
    assert "zone_assumed" in {limit["code"] for limit in document["limitations"]}


@pytest.fixture(scope="module")
def in_utc(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The requests of nodes whose clocks are those of UTC."""
    logs = tmp_path_factory.mktemp("utc")
    lab.write_sglang(lab.simulate(lab.small()), logs)
    return forensics.read_logs(*logs.glob("*.log")).requests.polars()


@pytest.mark.few(1)
@pytest.mark.parametrize("hours", [0, -7, 5.5])
def test_the_zone_of_a_node_is_inferred_from_its_own_epoch_stamps(
    tmp_path: Path, hours: float, in_utc: pl.DataFrame
) -> None:
    config = lab.small()
    shifted = replace(config, zone_offset_hours=hours)
    lab.write_sglang(lab.simulate(shifted), tmp_path / "logs")
    nodes = list((tmp_path / "logs").glob("*.log"))
    case = forensics.read_logs(*nodes)
    assert set(case.analysis.clocks.offsets.values()) == {int(hours * 3_600_000_000)}
    assert not case.analysis.assumed_nodes
    columns = ["request_id", "received_at", "tier"]
    # Lines without a stamp of their own are one second coarse; the rest agree exactly.
    assert case.requests.polars().select(columns).equals(in_utc.select(columns))


def test_a_retired_requests_boot_time_stamp_does_not_vote(tmp_path: Path) -> None:
    line = (
        "[2026-09-01 12:00:0{n} DP0 TP0 EP0] ReqTimeStats(rid=r{n}, bootstrap_room={room}, "
        "input_len=1, cached_input_len=0, output_len={out}, attempts=0, type=prefill): "
        "bootstrap_queue_duration=0.00ms, queue_duration=0.00ms, forward_duration=0.00ms, "
        "entry_time={at}.000, transfer_speed=0.00 GB/s, transfer_total=0.00 MB\n"
    )
    booted, served = 1_788_200_000, 1_788_264_000
    text = "".join(line.format(n=n, room=7 * 10**17 + n, out=0, at=booted) for n in range(5))
    text += line.format(n=6, room=7 * 10**17 + 6, out=1, at=served + 6)
    (tmp_path / "prefill.log").write_text(text)
    case = forensics.read_logs(tmp_path / "prefill.log")
    assert case.analysis.clocks.offsets == {"prefill": 0}
    times = case.requests.polars()["received_at"].cast(pl.Date).unique().to_list()
    assert len(times) == 1


def test_an_offset_that_no_zone_has_does_not_vote() -> None:
    hour = 3_600_000_000
    counts = Counter({("n", 40 * 24 * hour): 9, ("n", 14 * hour): 1, ("m", -15 * hour): 2})
    assert Clocks.infer(counts, None).offsets == {"n": 14 * hour}


def test_of_two_offsets_seen_as_often_the_smaller_one_is_taken() -> None:
    counts = Counter({("n", 7_200_000_000): 3, ("n", -3_600_000_000): 3, ("n", 0): 1})
    assert Clocks.infer(counts, None).offsets == {"n": -3_600_000_000}
