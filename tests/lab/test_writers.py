"""What the logs say, and what they must not say."""

import csv
import json
import re
from collections import Counter
from functools import cache

import pytest
import zstandard

from forensics.lab import LabRun, simulate, small, write_plain, write_sglang, write_truth

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CONTENT = {"prompt", "messages", "output", "error", "text", "content", "input_ids"}


@cache
def run() -> LabRun:
    return simulate(small(seed=5, requests=600))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    write_plain(run(), folder)
    return {
        path.relative_to(folder).as_posix(): [
            json.loads(text)
            for text in zstandard.ZstdDecompressor().decompress(path.read_bytes()).splitlines()
        ]
        for path in folder.rglob("*.zst")
    }


@pytest.fixture(scope="module")
def sglang(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sglang")
    write_sglang(run(), folder)
    return {path.stem: path.read_text().splitlines() for path in folder.glob("*.log")}


def hop(plain, name):
    return [r for rows in plain.values() for r in rows if r.get("hop") == name]


def test_one_folder_a_hop_and_one_file_a_node(plain):
    assert {"logs/prefill/prefill-01.ndjson.zst", "logs/decode/decode-02.ndjson.zst"} <= set(plain)
    assert any(name.startswith("logs/gateway/2026-03-02") for name in plain)


def test_hops_join_by_transfer_and_the_gateway_by_request(plain):
    prefill = {r["transfer_id"]: r for r in hop(plain, "prefill") if len(r["transfer_id"]) > 6}
    decode = {r["transfer_id"]: r for r in hop(plain, "decode") if len(r["transfer_id"]) > 6}
    assert prefill.keys() == decode.keys()
    assert len(prefill) == len(run().handoffs)
    assert all(0 < int(room) < 2**63 for room in prefill)
    ids = {r["request_id"] for r in hop(plain, "gateway")}
    assert {r["request_id"] for r in decode.values()} <= ids
    assert not {r["request_id"] for r in prefill.values()} & ids


def test_a_placeholder_shows_as_one_token_against_many(plain):
    affected = {str(h.transfer_id) for h in run().affected}
    prefill = {r["transfer_id"]: r for r in hop(plain, "prefill")}
    decode = {r["transfer_id"]: r for r in hop(plain, "decode")}
    shown = {
        room
        for room, row in prefill.items()
        if row.get("prefill_prompt_tokens") == 1
        and decode.get(room, {}).get("decode_prompt_tokens", 0) > 1
        and decode[room]["completion_tokens"] > 0
    }
    assert shown == affected
    assert all(prefill[room]["transferred_pages"] == 1 for room in shown)


def test_only_rank_zero_of_prefill_notes_its_rejections(plain):
    over = {str(h.transfer_id) for h in run().handoffs if h.prefill_rejected}
    noted = Counter(
        (r["prefill_node"][-1], "rejected" in r)
        for r in hop(plain, "prefill")
        if r["transfer_id"] in over
    )
    assert set(noted) == {("0", True), ("1", False)}


def test_capacity_is_told_for_every_rank_at_every_start(plain):
    rows = [r for file in plain.values() for r in file if "pool_tokens" in r]
    expected = sum(len(node.epochs) * node.ranks for node in run().nodes)
    assert len({(r["node"], r["effective_at"]) for r in rows}) == len(rows) == expected
    assert {r["allocator"] for r in rows} == {"sorted-sweep"}
    graphs = {r["config"]["cuda_graph_max_bs"] for r in rows if r["node"] == "decode-01/dp0"}
    assert graphs == {256, 160}


def test_times_are_utc_with_microseconds_and_no_row_has_content_or_nulls(plain):
    for rows in plain.values():
        for row in rows:
            assert not CONTENT & row.keys()
            assert None not in row.values()
            times = [v for k, v in row.items() if k.endswith("_at")]
            assert times
            assert all(TIME.fullmatch(value) for value in times)


def test_probes_are_marked_as_what_they_are(plain):
    rows = [r for r in hop(plain, "prefill") + hop(plain, "decode") if len(r["transfer_id"]) < 6]
    checks = [r for r in rows if r["request_id"].startswith("HEALTH_CHECK_")]
    assert checks
    assert {r["transfer_id"] for r in checks} == {"0"}
    assert {r["transfer_id"] for r in rows} == {"0", "1"}
    assert len(rows) == len(run().probes)


def test_truth_lists_what_was_over_the_limit_or_short(tmp_path):
    write_truth(run(), tmp_path)
    with (tmp_path / "truth.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == sum(h.over_limit or h.short for h in run().handoffs)
    affected = {r["transfer_id"] for r in rows if r["affected"] == "true"}
    assert affected == {str(h.transfer_id) for h in run().affected}
    assert {r["delivered"] for r in rows if r["affected"] == "true"} == {"true"}
    with (tmp_path / "truth_sources.csv").open(newline="") as source:
        sources = list(csv.DictReader(source))
    pages = Counter()
    for row in sources:
        pages[row["request_id"]] += int(row["pages"])
    for handoff in run().affected:
        room = handoff.reserved_pages - handoff.transferred_pages - handoff.unwritten_pages
        assert 0 <= room - pages[handoff.intent.request_id] <= 6, "but for pages of probes"


STATS = re.compile(
    r"ReqTimeStats\(rid=([^,]+), bootstrap_room=(\d+), input_len=(\d+), cached_input_len=(\d+), "
    r"output_len=(\d+), attempts=0, type=(\w+)\)"
)


def test_engine_logs_carry_the_proof(sglang):
    prefill, decode = {}, {}
    for lines in sglang.values():
        for text in lines:
            if match := STATS.search(text):
                rid, room, length, _, output, role = match.groups()
                side = prefill if role == "prefill" else decode
                if not rid.startswith("HEALTH_CHECK_") and int(room) > 1:
                    side[int(room)] = (int(length), int(output))
    proven = {
        room
        for room, (length, output) in decode.items()
        if prefill[room][0] == 1 and length > 1 and output > 0
    }
    assert proven == {h.transfer_id for h in run().affected}


def test_engine_logs_print_rejections_on_rank_zero_only(sglang):
    lines = [t for n, ls in sglang.items() if n.startswith("prefill") for t in ls if "exceeds" in t]
    expected = [h for h in run().handoffs if h.prefill_rejected and h.prefill_rank == 0]
    assert len(lines) == len(expected) > 0
    assert all(" DP0 TP0 EP0] Input length (" in text for text in lines)
    assert all("maximum allowed length (40954 tokens)" in text for text in lines)


def test_engine_logs_tell_pool_and_settings_at_every_start(sglang):
    for node in run().nodes:
        lines = sglang[node.name]
        starts = [t for t in lines if "server_args=" in t]
        assert len(starts) == len(node.epochs)
        assert f"'disaggregation_mode': '{node.role}'" in starts[0]
        assert "'api_key': 'sk-SYNTHETIC-SECRET-DO-NOT-STORE'" in starts[0]
        pool = node.epochs[0].pool_tokens
        allocated = [t for t in lines if f"#tokens: {pool}, KV size" in t]
        assert len(allocated) == 8 * len(node.epochs)
        assert sum(f"max_total_num_tokens={pool}," in t for t in lines) == len(node.epochs)
        assert sum("fired up and ready to roll!" in t for t in lines) == len(node.epochs)


def test_engine_usage_figures_fit_the_pool(sglang):
    shares = [
        float(match.group(1))
        for name, lines in sglang.items()
        if name.startswith("decode")
        for text in lines
        if (match := re.search(r"Decode batch.* token usage: ([\d.]+)", text))
    ]
    assert len(shares) > 50
    assert 0.3 < max(shares) <= 1.0
