"""What must be equal in a report: its tables, its document, its page and its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

import polars as pl
from markupsafe import escape

from forensics.direction import reasoned, received_tier, receives
from forensics.evidence.faults import Fault
from forensics.evidence.renderings import renderings
from forensics.evidence.reporttables import PAIRS_FILE, SOURCES_FILE, ReportTables
from forensics.evidence.seal import MANIFEST
from forensics.schema import AFFECTED_TIERS, POPULATIONS

_COUNTED = (*AFFECTED_TIERS, "not_assessable")
_FIELDS = ("read", "kept", "duplicate", "unreadable")


def _tiers(report: ReportTables) -> dict[str, int]:
    return {item["tier"]: int(item["requests"]) for item in report.document["headline"]["tiers"]}


def rows_by_tier(report: ReportTables) -> Iterator[Fault]:
    """Each table of requests holds as many rows of its tier as the headline says."""
    stated = _tiers(report)
    for name in ("affected_requests.parquet", "affected_requests.csv"):
        found = report.table(name)["tier"]
        yield Fault(name, "rows", len(found), sum(stated[tier] for tier in AFFECTED_TIERS))
        for tier in AFFECTED_TIERS:
            yield Fault(name, f"rows of tier {tier}", int((found == tier).sum()), stated[tier])
    unknown = report.table("not_assessable.parquet")["tier"]
    yield Fault("not_assessable.parquet", "rows", len(unknown), stated["not_assessable"])
    listed = report.table("ruled_out.parquet")["tier"]
    ruled_out = int((listed == "ruled_out").sum())
    yield Fault("ruled_out.parquet", "rows of tier ruled_out", ruled_out, len(listed))


def funnel(report: ReportTables) -> Iterator[Fault]:
    """All requests are the sum of the tiers, and so are those among whom they were found."""
    steps = {item["name"]: int(item["requests"]) for item in report.document["funnel"]}
    yield Fault("report.json", "requests of all tiers", sum(_tiers(report).values()), steps["all"])


def csv_rows(report: ReportTables) -> Iterator[Fault]:
    """A table that is written twice has as many rows in both."""
    for name in ("affected_requests", "affected_tenants"):
        held = report.table(f"{name}.parquet").height
        yield Fault(f"{name}.csv", "rows", report.table(f"{name}.csv").height, held)


def tenants(report: ReportTables) -> Iterator[Fault]:
    """Recipients add up to the headline; both populations are those of the document."""
    name = "affected_tenants.parquet"
    table, mechanism = report.table(name), report.document["scope"]["mechanism"]
    rows = report.requests().filter(receives(mechanism, reasoned))
    tiers = rows.with_columns(tier=received_tier(mechanism, reasoned))["tier"]
    for tier in _COUNTED:
        found = table.filter(pl.col("population") == "recipient")[f"n_{tier}"].sum()
        listed = int((tiers == tier).sum())
        yield Fault(name, f"recipients' {tier} requests, summed", int(found), listed)
    for population in POPULATIONS:
        found = int((table["population"] == population).sum())
        listed = len(report.document[f"{population}s"])
        yield Fault(name, f"rows of population {population}", found, listed)


def headline_tenants(report: ReportTables) -> Iterator[Fault]:
    """The headline counts the named tenants of the table."""
    name, head = "affected_tenants.parquet", report.document["headline"]
    named = report.table(name).filter(pl.col("tenant_id").is_not_null())
    told = named.filter(
        (pl.col("population") == "recipient") & pl.col("tier").is_in(AFFECTED_TIERS)
    )
    shared = named.filter((pl.col("population") == "source") & ~pl.col("same_tenant_only"))
    yield Fault(name, "named recipients", told.height, head["recipients"])
    yield Fault(name, "named sources of other tenants", shared.height, head["sources"])


def sources(report: ReportTables) -> Iterator[Fault]:
    """Whoever is a possible source of a response is in the population, and nobody else."""
    table = report.table("affected_tenants.parquet")
    listed = int((table["population"] == "source").sum())
    pairs = report.table("source_pairs.parquet")
    named = pairs["source_tenant_id"].n_unique() if pairs.height else 0
    yield Fault("source_pairs.parquet", "source tenants", named, listed)


def source_requests(report: ReportTables) -> Iterator[Fault]:
    """Every request that a pair names as a source is listed, and no other."""
    pair = pl.struct(tenant="source_tenant_id", request="source_request_id")
    pairs = report.table(PAIRS_FILE).filter(pl.col("source_request_id").is_not_null())
    row = pl.struct(tenant="tenant_id", request="request_id")
    listed = report.table(SOURCES_FILE).select(row.alias("of"))["of"].unique()
    named = pairs.select(pair.alias("of"))["of"].unique()
    both = listed.is_in(named.implode()).sum() if len(named) else 0
    yield Fault(SOURCES_FILE, "requests that pairs name", int(both), len(named))
    yield Fault(SOURCES_FILE, "different requests", len(listed), len(named))


def notices(report: ReportTables) -> Iterator[Fault]:
    """There is one notice for each tenant and population, with the tenant's counts."""
    name = "notifications.csv"
    rows, table = report.table(name), report.table("affected_tenants.parquet")
    yield Fault(name, "rows", rows.height, table.height)
    yield Fault(name, "different notice ids", rows["notice_id"].n_unique(), rows.height)
    for tier in _COUNTED:
        found = int(rows[f"n_{tier}"].cast(pl.Int64).sum())
        yield Fault(name, f"n_{tier}, summed", found, int(table[f"n_{tier}"].sum()))


