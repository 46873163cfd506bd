"""Numbers that somebody changed and hid behind new hashes are still named, with both values."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forensics.evidence.verify import verify


def frame(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], None]:
    return lambda path: change(pl.read_parquet(path)).write_parquet(path)


def document(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        held = json.loads(path.read_text())
        change(held)
        path.write_text(json.dumps(held))

    return write


def text(change: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda path: path.write_text(change(path.read_text()))


def last_line_off(held: str) -> str:
    return held[: held.rstrip("\n").rindex("\n") + 1]


def twice_the_last(held: str) -> str:
    return held + held[held.rstrip("\n").rindex("\n") + 1 :]


def one_more(where: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    first = pl.int_range(pl.len()) == 0
    return lambda rows: rows.with_columns(pl.when(first).then(pl.col(where) + 1).otherwise(where))


def tier(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    first = pl.int_range(pl.len()) == 0
    return rows.with_columns(pl.when(first).then(pl.lit(name)).otherwise("tier").alias("tier"))


def put(held: dict[str, Any], *path: Any, add: int = 1) -> None:
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] += add


PROBABLE = 1
"""Place of the tier in the headline."""

CHANGES: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "a row less": (
        "affected_requests.parquet", frame(lambda rows: rows.tail(-1)), "rows: {less}, not {n}",
    ),
    "another tier": (
        "affected_requests.parquet",
        frame(lambda rows: tier(rows, "possible")),
        "rows of tier possible: 1, not 0",
    ),
    "a row less in csv": ("affected_requests.csv", text(last_line_off), "rows: {less}, not {n}"),
    "nothing left of what could not be judged": (
        "not_assessable.parquet", frame(lambda rows: rows.clear()), "rows: 0, not 2",
    ),
    "a ruled-out row that is none": (
        "ruled_out.parquet",
        frame(lambda rows: tier(rows, "possible")),
        "rows of tier ruled_out: ",
    ),
    "a higher headline": (
        "report.json",
        document(lambda d: put(d, "headline", "tiers", PROBABLE, "requests")),
        "requests of all tiers: {all_more}, not {all}",
    ),
    "a recipient less in the headline": (
        "affected_tenants.parquet",
        frame(lambda rows: rows.filter(pl.col("tenant_id") != "tenant-001")),
        "named recipients: ",
    ),
    "a tenant with more requests": (
        "affected_tenants.parquet",
        frame(one_more("n_probable")),
        "recipients' probable requests, summed: {more}, not {n}",
    ),
    "a tenant less in csv": ("affected_tenants.csv", text(last_line_off), "rows: "),
    "a notice less": ("notifications.csv", text(last_line_off), "rows: "),
    "a notice twice": ("notifications.csv", text(twice_the_last), "different notice ids: "),
    "a source that is no pair's": (
        "source_pairs.parquet",
        frame(lambda rows: rows.filter(pl.col("source_tenant_id") != rows["source_tenant_id"][0])),
        "source tenants: ",
    ),
    "an unread line less": ("unreadable.csv", text(last_line_off), "rows: 1, not 2"),
    "an epoch less": ("capacity.csv", text(last_line_off), "rows: "),
    "a day of rejections twice": ("rejections.csv", text(twice_the_last), "rows: "),
    "a request without evidence": (
        "evidence.parquet",
        frame(lambda rows: rows.filter(pl.col("request_id") != "served")),
        "listed requests without evidence: 1, not 0",
    ),
    "evidence from elsewhere": (
        "evidence.parquet",
        frame(lambda rows: rows.with_columns(file=pl.lit("elsewhere.log"))),
        "files that are no input: 1, not 0",
    ),
    "another sentence on the page": (
        "report.html",
        text(lambda held: held.replace(" affected responses (", " affected answers (")),
        "sentences of the headline: 2, not 3",
    ),
    "another version": (
        "report.json",
        document(lambda d: d["tool"].update(version="9")),
        "tool, version and case as in the manifest: 2, not 3",
    ),
    "records that vanish": (
        "report.json",
        document(lambda d: put(d, "read", 0, "kept", add=-1)),
        "plain-ndjson: accounted for: ",
    ),
    "records of an input that vanish": (
        "manifest.json",
        document(lambda d: put(d, "inputs", 0, "kept", add=-1)),
        "records kept, over all inputs: ",
    ),
}  # fmt: skip


@pytest.mark.few(8)
@pytest.mark.parametrize("what", CHANGES)
def test_a_number_that_was_changed_is_named(out, reseal, what):
    name, change, said = CHANGES[what]
    n = pl.read_parquet(out / "affected_requests.parquet").height
    steps = json.loads((out / "report.json").read_text())["funnel"]
    everything = {"all": steps[0]["requests"], "all_more": steps[0]["requests"] + 1}
    said = said.format(n=n, less=n - 1, more=n + 1, **everything)
    change(out / name)
    reseal(out)
    found = verify(out)
    assert found.exit_code == 7
    faults = [str(fault) for fault in found.mismatches]
    assert [fault for fault in faults if fault.startswith(f"{name}: {said}")], faults


def test_the_helper_alone_changes_nothing(out, reseal):
    reseal(out)
    assert verify(out).mismatches == []


def test_each_input_accounts_for_its_records(out, reseal):
    document(lambda d: put(d, "inputs", 0, "duplicate"))(out / "manifest.json")
    reseal(out)
    (name,) = [item["name"] for item in json.loads((out / "manifest.json").read_text())["inputs"]][
        :1
    ]
    assert any(
        fault.what == f"records accounted for of {name}" and fault.found == fault.expected + 1
        for fault in verify(out).mismatches
    )


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("report.json", b"{}"),
        ("report.json", b'{"headline": {"tiers": 3}}'),
        ("affected_requests.parquet", b"PAR1"),
        ("affected_tenants.parquet", b""),
        ("unreadable.csv", b"a,b\n1,2\n"),
        ("report.html", b"\xff"),
    ],
)
def test_what_is_no_table_or_document_is_named_and_ends_nothing(out, reseal, name, held):
    (out / name).write_bytes(held)
    reseal(out)
    found = verify(out)
    assert any(
        name in fault.file and "cannot be counted" in fault.what for fault in found.mismatches
    )


def changed_digit(held: str) -> str:
    """Another last digit: no row more or less, no tier, no sum of the others."""
    at = max(held.rfind(digit) for digit in "123456789")
    return held[:at] + ("1" if held[at] != "1" else "2") + held[at + 1 :]


def cell(column: str, line: int, value: str) -> Callable[[str], str]:
    """Another value in one cell of a table."""

    def put_in(held: str) -> str:
        rows = list(csv.reader(io.StringIO(held)))
        rows[line][rows[0].index(column)] = value
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(rows)
        return written.getvalue()

    return put_in


def later(held: dict[str, Any]) -> None:
    first = held["coverage"][0]
    first["first_at"] = first["first_at"].replace("2026", "2025")


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("affected_requests.csv", text(changed_digit), "affected_requests.csv"),
        ("affected_tenants.csv", text(changed_digit), "affected_tenants.csv"),
        ("affected_tenants.parquet", frame(one_more("responses")), "affected_tenants.parquet"),
        ("rejections.csv", text(twice_the_last), "rejections.csv"),
        ("timing_clusters.csv", text(lambda held: held + "1,leak,3,,,,\n"), "timing_clusters.csv"),
        ("report.html", text(changed_digit), "report.html"),
        ("report.json", document(later), "report.html"),
        ("capacity.csv", text(cell("pool_tokens", 1, "999999")), "capacity.csv"),
        ("capacity.csv", text(cell("until", 1, "2026-03-04T00:00:00.000000Z")), "capacity.csv"),
        ("capacity.csv", text(cell("changed", 1, "pool_tokens: 1 -> 2")), "capacity.csv"),
        ("coverage.csv", text(cell("records", 1, "1")), "coverage.csv"),
        ("coverage.csv", text(cell("gap", 1, "true")), "coverage.csv"),
        ("coverage.csv", text(cell("batches", 1, "7")), "coverage.csv"),
        ("coverage.csv", text(cell("node", 1, "decode-77/dp0")), "coverage.csv"),
        ("coverage.csv", text(cell("hour", 2, "2025-03-01T00:00:00.000000Z")), "coverage.csv"),
        ("coverage.csv", text(twice_the_last), "coverage.csv"),
        ("coverage.csv", text(last_line_off), "coverage.csv"),
    ],
    ids=[
        "requests",
        "tenants",
        "tenants table",
        "rejections",
        "clusters",
        "page",
        "document",
        "pool",
        "until",
        "changed",
        "records",
        "gap",
        "batches",
        "node",
        "hour",
        "hour twice",
        "hour less",
    ],
)
def test_what_is_said_twice_is_compared_line_by_line(out, reseal, name, change, named):
    change(out / name)
    reseal(out)
    assert named in {fault.file for fault in verify(out).mismatches}
