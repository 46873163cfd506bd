"""Text planted wherever a record can hold some appears nowhere: no file, no stream, no error."""

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import forensics
import forensics.case
import forensics.ingest.one
from forensics.cli import run

DATA = Path(__file__).parent / "_data" / "sources"
MARK = "CANARY"
"""Every planted text holds it; none is short enough and plain enough to be an identifier."""

AT = "2026-02-03T04:07:01Z"
REQUEST = {
    "hop": "decode", "tenant_id": "tenant-a", "received_at": AT, "decode_node": "decode-1/dp0",
    "decode_prompt_tokens": 50_000, "completion_tokens": 12, "http_status": 200,
}  # fmt: skip
TEXT = f"{MARK} dear assistant, my name is"
LONG = f"{MARK}-{'x' * 300}"
ODD: list[Any] = [TEXT, LONG, [TEXT], {MARK: TEXT}, {"a": {"b": [TEXT]}}, f"{TEXT}\n{TEXT}"]
COLUMNS = [
    "hop", "request_id", "prefill_request_id", "transfer_id", "received_at", "finished_at",
    "prefill_node", "decode_node", "prompt_tokens", "prefill_prompt_tokens", "cached_tokens",
    "prefill_ms", "reserved_pages", "transfer_status", "reserved_at", "rejected",
    "rejection_code", "http_status", "stream_error", "finish_reason", "completion_tokens",
    "owner_generation", "pool_tokens", "node", "role", "effective_at", "pool_basis", "engine",
    "engine_version", "disaggregated", "allocator", "config", "marker", "planted_request_id",
    "seen_at",
]  # fmt: skip
NAMES = ["tenant_id", "model", "sender_tenant", "receiver_tenant", "slot_owner", "planted_tenant"]
"""Up to 256 characters of a name are kept as they are; what is no name is not."""


def plain_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(**more: Any) -> None:
        room = str(6066694201313984764 + len(rows))
        rows.append(REQUEST | {"request_id": f"r-{len(rows)}", "transfer_id": room} | more)

    # One over the limit, so that there is something to list.
    pool = {"node": "prefill-1/dp0", "role": "prefill", "effective_at": "2026-02-03T04:00:00Z"}
    rows.append(pool | {"pool_tokens": 40_960, "page_tokens": 64, "context_tokens": 65_536})
    for number, value in enumerate((*ODD, f"quantization={TEXT};{MARK}=1", {"tp_size": TEXT})):
        other = {"node": f"prefill-2/dp{number}", "pool_tokens": 40_960, "config": value}
        rows.append(pool | other | {"engine": TEXT, "allocator": TEXT, MARK: TEXT})
    add(prompt=TEXT, messages=[{"role": "user", "content": TEXT}], output=TEXT)
    add(**{MARK: 1, f"{MARK} key": {MARK: TEXT}})
    add(error=TEXT, headers={"x-tenant-id": [TEXT], MARK: TEXT})
    for column in COLUMNS:
        for value in ODD:
            add(**{column: value})
    for column in NAMES:
        for value in (f"{LONG:257}", [TEXT], {MARK: TEXT}):
            add(**{column: value})
    add(config={"quantization": TEXT, MARK: TEXT, "tp_size": [TEXT]})
    add(config=f"{MARK}=1;quantization={TEXT};tp_size=8")
    return rows


def ndjson() -> bytes:
    good = b"".join(json.dumps(row).encode() + b"\n" for row in plain_rows())
    cut = json.dumps(REQUEST | {"request_id": TEXT}).encode()
    bad = [
        TEXT.encode(),
        f'["{TEXT}"]'.encode(),
        f'"{TEXT}"'.encode(),
        f'{{"request_id": "{TEXT}'.encode(),
        f'{{"{MARK}": tru'.encode(),
        f'{{"request_id": "{TEXT} '.encode() + b'\xff\xfe"}',
        b'{"request_id": \xff "' + TEXT.encode() + b'"}',
        cut + cut,
        f'{{"request_id": "{TEXT}", "x": '.encode() + b"[" * 9_999,
        f'{{"received_at": "2026-02-03T04:05:06", "prompt": "{TEXT}"}}'.encode(),
        f'{{"prompt": "{TEXT}"}}'.encode(),
        f'{{"tenant_id": "\\ud83d", "prompt": "{TEXT} \\ud83d", "hop": "{TEXT}"}}'.encode(),
    ]
    end = cut[: cut.index(MARK.encode()) + 4]
    return good + b"\n".join(bad) + b"\n" + end


