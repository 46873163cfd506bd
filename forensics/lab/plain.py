"""Writes a run in the plain format: NDJSON, compressed, one folder a hop.

    logs/gateway/2026-08-27.ndjson.zst     one file a day
    logs/prefill/prefill-01.ndjson.zst     one file a node, its capacity records first
    logs/decode/decode-01.ndjson.zst

The same run gives the same bytes with the same version of the zstd library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import zstandard

from forensics.lab.plainrows import (
    Row,
    capacity_rows,
    decode_row,
    gateway_row,
    prefill_row,
    probe_row,
)
from forensics.lab.records import LabRun, NodeHistory

ZSTD_LEVEL = 17


def write_plain(run: LabRun, out: Path) -> None:
    """Write the logs of `run` under `out/logs`."""
    files = {
        out / "logs" / f"{name}.ndjson.zst": encode(rows) for name, rows in plain_files(run).items()
    }
    with ThreadPoolExecutor() as threads:
        for path, content in zip(files, threads.map(compress, files.values()), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def plain_files(run: LabRun) -> dict[str, list[Row]]:
    """Return the records of each file, by its path under `logs` without the suffix."""
    files: dict[str, list[Row]] = {}
    for entry in run.gateway:
        row = gateway_row(entry, run.config.model)
        files.setdefault(f"gateway/{str(row['received_at'])[:10]}", []).append(row)
    for node in run.nodes:
        files[f"{node.role}/{node.name}"] = [*capacity_rows(node, run), *_requests(node, run)]
    return files


def _requests(node: NodeHistory, run: LabRun) -> list[Row]:
    rows = [probe_row(probe) for probe in run.probes if probe.node == node.name]
    if node.role == "prefill":
        rows += [prefill_row(h) for h in run.handoffs if h.prefill_node == node.name]
    else:
        rows += [decode_row(h) for h in run.handoffs if h.decode_node == node.name]
    return sorted(rows, key=lambda row: (str(row["received_at"]), str(row["transfer_id"])))


def line(row: Row) -> bytes:
    """Return one record as a line without its end."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def encode(rows: Iterable[Row]) -> bytes:
    """Return records as NDJSON."""
    return b"".join(line(row) + b"\n" for row in rows)


def compress(content: bytes) -> bytes:
    """Return `content` as one zstd frame with its size and checksum."""
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(content)
