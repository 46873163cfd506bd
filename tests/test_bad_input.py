"""Input as it should not be: one clear sentence, the right exit code, the rest still read."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.sources import reading, registry

GOOD = {
    "hop": "decode", "request_id": "r-1", "transfer_id": "77", "tenant_id": "t",
    "received_at": "2026-02-03T04:05:06Z", "decode_prompt_tokens": 5, "completion_tokens": 1,
    "reserved_pages": 1, "transferred_pages": 1, "http_status": 200,
}  # fmt: skip
LINE = json.dumps(GOOD).encode() + b"\n"


@pytest.fixture
def report(tmp_path, capsys):
    """Report some files beside a good one; return the exit code, stderr and the manifest."""

    def go(*logs: str | Path, alone: bool = False, options: tuple[str, ...] = ()) -> Any:
        good = tmp_path / "good.ndjson"
        good.write_bytes(LINE)
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        named = [str(log) for log in logs] + ([] if alone else [str(good)])
        code = run(["report", *named, "-o", str(out), "-q", *options])
        err = capsys.readouterr().err
        assert "Traceback" not in err
        assert out.exists() == (code in (0, 3, 10))
        assert not [p for p in tmp_path.iterdir() if p.name.startswith(".out")]
        manifest = json.loads((out / "manifest.json").read_text()) if out.exists() else None
        if manifest and not alone:
            by_name = {Path(item["name"]).name: item for item in manifest["inputs"]}
            assert by_name["good.ndjson"]["kept"] == 1, "other files are still read"
        return code, err, manifest

    return go


# --- files that are none -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.log", "gone.log: no such file or folder"),
        ("*.gone", "*.gone: no file matches"),
        ("empty", "empty: the folder holds no file"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_what_is_not_there_is_no_input(report, tmp_path, name, message, alone):
    (tmp_path / "empty").mkdir()
    code, err, _ = report(tmp_path / name, alone=alone)
    assert code == 4
    assert err == f"forensics: {tmp_path / message}\n"


NOT_READ = {
    "empty.log": (b"", "empty file"),
    "blank.log": (b"\n\n", "no record: only blank lines"),
    "text.log": (b"dear diary\n", "no known format"),
    "binary.log": (b"\x01\0\2" * 99, "binary file of no known format"),
    "dump.pkl": (b"\x80\x05rest", "pickle: never opened, it holds content and can run code"),
    "wide.log": (LINE.decode().encode("utf-16-le"), "binary file of no known format"),
    "cut.gz": (gzip.compress(LINE)[:9], "compressed data ends early"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NOT_READ)
def test_a_file_that_cannot_be_read_alone_and_beside_others(report, tmp_path, name):
    data, reason = NOT_READ[name]
    path = tmp_path / name
    path.write_bytes(data)
    code, err, _ = report(path, alone=True)
    assert code == 4
    # Of lines in no known format, their shape follows.
    assert (
        re.split(", its lines", err.strip())[0] == f"forensics: nothing readable: {path}: {reason}"
    )
    code, err, manifest = report(path)
    assert code == 3
    assert f"1 file not read: {reason}" in err
    item = next(item for item in manifest["inputs"] if item["name"] == str(path))
    assert (item["read"], item["unreadable"], item["format"]) == (1, 1, None)
    unread = pl.read_csv(tmp_path / "out" / "unreadable.csv")
    assert unread.select("file", "reason").rows() == [(str(path), reason)]


def test_a_file_without_any_record_is_no_input(report, tmp_path):
    path = tmp_path / "head.csv"
    path.write_bytes(b"request_id,received_at,prompt_tokens\n")
    code, err, _ = report(path, alone=True)
    assert (code, err) == (4, f"forensics: nothing readable: {path}: no record in it\n")
    assert report(path)[0] == 0
    text = tmp_path / "text.log"
    text.write_bytes(b"dear diary\n")
    code, err, _ = report(text, alone=True, options=("--format", "sglang"))
    assert code == 4, "a report on lines that were all passed over would look clean"


def test_a_file_that_disappears_costs_itself_alone(report, tmp_path, monkeypatch):
    gone = tmp_path / "a.ndjson"
    gone.write_bytes(LINE)
    original = reading.read_shard

    def late(shard, **options):
        gone.unlink(missing_ok=True)
        return original(shard, **options)

    monkeypatch.setattr("forensics.case.read_shard", late)
    code, err, manifest = report(gone)
    assert code == 3
    assert "1 file not read: cannot be read: No such file or directory" in err
    assert manifest["inputs"][0]["unreadable"] == 1


def test_a_file_that_breaks_off_while_it_is_read(report, tmp_path, monkeypatch):
    broken = tmp_path / "a.ndjson"
    broken.write_bytes(LINE.replace(b"r-1", b"r-2").replace(b"77", b"78"))

    def fail(opened, context):
        yield from original(opened, context)
        raise OSError(5, "Input/output error")

    plain = registry.by_name("plain-ndjson")
    original = plain.read
    monkeypatch.setattr(registry, "FORMATS", [registry.Format(**{**vars(plain), "read": fail})])
    code, _, manifest = report(broken)
    assert code == 3
    item = manifest["inputs"][0]
    assert (item["read"], item["kept"], item["unreadable"]) == (2, 1, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(report, tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(LINE)
    path.chmod(0)
    code, err, _ = report(path)
    assert code == 3
    assert "cannot be read: Permission denied" in err


# --- usage ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "wrong"), "unknown format 'wrong'; known: plain-parquet, sglang, "),
        (("--workers", "0"), "--workers"),
        (("--fail-on", "ruled_out"), "--fail-on"),
        (("--no-such",), "--no-such"),
        (("-i", "gone.toml"), "gone.toml: cannot be read (No such file or directory)"),
    ],
)
def test_a_call_that_cannot_be_carried_out(report, options, message):
    code, err, _ = report(options=options)
    assert code == 2
    assert message in err


def test_an_incident_that_cannot_be_right(report, tmp_path):
    path = tmp_path / "incident.toml"
    path.write_text("[trigger]\nthreshold_token = 5\n")
    code, err, _ = report(options=("-i", str(path)))
    assert code == 2
    assert err == (
        f"forensics: {path}: unknown key 'trigger.threshold_token'; "
        "did you mean 'threshold_tokens'?\n"
    )


@pytest.mark.parametrize("arguments", [["report"], ["report", "x"], [], ["nothing"], ["--help"]])
def test_calls_without_enough(capsys, arguments):
    code = run(arguments)
    assert code == (0 if arguments == ["--help"] else 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("form", "code"), [("plain-csv", 4), ("plain-parquet", 3), ("sglang", 4)])
def test_a_stated_format_that_is_not_that_of_the_file(tmp_path, form, code):
    (tmp_path / "x.ndjson").write_bytes(LINE)
    assert run(["scope", str(tmp_path / "x.ndjson"), "-q", "--format", form]) == code


# --- standard input ------------------------------------------------------------------


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(data))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_standard_input_beside_a_file(report, monkeypatch, pack, workers):
    other = json.dumps(GOOD | {"request_id": "r-2", "transfer_id": "78"}).encode()
    monkeypatch.setattr(sys, "stdin", _Stdin(pack(other)))
    code, _, manifest = report("-", options=("--workers", workers))
    assert code == 0
    assert (manifest["inputs"][0]["name"], manifest["inputs"][0]["kept"]) == ("-", 1)


def test_nothing_on_standard_input(report, monkeypatch):
    monkeypatch.setattr(sys, "stdin", _Stdin(b""))
    code, err, _ = report("-", alone=True)
    assert (code, err) == (4, "forensics: nothing readable: -: empty file\n")


COMMAND = [sys.executable, "-c", "from forensics.cli import main; main()"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(forensics.__file__).parents[1])}


class _Drip(io.RawIOBase):
    """A pipe whose writer is slow: one byte comes first."""

    def __init__(self, data: bytes) -> None:
        self._left = [data[:1], data[1:]]

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        data = self._left.pop(0) if self._left else b""
        into[: len(data)] = data
        return len(data)


def test_a_pipe_that_begins_with_a_single_byte(report, monkeypatch):
    stdin = _Stdin(b"")
    stdin.buffer = io.BufferedReader(_Drip(gzip.compress(LINE)))
    monkeypatch.setattr(sys, "stdin", stdin)
    code, _, manifest = report("-", alone=True)
    assert code == 0
    assert manifest["inputs"][0]["kept"] == 1


# --- lines ---------------------------------------------------------------------------


def numbers(path: Path, options: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    out = path.parent / "numbers"
    code = run(["report", str(path), "-o", str(out), "-q", "--force", *options])
    return code, json.loads((out / "report.json").read_text())["read"][0]


def test_values_that_are_none_are_counted_and_the_record_stays(tmp_path):
    odd: list[str] = ["1180591620717411303424", "1e400", "-3", '"abc"', "7.5", "[1]", "{}"]
    path = tmp_path / "x.ndjson"
    rows = [
        LINE.decode().replace('"completion_tokens": 1', f'"completion_tokens": {value}')
        .replace("r-1", f"r-{n}").replace('"77"', f'"{90 + n}"')
        for n, value in enumerate(odd)
    ]  # fmt: skip
    path.write_text("".join(rows))
    code, count = numbers(path)
    assert code == 3
    assert (count["kept"], count["bad_values"]) == (7, {"completion_tokens": 7})


def test_ways_to_write_lines(tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_bytes(b"\xef\xbb\xbf" + LINE.replace(b"\n", b"\r\n\r\n"))
    assert numbers(path)[0] == 0
    path.write_bytes(LINE + b'{"request_id": "\0"}\n' + LINE.strip() + LINE.strip())
    code, count = numbers(path)
    assert code == 3
    assert count["unreadable"] == {"not valid JSON": 3}


def test_a_naive_time_without_a_stated_zone(tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_bytes(LINE + LINE.replace(b"06Z", b"06").replace(b"r-1", b"r-2"))
    code, count = numbers(path)
    assert code == 3
    assert count["unreadable"] == {"time without a zone; state it as [logs] timezone": 1}
    incident = tmp_path / "incident.toml"
    incident.write_text('[logs]\ntimezone = "Europe/Berlin"\n')
    code, count = numbers(path, ("-i", str(incident)))
    assert (code, count["kept"]) == (0, 2)


def test_a_wrong_epoch_unit_is_no_time_and_no_crash(tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_bytes(LINE.replace(b'"2026-02-03T04:05:06Z"', b"1770091506000"))
    incident = tmp_path / "incident.toml"
    for unit, code in (("ms", 0), ("s", 3)):
        incident.write_text(f'[logs]\nepoch_unit = "{unit}"\n')
        assert numbers(path, ("-i", str(incident)))[0] == code


@pytest.mark.long
def test_a_line_of_50_mb_is_read(tmp_path):
    path = tmp_path / "x.ndjson"
    more = json.dumps(GOOD | {"request_id": "r-2", "prompt": "x" * (50 << 20)}).encode()
    path.write_bytes(LINE + more + b"\n")
    code, count = numbers(path)
    assert (code, count["kept"]) == (0, 2)


LIMITED = """
import re, sys
from forensics.cli import run
code = run(sys.argv[1:])
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) >> 10)
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is looked up in /proc")
def test_a_line_without_end_is_skipped_in_bounded_memory(tmp_path):
    path = tmp_path / "x.ndjson"
    with path.open("wb") as file:
        file.write(LINE + b'{"request_id": "r-2", "prompt": "')
        for _ in range(700):
            file.write(b"x" * (1 << 20))
    command = [
        sys.executable,
        "-c",
        LIMITED,
        "report",
        str(path),
        "-o",
        str(tmp_path / "out"),
        "-q",
    ]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    path.unlink()
    assert done.returncode == 3, done.stderr
    assert int(done.stdout) < 500, "megabytes at the most, for 700 in one line"
    reasons = pl.read_csv(tmp_path / "out" / "unreadable.csv")
    assert reasons.select("line", "byte_offset", "reason").rows() == [
        (2, len(LINE), "line longer than 64 MiB")
    ]


