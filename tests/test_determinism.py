"""The same records give the same bytes, however they were spread, packed and read."""

import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

import forensics
from forensics import lab
from forensics.cli import run
from forensics.lab.plain import encode, line, plain_files

Rows = dict[str, list[dict[str, Any]]]
Put = Callable[[Path], None]

MAY_DIFFER = {"manifest.json", "SHA256SUMS", "unreadable.csv", "evidence.parquet"}


def rows_of(faults: bool) -> Rows:
    """A small incident by file; with faults, every kind that a line can have."""
    rows = plain_files(lab.simulate(lab.small(requests=160)))
    if not faults:
        return rows
    rng = random.Random(5)
    free = [row for own in rows.values() for row in own if row.get("http_status") == 200]
    for row in rng.sample(free, 20):
        row["completion_tokens"] = rng.choice(["12", "abc", 7.5, 2**70])
    for row in rng.sample(free, 5):
        row["received_at"] = str(row["received_at"]).removesuffix("Z")
    for row in rng.sample(free, 20):
        row["prompt"] = {"text": "content"}
    first, *_, last = rows
    rows[last] += rng.sample(rows[first], 10)
    return rows


@pytest.fixture(scope="module")
def clean() -> Rows:
    return rows_of(faults=False)


@pytest.fixture(scope="module")
def dirty() -> Rows:
    return rows_of(faults=True)


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def outputs(logs: list[Path], out: Path, *options: str) -> dict[str, Any]:
    """The report's files: bytes, and of the evidence what must not differ."""
    code = run(["report", *map(str, logs), "-o", str(out), "-q", *options])
    assert code in (0, 3)
    return found(out) | {"exit": code}


def found(out: Path) -> dict[str, Any]:
    files = {p.name: p.read_bytes() for p in out.iterdir() if p.name not in MAY_DIFFER}
    evidence = pl.read_parquet(out / "evidence.parquet").drop("file", "line")
    return files | {"evidence": evidence.write_csv()}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


# --- plain records -------------------------------------------------------------------


def as_is(rows: Rows) -> dict[str, bytes]:
    return {f"{name}.ndjson": encode(own) for name, own in rows.items()}


def lines_of(rows: Rows) -> dict[str, list[bytes]]:
    return {name: [line(row) for row in own] for name, own in rows.items()}


def shuffled(rows: Rows) -> dict[str, bytes]:
    files = lines_of(rows)
    for own in files.values():
        random.Random(3).shuffle(own)
    return {f"{name}.ndjson": b"\n".join(own) + b"\n" for name, own in files.items()}


def one_file(rows: Rows) -> dict[str, bytes]:
    everything = [text for own in lines_of(rows).values() for text in own]
    random.Random(4).shuffle(everything)
    return {"all.ndjson": b"\n".join(everything)}


def in_pieces(rows: Rows) -> dict[str, bytes]:
    return {
        f"{9 - part}/{name.replace('/', '-')}.log": b"\r\n".join(own[part::3]) + b"\r\n"
        for name, own in lines_of(rows).items()
        for part in range(3)
        if own[part::3]
    }


def packed(rows: Rows) -> dict[str, bytes]:
    pack = [gzip.compress, zstandard.compress, bytes]
    files = as_is(rows)
    return {f"{name}.x{n % 3}": pack[n % 3](files[name]) for n, name in enumerate(sorted(files))}


SPREADS = [shuffled, one_file, in_pieces, packed]


@pytest.fixture(scope="module")
def references(clean, dirty, tmp_path_factory) -> dict[str, dict[str, Any]]:
    made = {}
    for kind, rows in (("clean", clean), ("dirty", dirty)):
        folder = tmp_path_factory.mktemp(kind)
        put(folder / "logs", as_is(rows))
        made[kind] = outputs([folder / "logs"], folder / "out")
    return made


def test_the_reference_has_something_to_get_wrong(references):
    document = json.loads(references["dirty"]["report.json"])
    (read,) = document["read"]
    assert references["clean"]["exit"] == 0
    assert references["dirty"]["exit"] == 3
    assert read["duplicate"] == 10
    assert read["unreadable"]
    assert read["bad_values"]
    assert document["headline"]["recipients"] > 1
    assert references["clean"]["evidence"].count("\n") > 100


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [pytest.param("clean", marks=pytest.mark.long), "dirty"])
@pytest.mark.parametrize("spread", SPREADS, ids=lambda spread: spread.__name__)
def test_order_split_and_packing_do_not_matter(spread, kind, references, request, tmp_path):
    put(tmp_path / "logs", spread(request.getfixturevalue(kind)))
    same(outputs([tmp_path / "logs"], tmp_path / "out"), references[kind])


