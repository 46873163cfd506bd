"""A check as a whole: what is here, what is missing, what to fetch, from a bounded sample."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from forensics.checking.budget import Budget
from forensics.checking.checked import check_logs
from forensics.checking.document import Advice, Check
from forensics.checking.render import text
from forensics.errors import NoInputError, UsageError

TODAY = date(2026, 9, 1)
REJECTED = (
    "Input length ({} tokens) exceeds the maximum allowed length ({} tokens). Use a shorter input "
    "or enable --allow-auto-truncate., self.rid='r{}'"
)


def check(*paths: Path, **more: Any) -> Check:
    return check_logs(*paths, today=TODAY, **more)


def codes(found: Check) -> set[str]:
    return {gap.code for gap in found.gaps}


def advice(found: Check) -> dict[str, Advice]:
    return {item.need: item for item in found.advice}


def test_both_sides_settle_everything_but_the_tenants(pair: Path) -> None:
    found = check(pair)
    assert found.whole
    assert found.sample.tiers == {"probable": 2, "ruled_out": 4}
    assert codes(found) == {"no_tenants"}
    assert [item.need for item in found.advice] == ["tenants"]
    assert found.advice[0].names == 2


def test_decode_alone_asks_for_prefill_and_its_limit(pair: Path) -> None:
    found = check(pair / "decode-01.log")
    assert codes(found) == {"no_prefill_side", "no_limit", "no_tenants"}
    needs = advice(found)
    assert (needs["prefill side"].settles, needs["prefill side"].of) == (6, 6)
    assert needs["prefill side"].exact
    limit = needs["prefill limit"]
    assert (limit.settles, limit.judges, limit.of) == (0, 6, 6)
    assert [item.need for item in found.advice][:2] == ["prefill side", "prefill limit"]
    assert (limit.oldest_day, limit.age_days) == ("2026-08-28", 4)
    prometheus = next(source for source in limit.sources if source.kept_days)
    assert "11 days left" in limit.sentence
    assert prometheus.kept_days == 15


def test_what_prometheus_has_dropped_by_default_is_said_to_be_gone(pair: Path) -> None:
    found = check_logs(pair / "decode-01.log", today=date(2026, 11, 1))
    assert "gone by now unless kept longer than 15 days" in advice(found)["prefill limit"].sentence


@pytest.mark.parametrize("also", ["nothing", "a gateway's log"])
def test_a_gateway_is_spoken_of_where_there_is_one(also: str, fleet: Any, tmp_path: Path) -> None:
    fleet.start("prefill-01", "prefill")
    for number, tokens in enumerate(fleet.sizes):
        fleet.request(number, tokens, fleet.begin + timedelta(minutes=number))
    at = fleet.begin + timedelta(minutes=2)
    fleet.say("prefill-01", at, REJECTED.format(900_000, fleet.limit, 77))
    logs = fleet.write(tmp_path / "logs")
    if also != "nothing":
        seen = {"request_id": "g-1", "hop": "gateway", "received_at": at.isoformat()}
        (logs / "gw.ndjson").write_text(json.dumps(seen | {"prompt_tokens": 800_000}) + "\n")
    gaps = {gap.sentence for gap in check(logs).gaps if gap.code == "unpaired_engine"}
    told = [
        "1 request of which an engine's log holds a rejection or the like and no side's token count"
    ]
    told += ["1 request of the gateway without a record of either engine"] * (also != "nothing")
    rest = "though logs of the same day have such records: "
    rest += "a node's logs may be missing, or a part of them."
    assert gaps == {f"{what}, {rest}" for what in told}


def test_prefill_without_time_stats_is_told_from_prefill_that_is_not_here(
    fleet: Any, tmp_path: Path
) -> None:
    fleet.zone = timedelta(0)
    fleet.start("prefill-01", "prefill")
    for number, tokens in enumerate(fleet.sizes):
        at = fleet.begin + timedelta(minutes=number)
        fleet.request(number, tokens, at, prefill=None)
        fleet.say("prefill-01", at, "Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0")
        if tokens >= fleet.limit:
            fleet.say("prefill-01", at, REJECTED.format(tokens, fleet.limit, number))
    found = check(fleet.write(tmp_path / "logs"))
    assert {"no_prefill_side", "requests_not_logged"} <= codes(found)
    assert "no_limit" not in codes(found)
    item = advice(found)["prefill side"]
    assert (item.settles, item.of) == (2, 2), "those below the limit are ruled out by it"
    assert item.nodes == ["prefill-01"]
    assert "is here and has none" in item.sentence


def test_rows_are_by_node_and_day(fleet: Any, tmp_path: Path) -> None:
    fleet.start("prefill-01", "prefill")
    for number in range(80):
        fleet.request(number, 900, fleet.begin + timedelta(hours=number // 2))
    found = check(fleet.write(tmp_path / "logs"))
    days = [(row.node, row.day, row.sides, row.records, row.limit) for row in found.days]
    assert days == [
        ("decode-01", "2026-08-28", ["decode"], 42, "-"),
        ("decode-01", "2026-08-29", ["decode"], 38, "-"),
        ("prefill-01", "2026-08-28", ["prefill"], 42, "known"),
        ("prefill-01", "2026-08-29", ["prefill"], 38, "known"),
    ]
    assert all((row.counts, row.ids, row.tenants) == (1.0, 1.0, 0.0) for row in found.days)


def test_a_day_without_one_side_is_a_gap_of_that_day(fleet: Any, tmp_path: Path) -> None:
    fleet.start("prefill-01", "prefill")
    for number in range(90):
        at = fleet.begin + timedelta(hours=number)
        fleet.request(number, 900, at, prefill=None if at.day == 30 else "prefill-01")
    found = check(fleet.write(tmp_path / "logs"))
    (gap,) = (gap for gap in found.gaps if gap.code == "no_prefill_side")
    assert (gap.first_day, gap.last_day) == ("2026-08-30", "2026-08-30")
    assert "2026-08-30" in gap.sentence


def test_a_busy_node_without_a_day_that_others_have(fleet: Any, tmp_path: Path) -> None:
    for number in range(300):
        at = fleet.begin + timedelta(minutes=15 * number)
        fleet.request(number, 900, at, decode="decode-01")
        if at.day != 29:
            fleet.request(1_000 + number, 900, at, decode="decode-02")
    found = check(fleet.write(tmp_path / "logs"))
    (gap,) = (gap for gap in found.gaps if gap.code == "node_days")
    assert (gap.nodes, gap.first_day, gap.last_day) == (["decode-02"], "2026-08-29", "2026-08-29")
    item = advice(found)["days"]
    assert item.nodes == ["decode-02"]
    assert item.sources[0].short_lived


def test_the_part_of_the_window_without_records(pair: Path, tmp_path: Path) -> None:
    asked = tmp_path / "incident.toml"
    asked.write_text('[scope]\nwindow = ["2026-08-28T00:00:00Z", "2026-08-29T00:00:00Z"]\n')
    found = check(pair, incident=asked)
    windows = [gap.sentence for gap in found.gaps if gap.code == "window"]
    assert len(windows) == 2
    assert "2026-08-28T00:00:00.000000Z to 2026-08-28T03:00:00.000000Z" in windows[0]
    assert "days" in advice(found)


def test_a_clock_of_unknown_zone_is_told_until_it_is_stated(fleet: Any, tmp_path: Path) -> None:
    fleet.start("prefill-01", "prefill")
    logs = fleet.write(tmp_path / "logs")
    assert "zone_unknown" in codes(check(logs))
    assert advice(check(logs))["time zone"].nodes == ["prefill-01"]
    asked = tmp_path / "incident.toml"
    asked.write_text('[logs]\ntimezone = "Europe/Berlin"\n')
    assert "zone_unknown" not in codes(check(logs, incident=asked))


def test_times_without_a_year_are_told_until_something_tells_it(tmp_path: Path) -> None:
    log = tmp_path / "prefill-0.log"
    log.write_text("INFO 02-03 09:00:02 [async_llm.py:316] Added request chatcmpl-b.\n" * 3)
    (gap,) = [gap for gap in check(log).gaps if gap.code == "year_unknown"]
    assert "prefill-0" in gap.sentence
    asked = tmp_path / "incident.toml"
    asked.write_text('[scope]\nwindow = ["2026-02-03T00:00:00Z", "2026-02-04T00:00:00Z"]\n')
    assert "year_unknown" not in codes(check(log, incident=asked))


def test_a_pool_of_unknown_side_is_told_until_the_role_is_stated(tmp_path: Path) -> None:
    log = tmp_path / "gen-1.log"
    log.write_text(
        "[TensorRT-LLM][INFO] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 4 GiB for max tokens in paged KV cache "
        "(99000).\n"
    )
    (gap,) = [gap for gap in check(log).gaps if gap.code == "role_unknown"]
    assert gap.nodes == ["gen-1"]
    assert "[[capacity]]" in gap.sentence
    asked = tmp_path / "incident.toml"
    asked.write_text('[[capacity]]\nnode = "gen-1"\nrole = "decode"\n')
    assert "role_unknown" not in codes(check(log, incident=asked))
    prefill = log.rename(tmp_path / "ctx-1.log")
    assert "role_unknown" not in codes(check(prefill))


def test_a_stated_threshold_stands_for_the_limit(pair: Path, tmp_path: Path) -> None:
    asked = tmp_path / "incident.toml"
    asked.write_text("[trigger]\nthreshold_tokens = 681280\n")
    found = check(pair / "decode-01.log", incident=asked)
    assert "no_limit" not in codes(found)
    assert "prefill limit" not in advice(found)
    assert advice(found)["prefill side"].settles == 2


def test_logs_with_everything_miss_nothing(tmp_path: Path) -> None:
    from forensics import lab

    lab.write_plain(lab.simulate(lab.small(faulty_rejection=False)), tmp_path)
    found = check(tmp_path / "logs")
    assert found.complete, found.gaps
    assert found.advice == []
    assert "Nothing is missing." in text(found)


def test_files_that_are_no_logs_are_named_and_not_opened(pair: Path) -> None:
    (pair / "crash_dump.pkl").write_bytes(b"\x80\x04CANARY-PICKLE")
    (pair / "core").write_bytes(bytes(range(256)) * 40)
    (pair / "cut.log.gz").write_bytes(gzip.compress(os.urandom(9_000))[:4_000])
    found = check(pair)
    by_label = {entry.label: entry for entry in found.files}
    assert "pickle" in (by_label["crash_dump.pkl"].problem or "")
    assert "binary" in (by_label["core"].problem or "")
    assert by_label["cut.log.gz"].problem is not None
    assert "not_read" in codes(found)
    assert found.recognised


def test_nothing_recognised(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(bytes(range(256)))
    found = check(tmp_path)
    assert not found.recognised
    assert not found.complete
    with pytest.raises(NoInputError):
        check(tmp_path / "nothing")
    with pytest.raises(UsageError):
        check(tmp_path, format="nonsense")


def test_no_content_comes_out(fleet: Any, tmp_path: Path) -> None:
    record = {
        "timestamp": "2026-08-28T03:00:00",
        "event": "request.finished",
        "rid": "r1",
        "obj": {"rid": "r1", "text": "CANARY-PROMPT", "bootstrap_room": 4 * 10**18},
        "out": {
            "text": "CANARY-OUTPUT",
            "output_ids": [71],
            "meta_info": {
                "id": "r1",
                "prompt_tokens": 17,
                "completion_tokens": 5,
                "finish_reason": {"type": "stop", "matched": "CANARY-STOP"},
            },
        },
    }
    (tmp_path / "decode-01.jsonl").write_text((json.dumps(record) + "\n") * 3)
    (tmp_path / "odd.txt").write_text("CANARY-LINE 2026-08-28 03:00:00\n" * 3)
    fleet.start("prefill-01", "prefill")
    fleet.write(tmp_path)
    found = check(tmp_path)
    shown = text(found) + msgspec.json.encode(found).decode() + repr(found)
    assert "CANARY" not in shown
    by_label = {entry.label: entry.hazards for entry in found.files}
    assert by_label["decode-01.jsonl"] == ["prompts", "outputs"]
    assert by_label["prefill-01.log"] == ["secrets"]
    assert any("restrict access" in note for note in found.notes)


def test_the_same_files_in_any_order_and_split_make_the_same_check(pair: Path) -> None:
    files = sorted(pair.iterdir())
    one, other = check(*files), check(*files[::-1])
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


@pytest.fixture(scope="module")
def large(new_fleet: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two prefill and two decode nodes with 12,000 requests, one in a hundred over the limit."""
    folder = tmp_path_factory.mktemp("large")
    fleet, draw = new_fleet(), random.Random(7)
    for node in ("prefill-01", "prefill-02"):
        fleet.start(node, "prefill")
    for number in range(12_000):
        fleet.request(
            number,
            700_000 if number % 100 == 0 else draw.choice((900, 25_000, 118_000)),
            fleet.begin + timedelta(seconds=7 * number),
            prefill=f"prefill-{draw.randrange(2) + 1:02}",
            decode=f"decode-{draw.randrange(2) + 1:02}",
        )
    return fleet.write(folder / "logs")