# --- the end -------------------------------------------------------------------------


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, capsys):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (tmp_path / "a.ndjson").write_bytes(LINE)
    for place in (
        "forensics.case.analyse",
        "forensics.report.html.render",
        "forensics.case.read_shard",
    ):
        with monkeypatch.context() as patch:

            def interrupt(*_: object, **__: object) -> None:
                raise KeyboardInterrupt

            patch.setattr(place, interrupt)
            code = run(["report", str(tmp_path / "a.ndjson"), "-o", str(tmp_path / "out"), "-q"])
        assert code == 130, place
        said = capsys.readouterr().err.strip()
        assert said.endswith("interrupted; no output lies there half-written")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ndjson", "tmp"]
        assert list(temporary.iterdir()) == []


SLEEP = """
import sys, time
from forensics import runners
from forensics.runners.pool import Pool
try:
    Pool(2).map(time.sleep, [120, 120], lambda _: None)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_an_interrupt_of_the_whole_group_ends_the_pool_at_once():
    with subprocess.Popen(
        [sys.executable, "-c", SLEEP],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 30
        while len(children.read_text().split()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(2)
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - begun < 15, "not when the work is done"
    assert b"Traceback" not in err


def test_a_reader_that_leaves_is_no_traceback(tmp_path):
    (tmp_path / "a.ndjson").write_bytes(LINE)
    command = [*COMMAND, "scope", str(tmp_path / "a.ndjson"), "--json", "-q"]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err


def test_a_full_disk_under_the_temporary_files_is_no_fault_of_the_input(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "a.ndjson").write_bytes(LINE)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    code = run(["report", str(tmp_path / "a.ndjson"), "-o", str(tmp_path / "out"), "-q"])
    assert code == 1
    assert "cannot be written (No space left on device)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
