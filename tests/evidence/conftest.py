"""A small incident with some of everything, its report, and ways to change what was written."""

import contextlib
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import lab
from forensics.cli import run

CANARY = "CANARY-7c1f dear assistant, my name is"
INCIDENT = """
[case]
id = "INC-1"
[scope]
window = ["2026-03-01T00:00:00Z", "2026-03-20T00:00:00Z"]
"""
BASE = {"hop": "decode", "received_at": "2026-03-02T00:10:00Z", "decode_node": "decode-01/dp0"}
SHORT = BASE | {"http_status": 200, "reserved_pages": 500, "transferred_pages": 1}
EXTRA = (
    BASE | {"request_id": "served", "tenant_id": "tenant-x", "http_status": 200},
    SHORT | {"request_id": "nameless", "completion_tokens": 7},
    SHORT | {"request_id": "short", "tenant_id": "tenant-y", "prompt": CANARY},
    {"node": "prefill-09/dp0", "role": "prefill", "pool_tokens": 4_096, "context_tokens": 8_192},
)
BROKEN = (f'{{"request_id": "{CANARY}', f'{{"prompt": "{CANARY}", "received_at": "x"')


def write_case(folder: Path) -> Path:
    """Write logs in three packings, with what cannot be read or judged, and an incident file."""
    lab.write_plain(lab.simulate(lab.small(requests=120)), folder)
    lines = [*(json.dumps(row) for row in EXTRA), *BROKEN]
    (folder / "logs" / "extra.ndjson").write_text("\n".join(lines) + "\n")
    more = json.dumps(BASE | {"request_id": "packed", "http_status": 503}) + "\n"
    (folder / "logs" / "packed.ndjson.gz").write_bytes(gzip.compress(more.encode(), mtime=0))
    (folder / "incident.toml").write_text(INCIDENT)
    return folder


def report(folder: Path, out: str = "out", *more: str) -> Path:
    """Write the report of a case, called from its folder, and return the report's."""
    with contextlib.chdir(folder):
        assert run(["report", "logs", "-i", "incident.toml", "-o", out, "-q", *more]) == 3
    return folder / out


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case with its report; read-only by agreement."""
    folder = write_case(tmp_path_factory.mktemp("case"))
    report(folder)
    return folder


@pytest.fixture
def out(case: Path, tmp_path: Path) -> Path:
    """A copy of the report, to be changed; its inputs lie where they lay."""
    shutil.copytree(case / "out", tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def own(case: Path, tmp_path: Path) -> Path:
    """A case of the test's own, as if it had been reported where it lies."""
    folder = tmp_path / "case"
    shutil.copytree(case, folder)
    manifest, sums = folder / "out" / "manifest.json", folder / "out" / "SHA256SUMS"
    before = hashlib.sha256(manifest.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(f'"{case}', f'"{folder}'))
    after = hashlib.sha256(manifest.read_bytes()).hexdigest()
    sums.write_text(sums.read_text().replace(before, after))
    return folder


@pytest.fixture
def make_report() -> Callable[..., Path]:
    """Write the report of a case, as the fixtures do."""
    return report


@pytest.fixture
def reseal() -> Callable[[Path], None]:
    """Make hashes fit what now lies in a folder, as somebody would who hides a change."""

    def write(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        for item in manifest["outputs"]:
            data = (folder / item["name"]).read_bytes()
            item |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2))
        names = sorted([*(item["name"] for item in manifest["outputs"]), "manifest.json"])
        lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
        (folder / "SHA256SUMS").write_text("".join(lines))

    return write


@pytest.fixture
def canary() -> str:
    """What no output may hold."""
    return CANARY