SMALL = Budget(2 << 20)
"""An eighth of a file of the large fleet."""


def test_a_sample_reads_no_more_than_the_budget_and_counts_nothing_exactly(large: Path) -> None:
    told: list[int] = []
    found = check(large, budget=SMALL, told=told.append)
    assert sum(told) == found.bytes_read <= SMALL.total
    assert not found.whole
    assert not any(entry.exact for entry in found.files)
    for entry in found.files:
        lines = (large / entry.label).read_bytes().count(b"\n")
        assert entry.records == pytest.approx(lines, rel=0.1)
        assert entry.first_at is not None
        assert entry.last_at is not None
        assert entry.first_at[:10] <= "2026-08-28"
        assert entry.last_at[:10] == "2026-08-29"
    assert "~" in text(found)


def test_files_that_cannot_be_sliced_keep_to_the_budget_too(large: Path, tmp_path: Path) -> None:
    lines = (large / "decode-01.log").read_bytes().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    for number in range(3):
        (tmp_path / f"shuffled-{number}.log").write_bytes(b"".join(lines))
        with gzip.open(tmp_path / f"packed-{number}.log.gz", "wb", compresslevel=1) as file:
            file.writelines(line for line in lines for _ in range(3))
        (tmp_path / f"core-{number}").write_bytes(os.urandom(1 << 20))
        (tmp_path / f"empty-{number}.log").write_bytes(b"")
    told: list[int] = []
    found = check(tmp_path, budget=Budget(1 << 20), told=told.append)
    assert sum(told) == found.bytes_read <= 1 << 20
    hows = {entry.label.split("-")[0]: entry.how for entry in found.files}
    assert hows == {"shuffled": "slices", "packed": "head", "core": "head", "empty": "whole"}
    assert found.sample.requests > 100