def document_rows(report: ReportTables) -> Iterator[Fault]:
    """Tables that repeat a list of the document have as many rows."""
    for name, key in (("rejections.csv", "rejections"), ("capacity.csv", "epochs")):
        yield Fault(name, "rows", report.table(name).height, len(report.document[key]))


def unreadable(report: ReportTables) -> Iterator[Fault]:
    """Every unread record of every input is in ``unreadable.csv``."""
    name, stated = "unreadable.csv", Counter[str]()
    for source in report.record.inputs:
        stated[source.name] += source.unreadable
    rows = report.table(name)
    yield Fault(name, "rows", rows.height, sum(stated.values()))
    counted = {_as_named(file, stated): n for file, n in rows.group_by("file").len().iter_rows()}
    for file in sorted(set(stated) | set(counted), key=str):
        if counted.get(file, 0) != stated.get(file, 0):
            yield Fault(name, f"rows of {file}", counted.get(file, 0), stated.get(file, 0))


def _as_named(cell: str, names: Collection[str]) -> str:
    """Return a name without the mark that keeps a spreadsheet from running it."""
    bare = cell.removeprefix("'")
    return bare if cell not in names and bare in names else cell


def records(report: ReportTables) -> Iterator[Fault]:
    """Inputs add up to the counts by format that the document states."""
    for stated in report.document["read"]:
        total = stated["kept"] + sum(stated["ignored"].values()) + stated["duplicate"]
        total += sum(stated["unreadable"].values())
        yield Fault("report.json", f"{stated['format']}: accounted for", total, stated["read"])
    for field in _FIELDS:
        found = sum(getattr(source, field) or 0 for source in report.record.inputs)
        listed = sum(_number(item[field]) for item in report.document["read"])
        yield Fault(MANIFEST, f"records {field}, over all inputs", found, listed)


def _number(value: Any) -> int:
    return sum(value.values()) if isinstance(value, dict) else int(value)


def lineage(report: ReportTables) -> Iterator[Fault]:
    """Every listed request has evidence, and evidence names inputs of the manifest only."""
    name, keys = "evidence.parquet", ["request_id", "attempt"]
    evidence = report.table(name)
    listed = report.requests().select(keys).unique()
    known_keys = evidence.select(keys).unique()
    without = listed.join(known_keys, on=keys, how="anti", nulls_equal=True)
    yield Fault(name, "listed requests without evidence", without.height, 0)
    known = {source.name for source in report.record.inputs}
    files = evidence["file"].unique().to_list()
    yield Fault(name, "files that are no input", sum(file not in known for file in files), 0)


def page(report: ReportTables) -> Iterator[Fault]:
    """The page holds the sentence of the headline and the bound, as the document has them."""
    head, text = report.document["headline"], report.text("report.html")
    sentences = (head["sentence"], head["direction"], head["bound"]["sentence"])
    held = sum(str(escape(sentence)) in text for sentence in sentences)
    yield Fault("report.html", "sentences of the headline", held, len(sentences))


def made_by(report: ReportTables) -> Iterator[Fault]:
    """Document and manifest name one tool, one version and one case."""
    document, record = report.document, report.record
    stated = [document["tool"]["name"], document["tool"]["version"], document["case"]["id"]]
    known = [record.tool.name, record.tool.version, record.incident["case"]["id"]]
    same = sum(one == other for one, other in zip(stated, known, strict=True))
    yield Fault("report.json", "tool, version and case as in the manifest", same, len(known))


CHECKS: tuple[Callable[[ReportTables], Iterator[Fault]], ...] = (
    rows_by_tier,
    funnel,
    csv_rows,
    tenants,
    headline_tenants,
    sources,
    source_requests,
    notices,
    document_rows,
    unreadable,
    records,
    lineage,
    page,
    made_by,
    renderings,
)