def test_the_order_of_files_given_does_not_matter(references, dirty, tmp_path):
    put(tmp_path / "logs", as_is(dirty))
    files = sorted((tmp_path / "logs").rglob("*.ndjson"))
    same(outputs(files[::-1], tmp_path / "out"), references["dirty"])


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.long), "2"])
def test_the_number_of_processes_does_not_matter(references, dirty, tmp_path, workers):
    put(tmp_path / "logs", as_is(dirty))
    again = outputs([tmp_path / "logs"], tmp_path / "out", "--workers", workers)
    same(again, references["dirty"])


def in_process(logs: Path, out: Path, threads: int, hashes: int) -> dict[str, Any]:
    command = [sys.executable, "-c", "from forensics.cli import main; main()"]
    command += ["report", str(logs), "-o", str(out), "-q"]
    more = {"POLARS_MAX_THREADS": str(threads), "PYTHONHASHSEED": str(hashes)}
    path = {"PYTHONPATH": str(Path(forensics.__file__).parents[1])}
    done = subprocess.run(command, env=os.environ | more | path, capture_output=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout == b""
    return found(out) | {"exit": done.returncode}


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_number_of_threads_does_not_matter(references, dirty, tmp_path, threads):
    put(tmp_path / "logs", as_is(dirty))
    again = in_process(tmp_path / "logs", tmp_path / "out", threads, hashes=threads)
    same(again, references["dirty"])


# --- NDJSON, CSV, Parquet ------------------------------------------------------------


def flat(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            name: ";".join(f"{k}={v}" for k, v in value.items())
            if isinstance(value, dict)
            else value
            for name, value in row.items()
        }
        for row in rows
    ]


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    names = sorted({name for row in rows for name in row})
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(flat(rows))
    return text.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    names = sorted({name for row in rows for name in row})
    frame = {name: [row.get(name) for row in flat(rows)] for name in names}
    pl.DataFrame(frame).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(("end", "write"), [("csv", as_csv), ("parquet", as_parquet)])
def test_csv_and_parquet_give_what_ndjson_gives(references, clean, tmp_path, end, write):
    put(tmp_path / "logs", {f"{name}.{end}": write(own) for name, own in clean.items()})
    again = outputs([tmp_path / "logs"], tmp_path / "out")
    assert f"plain-{end}".encode() in again["report.json"]
    written = again["report.json"].replace(f"plain-{end}".encode(), b"plain-ndjson")
    document, before = (json.loads(x) for x in (written, references["clean"]["report.json"]))
    assert [count["format"] for count in document.pop("read")] == ["plain-ndjson"]
    before.pop("read")
    assert document == before
    for name in ("report.json", "report.html", "report.md"):
        again.pop(name)
    same(again, {k: v for k, v in references["clean"].items() if k in again})


# --- SGLang --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine_logs(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("sglang")
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def engine_reference(engine_logs, tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("reference")
    put(folder / "logs", engine_logs)
    return outputs([folder / "logs"], folder / "out")


@pytest.mark.long
def test_engine_logs_packed(engine_logs, engine_reference, tmp_path):
    files = {f"{name}.gz": gzip.compress(data) for name, data in engine_logs.items()}
    put(tmp_path / "logs", files)
    same(outputs([tmp_path / "logs"], tmp_path / "out", "--workers", "2"), engine_reference)


def test_engine_logs_with_their_lines_in_another_order(engine_logs, engine_reference, tmp_path):
    files = {}
    for name, data in engine_logs.items():
        lines = data.splitlines(keepends=True)
        random.Random(6).shuffle(lines)
        files[name] = b"".join(lines)
    put(tmp_path / "logs", files)
    same(outputs([tmp_path / "logs"], tmp_path / "out"), engine_reference)


@pytest.mark.long
def test_engine_logs_and_threads(engine_logs, engine_reference, tmp_path):
    put(tmp_path / "logs", engine_logs)
    again = in_process(tmp_path / "logs", tmp_path / "out", threads=1, hashes=1)
    same(again, engine_reference)
