"""What a set says of logs does not hang on which of them came first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forensics
from forensics.ingest.run import ingest

ROOM = 5_000_000_000


def log(path: Path, side: str, rooms: range, pool: int) -> Path:
    """One server's log: its start, and a request a room; of two sides one hand-off each."""
    at = "[2026-09-01 00:00:00"
    args = f"{at}] server_args=ServerArgs(disaggregation_mode='{side}', page_size=64)"
    lines = [args, f"{at} DP0 TP0 EP0] KV Cache is allocated. #tokens: {pool}, KV size: 37.48 GB"]
    lines += [
        f"[2026-09-01 01:{room:02}:02 DP0 TP0 EP0] ReqTimeStats(rid={side}-{room}, "
        f"bootstrap_room={ROOM + room}, input_len=5000, cached_input_len=0, output_len=9, "
        f"attempts=0, type={side}): bootstrap_duration=15.00ms, queue_duration=5.00ms, "
        f"forward_duration=980.00ms, entry_time={1_788_220_800 + 3_600 + room * 60}.000"
        for room in rooms
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.mark.parametrize("name", ["server.log", "node/server.log", "prefill.log"])
def test_nodes_have_the_names_of_logs_that_came_at_once(tmp_path: Path, name: str) -> None:
    """Two machines whose logs have one name: the first had a short name for being first."""
    machines = []
    for host, rooms, pool in (("one", range(4), 681_280), ("two", range(9, 14), 300_032)):
        own = log(tmp_path / host / name, "prefill", rooms, pool)
        other = tmp_path / host / "decode" / Path(name).name
        machines.append([own, log(other, "decode", rooms, 1_160_000)])
    logs = [path for machine in machines for path in machine]

    def told(*order: list[Path]) -> str:
        out = tmp_path / f"set-{len(list(tmp_path.iterdir()))}"
        for paths in order:
            ingest(*paths, out=out)
        return document(forensics.read_logs(out))

    first, last = machines
    assert (
        told(first, last) == told(last, first) == told(logs) == document(forensics.read_logs(*logs))
    )


def document(case: forensics.Case) -> str:
    rows = case.requests.polars().select("request_id", "prefill_node", "decode_node", "tier")
    nodes = sorted({node.node for node in case.exposure().epochs})
    return json.dumps([sorted(map(list, rows.iter_rows())), nodes])
