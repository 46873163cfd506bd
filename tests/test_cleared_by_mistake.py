"""Logs that look as if they cleared somebody: of another rank, boot, clock or moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.cli import run

ROOM = 6066694201313984764
EPOCH = 1787886840
"""2026-08-28T03:14:00Z."""
STAGES = "bootstrap_duration=15.00ms, queue_duration=6.00ms, forward_duration=70.00ms"


def at(seconds: int) -> str:
    minute, second = divmod(14 * 60 + seconds, 60)
    return f"2026-08-28 {3 + minute // 60:02}:{minute % 60:02}:{second:02}"


def stats(side: str, tokens: int, output: int, seconds: int = 0, room: int = ROOM) -> str:
    return (
        f"ReqTimeStats(rid=r-{side}-{room}, bootstrap_room={room}, input_len={tokens}, "
        f"cached_input_len=0, output_len={output}, attempts=0, type={side}): {STAGES}, "
        f"entry_time={EPOCH + seconds}.000"
    )


def pool(tokens: int, rank: int = 0, seconds: int = -900) -> str:
    return (
        f"[{at(seconds)} DP{rank} TP{rank}] KV Cache is allocated. #tokens: {tokens}, KV size: 1 GB"
    )


def total(tokens: int, seconds: int = -890) -> str:
    told = f"max_total_num_tokens={tokens}, chunked_prefill_size=1, context_len=1048576"
    return f"[{at(seconds)} DP0 TP0] {told}"


START = f"[{at(-910)}] server_args={{'disaggregation_mode': 'prefill', 'page_size': 64}}"


def judged(folder: Path, prefill: list[str], decode: list[str], **more: Any) -> pl.DataFrame:
    for name, lines in (("prefill-1", prefill), ("decode-1", decode)):
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n")
    (folder / "incident.toml").write_text('[logs]\ntimezone = "UTC"\n' + more.get("incident", ""))
    logs = (folder / "prefill-1.log", folder / "decode-1.log")
    rows = forensics.read_logs(*logs, incident=folder / "incident.toml").requests.polars()
    return rows.filter(pl.col("decode_prompt_tokens") == 400_000)


DECODED = f"[{at(3)} DP0 TP0] {stats('decode', 400_000, 90)}"


def test_another_rank_has_a_pool_of_its_own(tmp_path):
    prefill = [START, pool(681_280), pool(300_000, rank=3), total(681_280)]
    (row,) = judged(tmp_path, prefill, [DECODED]).iter_rows(named=True)
    assert (row["tier"], row["reasons"]) == ("possible", ["limit_uncertain"])
    told = f"failed for request rank=3 req.rid='p' req.bootstrap_room={ROOM}"
    failed = f"[{at(2)} DP3 TP3] Prefill transfer {told}"
    (row,) = judged(tmp_path, [*prefill, failed], [DECODED]).iter_rows(named=True)
    assert (row["tier"], row["input_limit_tokens"]) == ("possible", 299_994)


def test_a_limit_says_nothing_of_the_time_before_its_boot(tmp_path):
    printed = [pool(681_280, seconds=100), total(681_280, seconds=110)]
    for begun in (printed, [START.replace(at(-910), at(90)), *printed]):
        (row,) = judged(tmp_path, begun, [DECODED]).iter_rows(named=True)
        assert row["tier"] == "not_assessable"
    earlier = [pool(681_280, seconds=-100), total(681_280, seconds=-90)]
    (row,) = judged(tmp_path, earlier, [DECODED]).iter_rows(named=True)
    assert row["tier"] == "ruled_out"


def test_an_engine_that_is_ready_twice_has_started_twice(tmp_path):
    ready = "The server is fired up and ready to roll!"
    once = [pool(681_280), total(681_280), f"[{at(-880)}] {ready}"]
    (row,) = judged(tmp_path, once, [DECODED]).iter_rows(named=True)
    assert row["tier"] == "ruled_out"
    again = [*once, f"[{at(-100)}] {ready}"]
    (row,) = judged(tmp_path, again, [DECODED]).iter_rows(named=True)
    assert row["tier"] == "not_assessable"
    smaller = [
        *once,
        pool(300_000, seconds=-120),
        total(300_000, seconds=-110),
        f"[{at(-100)}] {ready}",
    ]
    (row,) = judged(tmp_path, smaller, [DECODED]).iter_rows(named=True)
    assert (row["tier"], row["input_limit_tokens"]) == ("possible", 299_994)


@pytest.mark.few(2)
@pytest.mark.parametrize("hours", [-9, -2, -1, 1, 2, 9])
def test_clocks_hours_apart_do_not_part_a_room_that_each_side_has_once(tmp_path, hours):
    prefill = [START, pool(681_280), total(681_280)]
    prefill.append(f"[{at(0)} DP0 TP0] {stats('prefill', 1, 1)}")
    decode = [f"[{at(3)} DP0 TP0] {stats('decode', 400_000, 90, 3_600 * hours)}"]
    (row,) = judged(tmp_path, prefill, decode).iter_rows(named=True)
    assert row["tier"] in ("probable", "possible")
    assert "placeholder_prefill" in row["reasons"]
    if abs(hours) > 1:
        assert "joined_by_inference" in row["reasons"]


def test_a_room_used_again_hours_later_is_another_hand_off(tmp_path):
    prefill = [START, pool(681_280), total(681_280)]
    prefill += [
        f"[{at(0)} DP0 TP0] {stats('prefill', n, 1, s)}" for n, s in ((9, 0), (400_000, 7_200))
    ]
    decode = [
        f"[{at(0)} DP0 TP0] {stats('decode', n, 9, s)}" for n, s in ((9, 0), (400_000, 7_200))
    ]
    (row,) = judged(tmp_path, prefill, decode).iter_rows(named=True)
    assert (row["tier"], "same_count" in row["reasons"]) == ("ruled_out", True)


def test_the_time_of_an_old_line_is_that_of_the_arrival(tmp_path):
    old = (
        "Req Time Stats(rid=r-{side}, bootstrap_room=77000000000, input len={n}, "
        "output len={o}, type={side}): "
    )
    prefill = old.format(side="prefill", n=1, o=1) + f"{STAGES}, start_time=4.1"
    decode = old.format(side="decode", n=400_000, o=90) + (
        "prealloc_duration=120.00ms, transfer_duration=340.00ms, queue_duration=10.00ms, "
        "forward_duration=2930.00ms, start_time=8.2"
    )
    lines = [f"[{at(25)} TP0] {prefill}"], [f"[{at(28)} TP0] {decode}"]
    window = '[scope]\nwindow = ["2026-08-28T03:14:00Z", "2026-08-28T03:14:26Z"]\n'
    (row,) = judged(tmp_path, *lines, incident=window).iter_rows(named=True)
    assert row["tier"] == "probable"
    assert row["received_at"].isoformat() == "2026-08-28T03:14:24.600000+00:00"


def finish(rid: str, tokens: int, done: int, reason: str, more: str = "") -> str:
    meta = f"'id': '{rid}', 'finish_reason': {reason}, 'prompt_tokens': {tokens}"
    out = f"{{'meta_info': {{{meta}, 'completion_tokens': {done}, 'cached_tokens': 0}}}}"
    labels = "custom_labels={'tenant': 'acme'}"
    asked = f"GenerateReqInput(rid='{rid}'{more}, bootstrap_room={ROOM}, {labels})"
    return f"[{at(3)}] Finish: obj={asked}, out={out}"


def test_tokens_of_an_answer_that_ended_in_a_400_were_delivered(tmp_path):
    prefill = [finish("p", 1, 1, "{'type': 'length', 'length': 0}")]
    abort = "{'type': 'abort', 'message': 'CANARY', 'status_code': 400}"
    (row,) = judged(tmp_path, prefill, [finish("d", 400_000, 30, abort)]).iter_rows(named=True)
    assert (row["tier"], row["completion_tokens"]) == ("probable", 30)


def test_a_key_of_the_clients_own_cannot_name_a_tenant(tmp_path):
    prefill = [finish("p", 1, 1, "{'type': 'length', 'length': 0}")]
    key = "a': 1}, custom_labels={'tenant': 'victim'}, x={'b"
    trap = f", sampling_params={{'custom_params': {{'{key}': 1}}}}"
    decode = [finish("d", 400_000, 30, "{'type': 'stop', 'matched': 1}", trap)]
    (row,) = judged(tmp_path, prefill, decode).iter_rows(named=True)
    assert row["tenant_id"] != "victim"


def test_a_file_named_like_a_key_is_read_and_its_name_withheld(tmp_path):
    key = "sk-proj-CANARYabcdefghijklmnopq"
    (tmp_path / f"{key}.log").write_text(f"{DECODED}\n")
    assert run(["report", str(tmp_path / f"{key}.log"), "-o", str(tmp_path / "out")]) == 3
    rows = pl.read_parquet(tmp_path / "out" / "not_assessable.parquet")
    assert rows["decode_node"].item().startswith("withheld-")


def test_every_affected_request_can_be_explained(tmp_path):
    run_ = lab.simulate(lab.small())
    lab.write_fleet(run_, tmp_path / "logs", "time-stats-0.5.19", "time-stats-0.5.19")
    assert run(["report", str(tmp_path / "logs"), "-o", str(tmp_path / "out"), "-q"]) in (0, 3)
    affected = pl.read_parquet(tmp_path / "out" / "affected_requests.parquet")
    assert "transfer_calibrated" in affected["reasons"].explode().to_list()
    for rid in affected["request_id"].head(3):
        assert run(["explain", str(tmp_path / "out"), rid]) == 0


@pytest.mark.parametrize(
    ("name", "hop"), [("prompt_tokens", "gateway"), ("decode_prompt_tokens", "decode")]
)
def test_a_prompt_without_a_token_was_not_counted(case_of, name, hop):
    limit = {"node": "p", "role": "prefill", "effective_at": "2026-09-01T00:00:00Z"}
    limit |= {"pool_tokens": 900, "context_tokens": 1000}
    record = {"hop": hop, "request_id": "r", "received_at": "2026-09-01T12:00:00Z"}
    tier = [case_of(limit, record | {name: n}).requests.polars()["tier"].item() for n in (0, 1)]
    assert tier == ["not_assessable", "ruled_out"]
