"""The guard: a frame or a document that is not what was declared is never written."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import forensics
from forensics import declared, fields, guard_document
from forensics import exposure as doc
from forensics.cli import run
from forensics.encode import csv_bytes, json_text, parquet_bytes
from forensics.errors import PrivacyError
from forensics.findings import FINDINGS
from forensics.guard import Table, checked, misfits
from forensics.sources import layout
from forensics.sources.phrases import own

CANARY = "CANARY dear assistant my name is"
AT = "2026-02-03T04:05:06Z"
KEY = "sk-" + "abcdef0123456789" * 2
TABLES = [value for value in vars(declared).values() if isinstance(value, Table)]
HELD = [kind.table for kind in layout.KINDS.values()]


def write_log(folder: Path) -> Path:
    """One affected request and one pool."""
    path = folder / "one.ndjson"
    request = {
        "request_id": "r-1", "tenant_id": "tenant-a", "received_at": AT, "http_status": 200,
        "reserved_pages": 9, "transferred_pages": 1, "decode_node": "decode-1", "hop": "decode",
        "completion_tokens": 5, "rejected": True, "rejection_code": "other",
    }  # fmt: skip
    pool = {
        "node": "prefill-1", "role": "prefill", "effective_at": AT, "pool_tokens": 640,
        "config": {"tp_size": 8},
    }  # fmt: skip
    path.write_text(json.dumps(request) + "\n" + json.dumps(pool) + "\n" + '{"cut": \n')
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> forensics.Case:
    """The same log, read once for all that is only forged afterwards."""
    return forensics.read_logs(write_log(tmp_path_factory.mktemp("seen")))


@pytest.fixture
def read(seen: forensics.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forensics.case.read_logs", lambda *_, **__: forensics.Case(seen.analysis))
    document = seen.exposure()
    monkeypatch.setattr("forensics.case.assemble", lambda _: document)


def refused(arguments: list[str], out: Path, shown: str, capsys: pytest.CaptureFixture) -> None:
    """Exit 5, nothing written, and a message of names and counts alone."""
    capsys.readouterr()
    assert run([*arguments, "-o", str(out), "-q"]) == 5
    streams = capsys.readouterr()
    assert shown in streams.err
    assert not any(text in streams.err + streams.out for text in ("CANARY", "x" * 20, KEY))
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}*"))


# --- tables of a report --------------------------------------------------------------


def put(**values: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(
        pl.lit(value, dtype=pl.List(pl.String) if isinstance(value, list) else None).alias(name)
        for name, value in values.items()
    )


FORGED = {
    "a column": ("request_table", put(prompt=CANARY), "requests: 1 column(s)"),
    "a column named by a record": ("request_table", put(**{CANARY: 1}), "requests: 1 column(s)"),
    "a missing column": ("request_table", lambda f: f.drop("tier"), "1 of its columns are missing"),
    "a type": ("request_table", put(prompt_tokens=CANARY), "column prompt_tokens is of a type"),
    "a tier": ("request_table", put(tier=CANARY), "requests: 1 value(s) of column tier"),
    "a rung": ("request_table", put(rung="served"), "requests: 1 value(s) of column rung"),
    "a reason": (
        "request_table",
        put(reasons=["short_transfer", CANARY]),
        "requests: 1 value(s) of column reasons",
    ),
    "a missing value": ("request_table", put(missing=[CANARY]), "column missing"),
    "a long id": ("request_table", put(request_id="x" * 129), "column request_id"),
    "an id of two lines": ("request_table", put(transfer_id="x\nx"), "column transfer_id"),
    "an id with a blank": ("request_table", put(decode_node="x x"), "column decode_node"),
    "a long name": ("request_table", put(tenant_id="x" * 257), "column tenant_id"),
    "a name of two lines": ("tenants", put(tenant_id="x\u2028x"), "affected_tenants: 1 value(s)"),
    "an id like a key": ("request_table", put(request_id=KEY), "column request_id"),
    "a name like a key": ("tenants", put(tenant_id=KEY), "affected_tenants: 1 value(s)"),
    "a population": ("tenants", put(population="both"), "column population"),
    "an origin": ("source_pairs", put(origin=CANARY), "source_pairs: 1 value(s)"),
    "a rejection": ("rejections", put(code=CANARY), "rejections: 1 value(s) of column code"),
    "a day": ("rejections", put(day="today"), "rejections: 1 value(s) of column day"),
    "a setting": (
        "capacity",
        put(config="tp_size=8;chat_template=x"),
        "capacity: 1 value(s) of column config",
    ),
    "a setting's text": ("capacity", put(config=f"tp_size={CANARY}"), "column config"),
    "a role": ("capacity", put(role=CANARY), "capacity: 1 value(s) of column role"),
    "a change": (
        "capacity",
        put(changed=f"tp_size: 8 -> 4; prompt: {CANARY} -> x"),
        "capacity: 1 value(s) of column changed",
    ),
    "a hop": ("coverage", put(hop=CANARY), "coverage: 1 value(s) of column hop"),
    "why unread": ("unreadable", put(reason=CANARY), "unreadable: 1 value(s) of column reason"),
    "a notice": ("notifications", put(template_id=CANARY), "column template_id"),
}  # fmt: skip


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize("what", FORGED)
def test_a_forged_table_is_not_written(what, log, tmp_path, monkeypatch, capsys):
    name, forge, shown = FORGED[what]
    real = getattr(forensics.tables, name)
    rejected = pl.DataFrame([["2026-02-03", "n", "other", 0, 1, 0]], orient="row",
                            schema=declared.REJECTIONS.dtypes)  # fmt: skip
    source = pl.DataFrame(
        [["r-1", None, "t", "decode", None, None, None, "possible", False]],
        schema=declared.PAIRS.dtypes, orient="row",
    )  # fmt: skip
    stand_in = {"rejections": rejected, "source_pairs": source}.get(name)

    def forged(*arguments: Any) -> pl.DataFrame:
        rows = real(*arguments) if stand_in is None else stand_in
        return forge(rows.head(1)) if rows.height else rows

    monkeypatch.setattr(forensics.tables, name, forged)
    refused(["report", str(log)], tmp_path / "out", shown, capsys)


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("request_id", CANARY), ("tenant_id", "x\x00"), ("prompt_tokens", CANARY),
        ("received_at", "yesterday"), ("rejected", "maybe"), ("rejection_code", CANARY),
        ("prefill_ms", "1.5 ms"), ("prompt", "1"), ("http_status", "-" * 20),
    ],
)  # fmt: skip
def test_a_logged_value_is_one_of_its_column(column, value, log, tmp_path, monkeypatch, capsys):
    real = forensics.Case.lineage

    def forged(case: forensics.Case) -> pl.DataFrame:
        return real(case).head(1).with_columns(column=pl.lit(column), value=pl.lit(value))

    monkeypatch.setattr(forensics.Case, "lineage", forged)
    refused(["report", str(log)], tmp_path / "out", "evidence: 1 value(s) of column", capsys)


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_forged_table_is_not_printed(options, log, monkeypatch, capsys):
    real = forensics.tables.request_table
    monkeypatch.setattr(
        forensics.tables, "request_table", lambda rows: put(tier=CANARY)(real(rows))
    )
    assert run(["scope", str(log), "-q", *options]) == 5
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "CANARY" not in streams.err


def test_what_is_read_passes(log, tmp_path):
    assert run(["report", str(log), "-o", str(tmp_path / "out"), "-q"]) == 3
    assert (tmp_path / "out" / "report.json").exists()


# --- parts of the reading pass, evidence sets ----------------------------------------


@pytest.mark.parametrize("column", ["prompt", CANARY])
@pytest.mark.parametrize("command", ["report", "ingest"])
def test_a_reader_that_hands_on_more_is_stopped(
    command, column, log, tmp_path, monkeypatch, capsys
):
    """Before the part is written: temporary files are files too."""
    taken = forensics.sources.reading._take
    written = []

    def forged(parsed: Any, *others: Any) -> None:
        parsed.observations = [put(**{column: CANARY})(rows) for rows in parsed.observations]
        taken(parsed, *others)

    monkeypatch.setattr(forensics.sources.reading, "_take", forged)
    monkeypatch.setattr(pl.DataFrame, "write_parquet", lambda *a, **_: written.append(a))
    refused([command, str(log)], tmp_path / "out", "part of the reading pass: 1 column(s)", capsys)
    assert written == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("observations", {"request_id": "x" * 129}),
        ("observations", {"tenant_id": "x\nx"}),
        ("observations", {"finish_reason": CANARY}),
        ("observations", {"source_node": CANARY}),
        ("observations", {"tenant_id": KEY}),
        ("capacity", {"config": "prompt=x"}),
        ("capacity", {"node": CANARY}),
        ("capacity", {"event": CANARY}),
        ("capacity", {"text": CANARY}),
    ],
)
def test_a_set_holds_no_row_that_is_forged(kind, values, log, tmp_path, monkeypatch, capsys):
    from forensics.ingest import partition

    real = partition.renamed

    def forged(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
        own = "effective_at" if kind == "capacity" else "received_at"
        return put(**values)(rows) if own in rows.columns else real(rows, *names)

    monkeypatch.setattr(partition, "renamed", forged)
    refused(["ingest", str(log)], tmp_path / "out", f"{kind}: 1 ", capsys)


@pytest.mark.parametrize("field", ["ignored", "bad_values", "notes", "unread", "node", "clock"])
def test_a_set_holds_no_count_of_what_a_record_said(field, log, tmp_path, monkeypatch, capsys):
    from forensics.ingest import one

    real = one.read_shard

    def forged(*arguments: Any) -> Any:
        reading = real(*arguments)
        if field == "unread":
            reading.files[0].unread.append(type(reading.files[0].unread[0])(1, 0, CANARY))
        elif field == "node":
            reading.files[0].node = CANARY
        elif field == "clock":
            reading.clock[CANARY, 0] += 1
        else:
            getattr(reading.files[0], field)[CANARY] += 1
        return reading

    monkeypatch.setattr(one, "read_shard", forged)
    refused(["ingest", str(log)], tmp_path / "out", "ledger: 1 text(s) of ", capsys)


def test_a_set_stays_what_it_was_where_a_further_log_is_stopped(log, tmp_path, monkeypatch):
    from forensics.ingest import partition

    out, real = tmp_path / "out", partition.renamed
    assert run(["ingest", str(log), "-o", str(out), "-q"]) == 3
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    other = tmp_path / "two.ndjson"
    other.write_bytes(log.read_bytes().replace(b"tenant-a", b"tenant-b"))

    def forged(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
        return put(config="prompt=x")(rows) if "config" in rows.columns else real(rows, *names)

    monkeypatch.setattr(partition, "renamed", forged)
    assert run(["ingest", str(other), "-o", str(out), "-q"]) == 5
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


# --- the document --------------------------------------------------------------------

REASONS = [doc.Reason("probable", "because", 1, "x")]
TENANT = doc.Tenant("t", "recipient", "probable", 0, 1, 0, 0, 1, 1, 8, None, None, False)
DOCUMENT: dict[str, dict[str, Any]] = {
    "Reason.reason": {"reasons": REASONS},
    "Tenant.tier": {"recipients": [msgspec.structs.replace(TENANT, tier=CANARY)]},
    "Tenant.population": {"recipients": [msgspec.structs.replace(TENANT, population=CANARY)]},
    "Tenant.tenant_id": {"sources": [msgspec.structs.replace(TENANT, tenant_id="x" * 257)]},
    "Point.node": {"points": [doc.Point(None, 1, "x\nx", "possible")]},
    "Point.at": {"points": [doc.Point(CANARY, 1, None, "possible")]},
    "Step.name": {"funnel": [doc.Step(CANARY, 1, "x")]},
    "Missing.column": {"missing": [doc.Missing(CANARY, 1, "x")]},
    "Check.result": {"checklist": [doc.Check(1, "x", CANARY, "x")]},  # type: ignore[arg-type]
    "Limitation.sentence": {"limitations": [doc.Limitation("x", "x\nx")]},
    "Limitation.code": {"limitations": [doc.Limitation(CANARY, "x")]},
    "Change.setting": {"changes": [doc.Change("n", "", CANARY, None, None)]},
    "Rejections.code": {"rejections": [doc.Rejections("2026-02-03", "n", CANARY, 0, 1, 0)]},
    "FormatCount.ignored": {"read": [doc.FormatCount("a", 1, 0, {CANARY: 1}, 0, {}, {})]},
    "FormatCount.unreadable": {"read": [doc.FormatCount("a", 1, 0, {}, 0, {CANARY: 1}, {})]},
    "FormatCount.bad_values": {"read": [doc.FormatCount("a", 1, 1, {}, 0, {}, {CANARY: 1})]},
}


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize("where", DOCUMENT)
def test_a_forged_document_is_not_written(where, log, tmp_path, monkeypatch, capsys):
    real = forensics.Case.exposure

    def forged(case: forensics.Case) -> doc.Exposure:
        return msgspec.structs.replace(real(case), **DOCUMENT[where])

    monkeypatch.setattr(forensics.Case, "exposure", forged)
    refused(["report", str(log)], tmp_path / "out", f"report.json: 1 value(s) of {where}", capsys)


def test_every_text_of_the_document_has_a_rule():
    """Where this fails, give the new field its rule in ``guard_document``."""
    texts = guard_document.text_fields()
    ruled = {where for where in texts if guard_document._literal(*where) is not None}
    assert texts.keys() - ruled - guard_document.RULES.keys() == set()
    assert guard_document.RULES.keys() - texts.keys() == set(), "rules of fields that are gone"
    assert len(ruled) >= 3


# --- what the rules are --------------------------------------------------------------


@pytest.mark.parametrize("table", [*TABLES, *HELD, layout.PART], ids=lambda table: table.name)
def test_every_text_column_of_a_table_has_a_rule(table):
    for field in table.fields:
        holds_text = field.dtype in (pl.String, pl.List(pl.String))
        assert (field.fits is not None) == holds_text, field.name


@pytest.mark.parametrize("table", [*TABLES, *HELD], ids=lambda table: table.name)
def test_an_empty_table_and_one_of_nulls_pass(table):
    checked(pl.DataFrame(schema=table.dtypes), table)
    nothing = pl.DataFrame({name: [None, None] for name in table.dtypes}, schema=table.dtypes)
    assert csv_bytes(nothing, table)
    assert parquet_bytes(nothing, table)
    assert json.loads(json_text(nothing, table))


def test_ids_and_names_at_their_longest_pass():
    assert misfits(["x" * 128, "ü" * 128, "a-b_c/d:e"], fields.identifier) == 0
    assert misfits(["x" * 129, "", "\x7f", "\u00a0"], fields.identifier) == 3
    assert misfits(["x" * 256, "Ünïted Ltd. (a, b)", "a\tb", "=1"], fields.named) == 0
    assert misfits(["summarise what my doctor wrote"], fields.named) == 1
    assert misfits(["x" * 257, "a\nb", "\x1b[31m", "\x85"], fields.named) == 4


def test_readers_say_what_stands_in_their_code():
    """Why a line was not read is put together from constants and numbers, and no other text."""
    said = [
        "not valid JSON", "invalid UTF-8", "line longer than 64 MiB", "truncated JSON",
        "7 fields where the header has 1,234", "time-stats line not in a known form",
        "cannot be read: Permission denied", "damaged Parquet file",
    ]  # fmt: skip
    assert [text for text in said if not own(text)] == []
    not_said = [
        CANARY, "", "1234", "not valid JSON: CANARY", "CANARY not valid JSON", "cannot be read: x",
        "7 fields where the header has x", "the", "prompt tokens of my bank account",
    ]  # fmt: skip
    assert [text for text in not_said if own(text)] == []


def test_codes_of_findings_are_the_only_reasons():
    assert set(declared.REASON_CODES) == {finding.code for finding in FINDINGS}


# --- no way around -------------------------------------------------------------------

WRITES = ("write_", "sink_", "to_csv", "to_parquet", "to_json", "to_excel", "to_feather")
BEHIND_THE_GUARD = {"encode.py", "spill.py", "live/watch/rows.py"}
NEVER_ON_DISK = {"checking/parquet.py", "explore/pictures.py"}
PACKAGE = Path(forensics.__file__).parent
NO_FRAMES = {"write_text", "write_bytes", "write_private"}


def test_frames_become_bytes_behind_the_guard_alone():
    """The lab writes what it invents, ``check`` cuts a log short in memory, a notebook draws.

    A watch puts parts together that were checked when they were written.
    """
    found = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            call = node.func if isinstance(node, ast.Call) else None
            method = call.attr if isinstance(call, ast.Attribute) else ""
            if method.startswith(WRITES) and method not in NO_FRAMES:
                found.add((name, method))
    apart = BEHIND_THE_GUARD | NEVER_ON_DISK
    outside = {(n, m) for n, m in found if n not in apart and not n.startswith("lab/")}
    assert {(n, m) for n, m in outside if m not in OWN_METHODS} == set()
    assert {name for name, _ in found} >= BEHIND_THE_GUARD


OWN_METHODS = {"write_sample", "write_sglang", "write_ledger", "write_report"}


def test_encoding_is_guarded():
    with pytest.raises(PrivacyError):
        parquet_bytes(pl.DataFrame({"prompt": [CANARY]}), declared.COVERAGE)
    with pytest.raises(PrivacyError):
        csv_bytes(pl.DataFrame({"prompt": [CANARY]}), declared.COVERAGE)
    with pytest.raises(PrivacyError):
        json_text(pl.DataFrame({"prompt": [CANARY]}), declared.COVERAGE)