def as_csv() -> bytes:
    text = io.StringIO()
    head = ["request_id", "received_at", "completion_tokens", "http_status", "prompt", f"{MARK} h"]
    writer = csv.writer(text)
    writer.writerow(head)
    for value in (TEXT, LONG, f'{TEXT}"\n{TEXT}'):
        for at in range(len(head)):
            row = ["r-1", AT, "12", "200", "", ""]
            row[at] = value
            writer.writerow(row)
    writer.writerow(["r-2", AT, TEXT])
    writer.writerow(["r-2", AT, "1", "1", TEXT, TEXT, TEXT])
    tail = f'r-3,{AT},1,200,"{TEXT}"{TEXT},x\nr-4,{AT},1,200,a\r{TEXT},x\nr-5,{AT},1,200,"{TEXT}\n'
    return text.getvalue().encode() + tail.encode() + b"\xff" + TEXT.encode()


def as_parquet() -> bytes:
    broken = pa.array([TEXT.encode() + b"\xff", b"r-2"], pa.binary())
    table = pa.table(
        {
            "request_id": pa.array(["r-1", TEXT]),
            "received_at": pa.array([AT, TEXT]),
            "tenant_id": pa.Array.from_buffers(pa.string(), 2, broken.buffers()),
            "completion_tokens": pa.array([TEXT, "1"]),
            "decode_prompt_tokens": pa.array([[TEXT], None]),
            "hop": pa.array([{MARK: TEXT}, None]),
            "transfer_id": pa.array([TEXT, None]).dictionary_encode(),
            "prompt": pa.array([TEXT, TEXT]),
            f"{MARK} column": pa.array([TEXT, TEXT]),
        },
        metadata={MARK: TEXT, "pandas": json.dumps({"a": TEXT})},
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="none")
    return buffer.getvalue()


ODD_META = {"prompt_tokens": TEXT, "dp_rank": TEXT, "finish_reason": {"type": TEXT, MARK: 1}}
ODD_RECORD = {"event": "request.finished", "rid": "x", "out": {"meta_info": ODD_META}}


