"""What a report writes: names, columns, and one set of numbers in all of them."""

import hashlib
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import exposure as doc
from forensics import lab
from forensics.cli import run
from forensics.notices.facts import told
from forensics.notices.finished import finished
from forensics.notices.pseudonyms import pseudonym
from forensics.shown import visible

FILES = {
    "report.html",
    "report.json",
    "report.schema.json",
    "report.md",
    "affected_requests.parquet",
    "affected_requests.csv",
    "ruled_out.parquet",
    "not_assessable.parquet",
    "evidence.parquet",
    "affected_tenants.parquet",
    "affected_tenants.csv",
    "source_pairs.parquet",
    "source_requests.parquet",
    "rejections.csv",
    "timing_clusters.csv",
    "capacity.csv",
    "coverage.csv",
    "unreadable.csv",
    "notifications.csv",
    "manifest.json",
    "SHA256SUMS",
}
REQUESTS = [
    "request_id",
    "prefill_request_id",
    "transfer_id",
    "attempt",
    "tenant_id",
    "model",
    "received_at",
    "prefill_node",
    "decode_node",
    "prompt_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "input_limit_tokens",
    "rung",
    "tier",
    "reasons",
    "missing",
    "completion_tokens",
    "reserved_pages",
    "transferred_pages",
    "prefill_ms",
    "expected_prefill_ms",
    "timing_cluster",
]
COLUMNS = {
    "affected_requests.parquet": REQUESTS,
    "affected_requests.csv": REQUESTS,
    "ruled_out.parquet": REQUESTS,
    "not_assessable.parquet": REQUESTS,
    "affected_tenants.csv": [
        "tenant_id",
        "population",
        "tier",
        "n_confirmed",
        "n_probable",
        "n_possible",
        "n_not_assessable",
        "requests",
        "responses",
        "pages",
        "first_at",
        "last_at",
        "same_tenant_only",
    ],
    "source_pairs.parquet": [
        "request_id",
        "source_request_id",
        "source_tenant_id",
        "origin",
        "pages",
        "tokens",
        "probability",
        "tier",
        "same_tenant",
    ],
    "timing_clusters.csv": [
        "cluster",
        "kind",
        "requests",
        "first_at",
        "last_at",
        "nodes",
        "median_ratio",
    ],
    "notifications.csv": [
        "notice_id",
        "tenant_id",
        "population",
        "tier",
        "window_start",
        "window_end",
        "n_confirmed",
        "n_probable",
        "n_possible",
        "n_not_assessable",
        "first_at",
        "last_at",
        "delivered",
        "same_tenant",
        "coverage_pct",
        "bound_low",
        "bound_high",
        "bound_method",
        "template_id",
        "revision",
    ],
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    lab.write_plain(lab.simulate(lab.small()), folder)
    assert run(["report", str(folder / "logs"), "-o", str(folder / "out"), "-q"]) == 0
    return folder / "out"


def table(out: Path, name: str) -> pl.DataFrame:
    path = out / name
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)


