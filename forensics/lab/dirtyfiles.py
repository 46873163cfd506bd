"""The dirty sample: the incident's records in other files, encodings and order."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

from forensics.lab.dirt import (
    Dirt,
    Protected,
    add_content,
    broken_lines,
    cut_last,
    damage_fields,
    free_rows,
    protected_ids,
)
from forensics.lab.plain import compress, line, plain_files
from forensics.lab.plainrows import Row
from forensics.lab.records import LabRun

Dress: TypeAlias = Literal["lf", "crlf", "bom", "gz", "zst"]
Layout: TypeAlias = dict[str, list[Row]]
_GATEWAY: tuple[Dress, ...] = ("zst", "zst", "gz", "zst")
_REPEATED = 120
_REPEATED_AFFECTED = 6


def write_dirty(run: LabRun, out: Path, seed: int) -> None:
    """Write the dirty logs of `run` under `out/logs`, and `dirt.json` with what is in them."""
    dirt = Dirt(Random(f"{seed}:dirt"))
    protected = protected_ids(run)
    layout = _resplit(dirt, plain_files(run))
    rows = [row for file_rows in layout.values() for row in file_rows]
    damage_fields(dirt, free_rows(rows, protected))
    add_content(dirt, rows)
    layout["gateway/replayed.jsonl"] = _repeated(dirt, run, rows, protected)
    loose = broken_lines(dirt)
    for number, name in enumerate(sorted(layout)):
        dress = _dress(name)
        content = _serialise(dirt, layout[name], loose[number :: len(layout)], name, protected)
        dirt.note(f"files_{dress}")
        path = out / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encode(content, dress))
    _write_unknown(dirt, out)
    text = json.dumps({"counts": dict(sorted(dirt.counts.items()))}, indent=2)
    (out / "dirt.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _resplit(dirt: Dirt, files: Layout) -> Layout:
    """Gateway records in parts by chance, a short CRLF and a BOM part; engine files joined."""
    layout: Layout = {}
    for name, rows in files.items():
        for row in rows:
            layout.setdefault(_place(dirt, name, row), []).append(row)
    return layout


def _place(dirt: Dirt, name: str, row: Row) -> str:
    role, stem = name.split("/")
    if role == "gateway":
        draw = dirt.rng.random()
        if draw < 0.02:
            return "gateway/edge-a.ndjson"
        if draw < 0.04:
            return "gateway/edge-b.ndjson"
        part = dirt.rng.randrange(len(_GATEWAY))
        return f"gateway/part-{part}.ndjson.{_GATEWAY[part]}"
    if role == "prefill" and "pool_tokens" not in row:
        return f"prefill/{stem}.{dirt.rng.randrange(2)}.ndjson.zst"
    if role == "decode" and stem in ("decode-03", "decode-04"):
        return "decode/decode-03-04.ndjson.zst"
    return f"{role}/{stem}.ndjson.zst"


def _dress(name: str) -> Dress:
    if name.endswith(("edge-a.ndjson", "replayed.jsonl")):
        return "crlf" if "edge-a" in name else "lf"
    if name.endswith("edge-b.ndjson"):
        return "bom"
    return "gz" if name.endswith(".gz") else "zst"


def _repeated(dirt: Dirt, run: LabRun, rows: list[Row], protected: Protected) -> list[Row]:
    """Return exact copies of records that stand in other files."""
    affected = {handoff.intent.request_id for handoff in run.affected}
    hit = [row for row in rows if row.get("hop") == "decode" and row["request_id"] in affected]
    copies = dirt.take(free_rows(rows, protected), _REPEATED)
    copies += dirt.take(hit, _REPEATED_AFFECTED)
    dirt.counts["exact_duplicates"] += len(copies)
    dirt.counts["exact_duplicates_of_affected"] += min(len(hit), _REPEATED_AFFECTED)
    return copies


def _serialise(
    dirt: Dirt, rows: list[Row], loose: list[bytes], name: str, protected: Protected
) -> list[bytes]:
    tail: list[bytes] = []
    if name.endswith((".0.ndjson.zst", "edge-b.ndjson")):
        rows, half = cut_last(dirt, rows, protected)
        tail = [half]
    lines = [line(row) for row in rows] + loose
    dirt.rng.shuffle(lines)
    return lines + tail


def _encode(lines: list[bytes], dress: Dress) -> bytes:
    end = b"\r\n" if dress == "crlf" else b"\n"
    content = end.join(lines)
    if dress == "bom":
        return b"\xef\xbb\xbf" + content
    if dress == "gz":
        packed = io.BytesIO()
        # No name and no time in the header: the same bytes every time.
        with gzip.GzipFile("", "wb", 9, packed, mtime=0) as target:
            target.write(content)
        return packed.getvalue()
    return compress(content) if dress == "zst" else content


def _write_unknown(dirt: Dirt, out: Path) -> None:
    """Write a file of no known format: the start of a core dump."""
    dirt.note("unknown_binary_files")
    path = out / "logs" / "misc" / "core.4711"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\x02\x01\x01" + dirt.rng.randbytes(4_089))