def engine_log() -> bytes:
    extra = [
        f"[2026-02-03 04:09:00 DP1 TP4 EP4] ReqTimeStats(rid={TEXT}, input_len=5",
        f"[2026-02-03 04:09:00 DP1 TP4 EP4] #tokens: {TEXT}",
        f"[2026-02-03 04:09:00] max_total_num_tokens={TEXT}",
        f"[2026-02-03 04:09:00] server_args=ServerArgs(api_key='{TEXT}', chat_template='{TEXT}')",
        f"[2026-02-03 04:09:00 DP0 TP0] Input length ({TEXT}) exceeds the maximum allowed length",
        f"[2026-02-03 04:09:00 DP0 TP0] Decode transfer failed for request rank=0 {TEXT}",
        f"[{TEXT}] KV Cache is allocated. #tokens: 640",
        f'{{"event": "request.finished", "rid": "{TEXT}", "obj": {{"bootstrap_room": "{TEXT}"}}}}',
        f'{{"event": "{TEXT}", "rid": "{TEXT}", "out": "{TEXT}", "timestamp": "{TEXT}"}}',
        f'{{"event": "request.received", "rid": ["{TEXT}"], "timestamp": {{"{MARK}": "{TEXT}"}}}}',
        json.dumps(ODD_RECORD),
        f'{{"event": "request.finished", "headers": {{"x-tenant-id": ["{TEXT}"]}}, "rid": "{TEXT}',
    ]
    return (
        (DATA / "sglang.log").read_bytes() + "\n".join(extra).encode() + b"\n\xff" + TEXT.encode()
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / "logs"
    folder.mkdir()
    files = {
        "plain.ndjson": ndjson(),
        "plain.csv": as_csv(),
        "plain.parquet": as_parquet(),
        "prefill-1.log": engine_log(),
        "sample.ndjson": (DATA / "plain.ndjson").read_bytes(),
        "sample.csv": (DATA / "plain.csv").read_bytes(),
        "cut.gz": gzip.compress(ndjson(), 0)[:9_000],
        "cut.zst": zstandard.compress(ndjson())[:-9],
        "damaged.parquet": as_parquet()[:-30],
        "dump.pkl": b"\x80\x04" + TEXT.encode(),
        "notes.txt": TEXT.encode(),
        "binary": b"\0\1\2" + TEXT.encode(),
        "utf16.log": TEXT.encode("utf-16"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def planted(data: bytes) -> bool:
    """Codes are compared in lower case, so that is looked for as well."""
    marks = (MARK, TEXT[:12].lower(), LONG[:8].lower())
    return any(m.encode(k) in data for m in marks for k in ("utf-8", "utf-16-le", "utf-16-be"))


def texts(path: Path) -> list[bytes]:
    """A file's bytes, and its cells where they are compressed."""
    data = [path.read_bytes()]
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        data.append(str(frame.to_dicts()).encode())
        data.append(str(pq.read_schema(path).metadata).encode())
    return data


def test_the_planted_files_have_much_to_lose(logs):
    assert sum(planted(path.read_bytes()) for path in logs.iterdir()) >= 9
    assert (logs / "plain.ndjson").read_text(errors="replace").count(MARK) > 300


@pytest.fixture
def watched(tmp_path, monkeypatch) -> Path:
    """Temporary files go here, and a copy of what lay there when reading ended."""
    temporary, kept = tmp_path / "tmp", tmp_path / "kept"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    analyse = forensics.case.analyse

    def copying(*arguments: Any) -> Any:
        shutil.copytree(temporary, kept, dirs_exist_ok=True)
        return analyse(*arguments)

    monkeypatch.setattr(forensics.case, "analyse", copying)
    return kept


def test_no_text_in_files_streams_or_temporary_files(logs, tmp_path, watched, capfdbinary):
    out = tmp_path / "out"
    assert run(["report", str(logs), "-o", str(out)]) == 3
    assert run(["report", str(logs), "-o", str(out), "--json", "--force"]) == 3
    assert run(["scope", str(logs), "--json"]) == 3
    assert run(["scope", str(logs)]) == 3
    streams = capfdbinary.readouterr()
    assert streams.out
    assert streams.err
    assert not planted(streams.out)
    assert not planted(streams.err)
    written = [path for path in out.rglob("*") if path.is_file()]
    assert len(written) > 15
    parts = [path for path in watched.rglob("*") if path.is_file()]
    assert len(parts) >= 4, "the watched folder is the one that is used"
    for path in (*written, *parts):
        for data in texts(path):
            assert not planted(data), path.name
    assert list((tmp_path / "tmp").iterdir()) == [], "temporary files are gone at the end"


def test_no_text_in_an_evidence_set_or_in_what_it_is_made_of(
    logs, tmp_path, monkeypatch, capfdbinary
):
    made, kept = tmp_path / "set", tmp_path / "kept"
    write = forensics.ingest.one._write

    def copying(job: Any, *arguments: Any) -> None:
        shutil.copytree(made / ".work", kept / str(job.source.number))
        write(job, *arguments)

    monkeypatch.setattr(forensics.ingest.one, "_write", copying)
    assert run(["ingest", str(logs), "-o", str(made)]) == 3
    assert run(["ingest", str(logs), "-o", str(made), "--json"]) == 3
    streams = capfdbinary.readouterr()
    assert streams.out
    assert not planted(streams.out + streams.err)
    written = [path for path in made.rglob("*") if path.is_file()]
    parts = [path for path in kept.rglob("*") if path.is_file()]
    assert {path.suffix for path in written} == {".json", ".parquet", ".state", ""}
    assert len(parts) >= 4
    for path in (*written, *parts):
        assert not planted(path.name.encode())
        for data in texts(path):
            assert not planted(data), path.name


def test_an_evidence_set_keeps_what_was_read(logs, tmp_path):
    """Rows that are named by their place as well."""
    assert run(["ingest", str(logs), "-o", str(tmp_path / "set"), "-q"]) == 3
    raw, again = forensics.read_logs(logs), forensics.read_logs(tmp_path / "set")
    assert again.requests.polars().equals(raw.requests.polars())
    ids = again.requests.polars()["request_id"].drop_nulls()
    assert set(ids.str.extract(r"^redacted:(plain\.\w+|prefill-1\.log):\d+$").drop_nulls()) == {
        "plain.ndjson", "plain.csv", "plain.parquet", "prefill-1.log",
    }  # fmt: skip


def test_what_was_read_is_in_the_report_all_the_same(logs, tmp_path):
    """The absence of text means something only where records were kept."""
    case = forensics.read_logs(logs)
    formats = {facts.format for facts in case.analysis.files if facts.kept}
    assert formats == {"plain-ndjson", "plain-csv", "plain-parquet", "sglang"}
    assert len(case.requests) > 150
    assert len(case.affected) + len(case.not_assessable) > 50
    ids = case.requests.polars()["request_id"].drop_nulls()
    assert ids.str.starts_with("redacted:plain.").any()


def test_no_text_in_representations(logs):
    case = forensics.read_logs(logs)
    tables = [
        case.requests, case.affected, case.ruled_out, case.not_assessable, case.tenants,
        case.sources, case.capacity, case.timing, case.coverage, case.unreadable,
    ]  # fmt: skip
    shown = [repr(case), case._repr_html_(), repr(case.analysis), repr(case.exposure())]
    shown += [
        repr(table) + table._repr_html_() + str(table.polars().to_dicts()) for table in tables
    ]
    shown.append(str(case.analysis.observations.to_dicts()))
    shown.append(str(case.lineage().to_dicts()))
    assert not [text[:80] for text in shown if planted(text.encode())]


@pytest.mark.long
def test_no_text_from_processes_of_their_own(logs, tmp_path):
    command = [sys.executable, "-X", "dev", "-c", "from forensics.cli import main; main()"]
    command += ["report", str(logs), "-o", str(tmp_path / "out"), "--workers", "2"]
    path = {"PYTHONPATH": str(Path(forensics.__file__).parents[1])}
    done = subprocess.run(command, env=os.environ | path, capture_output=True, check=False)
    assert done.returncode == 3, done.stderr[-2_000:]
    assert not planted(done.stdout)
    assert not planted(done.stderr)


ONLY_BAD = {
    "a.ndjson": TEXT.encode() + b'\n{"request_id": "' + TEXT.encode() + b"\n",
    "b.csv": f'request_id,received_at,"{TEXT}\n'.encode(),
    "c.parquet": b"PAR1" + TEXT.encode(),
    "d.gz": gzip.compress(TEXT.encode())[:-9],
    "e.log": TEXT.encode(),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ONLY_BAD)
def test_no_text_where_nothing_can_be_read(tmp_path, capfdbinary, name):
    path = tmp_path / name
    path.write_bytes(ONLY_BAD[name])
    assert run(["report", str(path), "-o", str(tmp_path / "out")]) in (3, 4)
    for form in (None, "plain-ndjson", "plain-csv", "plain-parquet", "sglang"):
        try:
            shown = repr(forensics.read_logs(path, format=form))
        except forensics.ForensicsError as error:
            shown = (
                "".join(traceback.format_exception(error)) + repr(error) + str(error.__context__)
            )
        assert MARK not in shown
    streams = capfdbinary.readouterr()
    assert not planted(streams.out + streams.err)


def test_an_unexpected_error_shows_its_place_and_not_its_text(logs, tmp_path, monkeypatch, capsys):
    class PanicError(BaseException):
        """Like what comes out of a library that was not written in Python."""

    for error in (ValueError, PanicError, RecursionError, MemoryError):

        def fail(*_: Any, error: type[BaseException] = error) -> None:
            raise error(TEXT)

        monkeypatch.setattr(forensics.case, "analyse", fail)
        assert run(["report", str(logs), "-o", str(tmp_path / "out"), "-q"]) == 1
        shown = capsys.readouterr().err
        assert MARK not in shown
        assert f"unexpected {error.__name__} at test_no_content.py" in shown or "case.py" in shown
        assert "Traceback" not in shown
        assert not (tmp_path / "out").exists()
