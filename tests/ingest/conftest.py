"""Logs to read into sets, and what two sets or two reports have in common."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from forensics import lab
from forensics.cli import run

RUN_FACTS = (
    "tool", "python", "platform", "dependencies", "started_at", "seconds", "arguments",
    "incident_file",
)  # fmt: skip
AT = "2026-02-03T04:05:06Z"


def record(number: int, **more: Any) -> dict[str, Any]:
    """One request that decode served over pages it had not written."""
    return {
        "request_id": f"r-{number}", "tenant_id": f"tenant-{number % 3}", "hop": "decode",
        "received_at": AT, "decode_node": f"decode-{number % 2}/dp0", "http_status": 200,
        "reserved_pages": 9, "transferred_pages": 1, "completion_tokens": 5,
    } | more  # fmt: skip


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in records)


@pytest.fixture(scope="session")
def small_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Engine logs and plain records of one small incident, with lines that cannot be read."""
    folder = tmp_path_factory.mktemp("small") / "logs"
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    plain = folder / "gateway.ndjson"
    odd = [
        record(900, request_id="has white space"),
        record(901, prefill_request_id="x" * 200),
        record(902, completion_tokens="many"),
        record(903, received_at=None),
    ]
    named = [record(n) for n in range(20)]
    plain.write_bytes(lines(*named, *odd, *named[:5]) + b'{"request_id": "cut\n')
    (folder / "notes.txt").write_bytes(b"nothing of any form")
    return folder


def ingest(*logs: Path | str, out: Path, options: tuple[str, ...] = ()) -> int:
    """Run the command; returns its exit code."""
    return run(["ingest", *map(str, logs), "-o", str(out), "-q", *options])


def held(folder: Path) -> dict[str, Any]:
    """All bytes of a set but the facts of the run that made it."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    kept = {name: value for name, value in manifest.items() if name not in RUN_FACTS}
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    sums = [
        line for line in files.pop("SHA256SUMS").splitlines() if not line.endswith(b"manifest.json")
    ]
    files.pop("manifest.json")
    return files | {"the manifest's own": kept, "sums": sums}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def report(*logs: Path | str, out: Path, options: tuple[str, ...] = ()) -> dict[str, bytes]:
    """All bytes of a report but those that tell when and from where it was made."""
    assert run(["report", *map(str, logs), "-o", str(out), "-q", *options]) in (0, 3)
    return {
        path.name: path.read_bytes()
        for path in out.iterdir()
        if path.name not in ("manifest.json", "SHA256SUMS")
    }


def rows(folder: Path, kind: str = "observations") -> pl.DataFrame:
    """All rows of a kind that a set holds."""
    return pl.concat([pl.read_parquet(path) for path in sorted((folder / kind).rglob("*.parquet"))])


@pytest.fixture
def kit() -> SimpleNamespace:
    """What tests of sets do again and again."""
    return SimpleNamespace(
        record=record, lines=lines, ingest=ingest, held=held, same=same, report=report, rows=rows
    )