def test_exactly_the_stated_files_are_written(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == FILES


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_the_contract(out: Path, name: str) -> None:
    assert table(out, name).columns == COLUMNS[name]


def test_the_document_reads_back_to_the_same_bytes(out: Path) -> None:
    data = (out / "report.json").read_bytes()
    assert doc.encode(doc.decode(data)) == data


def test_all_files_tell_one_number(out: Path) -> None:
    document = doc.decode((out / "report.json").read_bytes())
    tiers = {tier.tier: tier.requests for tier in document.headline.tiers}
    affected = table(out, "affected_requests.parquet")
    assert affected.height > 0
    assert affected.height == table(out, "affected_requests.csv").height
    assert affected.height == sum(tiers[t] for t in ("confirmed", "probable", "possible"))
    assert table(out, "not_assessable.parquet").height == tiers["not_assessable"]
    tenants = table(out, "affected_tenants.parquet")
    recipients = tenants.filter(population="recipient")
    counted = recipients.select(pl.sum("n_confirmed") + pl.sum("n_probable") + pl.sum("n_possible"))
    assert counted.item() == affected.height
    assert recipients.height == document.headline.recipients
    pairs = table(out, "source_pairs.parquet")
    named = tenants.filter(population="source").sort("tenant_id")
    responses = pairs.select("request_id", tenant_id="source_tenant_id").unique()
    counts = responses.group_by("tenant_id").len().sort("tenant_id")
    assert named["responses"].to_list() == counts["len"].to_list()
    notices = table(out, "notifications.csv")
    assert notices.height == tenants.height
    assert notices["notice_id"].n_unique() == notices.height
    assert notices.filter(population="recipient")["delivered"].sum() == affected.height
    steps = {step.name: step.requests for step in document.funnel}
    assert steps["delivered"] == affected.height
    assert steps["all"] == sum(tiers.values())
    assert f"{steps['all']:,}" in (out / "report.html").read_text()


def test_every_listed_request_has_its_lineage(out: Path) -> None:
    evidence = table(out, "evidence.parquet")
    for name in ("affected_requests.parquet", "ruled_out.parquet", "not_assessable.parquet"):
        rows = table(out, name)
        assert set(rows["request_id"]) <= set(evidence["request_id"])
    assert evidence["file"].null_count() == evidence["line"].null_count() == 0


def test_the_manifest_names_the_hash_of_every_input_and_output(out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    named = {item["name"]: item["sha256"] for item in manifest["outputs"]}
    assert set(named) == FILES - {"manifest.json", "SHA256SUMS"}
    for name, digest in named.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    for item in manifest["inputs"]:
        assert hashlib.sha256(Path(item["name"]).read_bytes()).hexdigest() == item["sha256"]
        accounted = item["kept"] + sum(item["ignored"].values())
        assert item["read"] == accounted + item["duplicate"] + item["unreadable"]
    assert manifest["arguments"]["command"] == "report"
    assert manifest["arguments"]["out"] == str(out)
    assert manifest["dependencies"]["polars"] == pl.__version__


HOSTILE = (
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(1)",
    "\t=1",
    "\xa0=1",
    "\u3000=1",
    "\u202e=1",
    "\uff1d1",
    "|calc",
)


def test_cells_that_a_spreadsheet_would_run_are_neutralised_in_csv_alone(tmp_path: Path) -> None:
    logs = tmp_path / "logs.ndjson"
    record = {
        "received_at": "2026-09-01T00:00:00Z",
        "reserved_pages": 9,
        "transferred_pages": 1,
        "http_status": 200,
    }
    names = [*HOSTILE, "a,b", 'a"b', "1", "plain"]
    lines = [record | {"request_id": f"r{n}", "tenant_id": t} for n, t in enumerate(names)]
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    forensics.read_logs(logs).report(tmp_path / "out")
    held = pl.read_parquet(tmp_path / "out" / "affected_requests.parquet")
    assert set(held["tenant_id"]) == set(names)
    for name in ("affected_requests.csv", "affected_tenants.csv", "notifications.csv"):
        cells = set(pl.read_csv(tmp_path / "out" / name, infer_schema=False)["tenant_id"])
        assert cells == {f"'{visible(t)}" if t in HOSTILE else t for t in names}


def test_a_tenant_that_is_unknown_is_one_row_and_never_dropped(tmp_path: Path) -> None:
    logs = tmp_path / "logs.ndjson"
    record = {"received_at": "2026-09-01T00:00:00Z", "reserved_pages": 9, "transferred_pages": 1}
    lines = [record | {"request_id": f"r{n}", "http_status": 200} for n in range(3)]
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tenants = forensics.read_logs(logs).tenants.polars()
    recipients = tenants.filter(population="recipient")
    assert recipients.select("tenant_id", "n_probable").rows() == [(None, 3)]


def test_same_tenant_sources_are_marked(tmp_path: Path) -> None:
    logs = tmp_path / "logs.ndjson"
    base = {"decode_node": "d1", "http_status": 200}
    lines = [
        base | {"request_id": "a", "tenant_id": "own", "received_at": "2026-09-01T00:00:00Z"},
        base | {"request_id": "b", "tenant_id": "other", "received_at": "2026-09-01T00:00:01Z"},
        base | {"request_id": "c", "tenant_id": "late", "received_at": "2026-09-01T00:00:09Z"},
        base
        | {
            "request_id": "x",
            "tenant_id": "own",
            "received_at": "2026-09-01T00:00:05Z",
            "reserved_pages": 9,
            "transferred_pages": 1,
        },
    ]
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    case = forensics.read_logs(logs)
    pairs = case.sources.polars().select("request_id", "source_tenant_id", "same_tenant").rows()
    assert pairs == [("x", "other", False), ("x", "own", True)]
    sources = case.tenants.polars().filter(population="source")
    assert dict(sources.select("tenant_id", "same_tenant_only").iter_rows()) == {
        "own": True,
        "other": False,
    }


def test_a_restart_of_the_decode_rank_ends_the_look_back(tmp_path: Path) -> None:
    logs = tmp_path / "logs.ndjson"
    base = {"decode_node": "d1", "http_status": 200}
    lines = [
        {"node": "d1", "role": "decode", "effective_at": "2026-09-01T00:00:00Z", "pool_tokens": 9},
        base | {"request_id": "a", "tenant_id": "old", "received_at": "2026-09-01T01:00:00Z"},
        {"node": "d1", "role": "decode", "effective_at": "2026-09-01T02:00:00Z", "pool_tokens": 8},
        base | {"request_id": "b", "tenant_id": "new", "received_at": "2026-09-01T03:00:00Z"},
        base
        | {
            "request_id": "x",
            "tenant_id": "own",
            "received_at": "2026-09-01T04:00:00Z",
            "reserved_pages": 9,
            "transferred_pages": 1,
        },
    ]
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pairs = forensics.read_logs(logs).sources.polars()
    assert pairs["source_tenant_id"].to_list() == ["new"]


def test_a_source_is_told_when_its_requests_were_and_how_long(out):
    rows = told(finished(out), partial(pseudonym, b"key", "C-1", "tenants"))
    named = rows.requests.filter(pl.col("pages").is_not_null())
    assert named.height
    known = ["attempt", "model", "received_at", "prompt_tokens", "completion_tokens"]
    assert named.select(known).null_count().row(0) == (0,) * len(known)
    logged = pl.read_parquet(out / "source_requests.parquet").select("request_id", *known)
    assert named.join(logged, on=["request_id", *known], how="anti").is_empty()
