"""A row of the lineage that names another line than the one it was read from is a fault."""

import io
import json
import shutil
import zipfile

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.evidence.folder import opened
from forensics.evidence.inputs import locate
from forensics.evidence.lineagecheck import check

BASE = {"received_at": "2026-03-02T00:10:00Z", "decode_node": "decode-01/dp0", "hop": "decode"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report of three requests in one file, of which one has no identifier."""
    folder = tmp_path_factory.mktemp("lineage")
    ids = ({"request_id": "first"}, {"request_id": "second"}, {"transfer_id": "77"})
    rows = [BASE | one | {"http_status": 503, "completion_tokens": 5} for one in ids]
    log = folder / "log.ndjson"
    log.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"note": "of no request"}]))
    forensics.read_logs(log).report(folder / "out")
    return folder


@pytest.fixture
def written(made, tmp_path):
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


def _changed(out, reseal, **values):
    path = out / "evidence.parquet"
    rows = pl.read_parquet(path)
    where = (pl.col("request_id") == "first") & pl.col("column").is_in(values.pop("of"))
    rows.with_columns(
        pl.when(where).then(pl.lit(value)).otherwise(name).cast(rows.schema[name]).alias(name)
        for name, value in values.items()
    ).write_parquet(path)
    reseal(out)
    sealed = opened(out)
    return {fault.what for fault in check(sealed, locate(sealed.record.given))[0]}


def test_lineage_as_it_was_written_holds(written, reseal):
    assert run(["verify", str(written)]) == 0
    assert _changed(written, reseal, of=[], line=1) == set()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"of": ["request_id"], "line": 9}, "has no line 9"),
        ({"of": ["request_id"], "line": 0}, "has no line 0"),
        ({"of": ["http_status"], "line": 5}, "has no line 5"),
        ({"of": ["request_id"], "line": 4}, "line 4 of {} is none of its request's"),
        ({"of": ["request_id"], "value": "second"}, "line 1 of {} is none of its request's"),
        ({"of": ["http_status"], "line": 2}, "line 2 of {} is that of another request"),
        ({"of": ["http_status"], "line": 3}, "line 3 of {} is that of another request"),
    ],
    ids=range(7),
)
def test_a_changed_row_is_named(made, written, reseal, change, what):
    (found,) = _changed(written, reseal, **change)
    assert what.format(made / "log.ndjson") in found


def test_a_changed_row_ends_verify_as_a_mismatch(written, reseal, capsys):
    _changed(written, reseal, of=["http_status"], line=2)
    assert run(["verify", str(written)]) == 7
    assert "evidence.parquet: row " in capsys.readouterr().out


def _csv(rows: list[dict[str, object]]) -> dict[str, bytes]:
    return {"log.csv": pl.DataFrame(rows).write_csv().encode()}


def _parquet(rows: list[dict[str, object]]) -> dict[str, bytes]:
    buffer = io.BytesIO()
    pl.DataFrame(rows).write_parquet(buffer)
    return {"log.parquet": buffer.getvalue()}


def _lines(rows: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _wrapped(rows: list[dict[str, object]]) -> dict[str, bytes]:
    stamp = {"stream": "stdout", "time": "2026-03-02T00:10:00Z"}
    return {"log.log": _lines([{"log": json.dumps(row) + "\n"} | stamp for row in rows])}


def _zipped(rows: list[dict[str, object]]) -> dict[str, bytes]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("log.ndjson", _lines(rows))
    return {"logs.zip": buffer.getvalue()}


@pytest.mark.parametrize("kind", [_csv, _parquet, _wrapped, _zipped, "set"])
def test_lineage_of_whatever_can_be_read_is_checked(kind, tmp_path, reseal, capsys):
    ids = [("first", "1"), ("second", "2"), ("third", "3")]
    rows = [BASE | {"request_id": one, "transfer_id": room} for one, room in ids]
    rows = [row | {"http_status": 503, "completion_tokens": 5} for row in rows]
    files = {"log.ndjson": _lines(rows)} if kind == "set" else kind(rows)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    logs = [tmp_path / name for name in files]
    if kind == "set":
        assert run(["ingest", str(logs[0]), "-o", str(tmp_path / "set"), "-q"]) in (0, 3)
        logs = [tmp_path / "set"]
    out = tmp_path / "out"
    forensics.read_logs(*logs).report(out)
    capsys.readouterr()
    assert run(["verify", str(out), "--json"]) == 0
    lineage = json.loads(capsys.readouterr().out)["lineage"]
    assert lineage == {"checked": pl.read_parquet(out / "evidence.parquet").height, "unchecked": []}
    first = pl.read_parquet(out / "evidence.parquet").filter(request_id="first")["line"][0]
    (found,) = _changed(out, reseal, of=["request_id"], line=first + 1)
    assert f"record {first + 1} of" in found or f"line {first + 1} of" in found
    (found,) = _changed(out, reseal, of=["request_id"], line=99)
    assert "no record 99" in found or "no line 99" in found


def test_rows_that_cannot_be_checked_are_counted_with_the_reason(written, made, capsys):
    number = pl.read_parquet(written / "evidence.parquet").height
    moved = made / "log.ndjson"
    moved.rename(made / "elsewhere")
    try:
        assert run(["verify", str(written), "--json"]) == 3
        out, said = capsys.readouterr()
    finally:
        (made / "elsewhere").rename(moved)
    lineage = json.loads(out)["lineage"]
    assert f"but not {number} of plain-ndjson (its input is not there any more)" in said
    (left,) = lineage["unchecked"]
    assert (lineage["checked"], left["rows"], left["format"]) == (0, number, "plain-ndjson")
    assert left["why"] == "its input is not there any more"