def test_both_sides_of_a_hand_off_are_in_the_sample(large: Path) -> None:
    found = check(large, budget=SMALL)
    assert len(found.sample.common_times) == 2
    paired = found.sample.tiers["ruled_out"] + found.sample.tiers.get("probable", 0)
    assert paired > 200
    assert codes(found) == {"no_tenants"}, "that rows are unpaired in a sample is no gap"
    assert found.sample.undecided == found.sample.apart
    assert [item.need for item in found.advice] == ["tenants"]


def test_a_node_that_is_missing_shows_in_the_sample(large: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(large, logs)
    (logs / "prefill-02.log").unlink()
    sampled, whole = check(logs, budget=SMALL), check(logs)
    assert "partner_missing" in codes(sampled)
    assert whole.whole
    truth = advice(whole)["prefill side"].settles
    about = advice(sampled)["prefill side"]
    assert truth > 40
    assert not about.exact
    assert about.settles == pytest.approx(truth, rel=0.6)


def test_a_folder_larger_than_memory_takes_a_moment(large: Path, tmp_path: Path) -> None:
    """Sparse files with a head and a tail of lines: twelve of 50 GiB each."""
    head = (large / "decode-01.log").read_bytes()[:200_000]
    for number in range(12):
        path = tmp_path / f"decode-{number:02}.log"
        path.write_bytes(head)
        os.truncate(path, 50 << 30)
        with path.open("ab") as file:
            file.write(b"\n" + head)
    found = check(tmp_path, budget=Budget(4 << 20))
    assert found.bytes_in_all > 12 * (50 << 30)
    assert found.bytes_read <= 4 << 20
    assert {entry.format for entry in found.files} == {"sglang"}
