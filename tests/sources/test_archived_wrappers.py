"""Logs behind nested wrappers, in archives of every packing: the records of the logs themselves."""

import bz2
import gzip
import lzma
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import forensics
from tests.sources.test_archives import tar_of, zip_of
from tests.sources.wraplines import WRAPPERS

DATA = Path(__file__).parents[1] / "_data" / "sources"
LOGS = {
    "node-1/vllm.log": "vllm.log",
    "node-2/sglang.log": "sglang.log",
    "gateway/envoy.jsonl": "profiles/envoy-ai-gateway.jsonl",
}
ARCHIVES = {
    "b.tar.gz": lambda files: gzip.compress(tar_of(files)),
    "b.tar.xz": lambda files: lzma.compress(tar_of(files), preset=0),
    "b.tar.bz2": lambda files: bz2.compress(tar_of(files)),
    "b.zip": zip_of,
    "b.zip of gz": lambda files: zip_of({f"{n}.gz": gzip.compress(d) for n, d in files.items()}),
}
NESTS = [
    ("docker", "cri"),
    ("process doubled", "journald"),
    ("kubectl", "loki"),
    ("colour", "elastic"),
    ("cri partial", "docker split"),
]


def wrapped(inner: str, outer: str) -> dict[str, bytes]:
    found = {}
    for name, path in LOGS.items():
        lines = [line for line in (DATA / path).read_text().split("\n") if line]
        found[name] = WRAPPERS[outer](WRAPPERS[inner](lines).split("\n")).encode()
    return found


def told(folder: Path) -> tuple[pl.DataFrame, list[object]]:
    case = forensics.read_logs(folder)
    read = [item for item in case.exposure().read if item.format != "archive"]
    return case.requests.polars().sort("request_id", "received_at"), read


@pytest.mark.few(5)
@pytest.mark.parametrize(("archive", "nest"), list(product(ARCHIVES, NESTS)))
def test_an_archive_hides_no_record_of_a_wrapped_log(tmp_path, archive, nest):
    files = wrapped(*nest)
    for name, data in files.items():
        path = tmp_path / "loose" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / archive.split(" ")[0]).write_bytes(ARCHIVES[archive](files))
    (rows, counts), (alone, counts_alone) = told(tmp_path / "packed"), told(tmp_path / "loose")
    assert {item.format for item in counts} == {"vllm", "sglang", "envoy-ai-gateway"}
    assert counts == counts_alone
    assert all(item.kept and not item.unreadable for item in counts)
    assert rows.equals(alone)
