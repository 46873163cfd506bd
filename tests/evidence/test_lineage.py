"""A row of the lineage that names another line than the one it was read from is a fault."""

import json
import shutil

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
    return {fault.what for fault in check(sealed, locate(sealed.record.given))}


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
