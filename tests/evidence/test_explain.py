"""Each value with its place, what was believed and why, and the rule that fired."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import zstandard

import forensics
from forensics.cli import run
from forensics.errors import UsageError
from forensics.evidence.explain import Explanation, Value, as_logged, explain
from forensics.evidence.explaintenant import explain_tenant
from forensics.evidence.reporttables import ReportTables, finished
from forensics.findings import FINDINGS

AT = "2026-03-02T00:10:00Z"
POOL = {"node": "p1", "role": "prefill", "pool_tokens": 4_096, "page_tokens": 64}
POOL |= {"context_tokens": 8_192, "engine": "sglang"}


@pytest.fixture(scope="module")
def tables(case: Path) -> ReportTables:
    return finished(case / "out")


def value(found: Explanation, name: str) -> Value:
    (own,) = [item for item in found.values if item.column == name]
    return own


def line(path: Path, number: int) -> dict:
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return json.loads(data.split(b"\n")[number - 1])


def test_every_value_is_where_it_is_said_to_be(tables, case):
    rows = tables.requests()
    checked = 0
    for request in rows["request_id"].sample(20, seed=3):
        for found in explain(tables, request):
            for item in found.values:
                for seen in item.seen:
                    held = line(case / seen.file, seen.line)[item.column]
                    times = item.column.endswith("_at")
                    assert (
                        seen.value[:19] == held[:19] if times else seen.value == str(held).lower()
                    )
                    checked += 1
    assert checked > 400


def test_what_is_believed_is_what_was_judged_by(tables):
    for request in tables.requests()["request_id"].sample(20, seed=4):
        for found in explain(tables, request):
            (row,) = (
                tables.requests()
                .filter(
                    (pl.col("request_id") == request)
                    & (pl.col("attempt") == found.attempt)
                    & pl.col("tenant_id").eq_missing(pl.lit(found.tenant_id))
                )
                .iter_rows(named=True)
            )
            for item in found.values:
                assert sum(seen.believed for seen in item.seen) <= 1
                if row.get(item.column) is not None:
                    assert item.judged_by == as_logged(row[item.column])


def test_hops_that_differ_and_which_of_them_is_believed(case_of):
    base = {"request_id": "r", "received_at": AT, "transfer_id": "1"}
    found = case_of(
        POOL,
        base | {"hop": "gateway", "prompt_tokens": 5_000, "http_status": 200, "tenant_id": "t"},
        base | {"hop": "decode", "prompt_tokens": 4_990, "http_status": 503, "decode_node": "d1"},
        base | {"hop": "decode", "reserved_pages": 79, "completion_tokens": 4},
        base | {"hop": "decode", "reserved_pages": 80},
        base | {"hop": "prefill", "prefill_node": "p1", "http_status": 500, "rejected": True},
        base | {"hop": "prefill", "transferred_pages": 1, "request_id": "p"},
    ).explain("r")
    (one,) = found.attempts
    prompt, status = value(one, "prompt_tokens"), value(one, "http_status")
    assert [(s.value, s.hop, s.believed) for s in prompt.seen] == [
        ("4990", "decode", False),
        ("5000", "gateway", True),
    ]
    assert prompt.why.startswith("gateway: first in gateway > joined > decode")
    assert status.judged_by == "503"
    assert all(not seen.believed for seen in status.seen if seen.hop == "prefill")
    assert value(one, "reserved_pages").judged_by == "80"
    assert "largest" in value(one, "reserved_pages").why
    assert value(one, "rejected").why == "said by any hop, it counts"
    assert value(one, "prefill_request_id").why.startswith("request_id of prefill (")
    (limit,) = one.limits
    assert (limit.tokens, limit.node, limit.pool_tokens) == (4_090, "p1", 4_096)
    assert repr(found).startswith("request r, attempt 0, tenant t\n  tier     probable\n")


def test_the_limit_comes_from_its_line_of_the_capacity_table(tables, case):
    lines = (case / "out" / "capacity.csv").read_text().splitlines()
    seen = 0
    for row in (
        tables.requests().filter(pl.col("input_limit_tokens").is_not_null()).iter_rows(named=True)
    ):
        for found in explain(tables, row["request_id"]):
            if found.attempt != row["attempt"] or found.tenant_id != row["tenant_id"]:
                continue
            if row["prefill_node"] is None:
                continue
            (limit,) = found.limits
            assert limit.tokens == row["input_limit_tokens"]
            assert lines[limit.capacity_line - 1].startswith(f"{limit.node},")
            assert f",{limit.tokens}," in lines[limit.capacity_line - 1]
            seen += 1
    assert seen > 20


def test_a_stated_threshold_is_the_limit(case_of):
    row = {"request_id": "r", "received_at": AT, "prompt_tokens": 50, "http_status": 200}
    found = case_of(row, incident="[trigger]\nthreshold_tokens = 40\n").explain("r").attempts[0]
    assert [(limit.tokens, limit.basis) for limit in found.limits] == [
        (41, "stated threshold, on every node")
    ]
    assert found.decided.rule == "over the limit"


def test_reasons_say_what_they_do_not_prove_and_what_was_missing(tables):
    (found,) = explain(tables, "nameless")
    known = {finding.code: finding for finding in FINDINGS}
    assert {reason.code for reason in found.reasons} >= {"short_transfer"}
    for reason in found.reasons:
        assert reason.meaning == known[reason.code].meaning
        assert reason.does_not_prove == known[reason.code].does_not_prove
    assert {lacking.column for lacking in found.missing} >= {"tenant_id", "prompt_tokens"}
    assert found.decided.rule == "direct evidence"


def test_two_tenants_under_one_id_have_values_of_their_own(case_of):
    base = {"request_id": "r", "received_at": AT, "http_status": 200, "reserved_pages": 9}
    one, other = (base | {"tenant_id": n, "transferred_pages": p} for n, p in (("a", 1), ("b", 2)))
    first, second = case_of(one, other).explain("r").attempts
    assert (first.tenant_id, value(first, "transferred_pages").judged_by) == ("a", "1")
    assert (second.tenant_id, value(second, "transferred_pages").judged_by) == ("b", "2")
    assert len(value(first, "transferred_pages").seen) == 1


def test_an_earlier_attempt_is_not_given_the_answer_of_the_last(case_of):
    base = {"request_id": "r", "tenant_id": "t", "hop": "decode", "reserved_pages": 9}
    found = case_of(
        {"request_id": "r", "tenant_id": "t", "hop": "gateway", "received_at": AT}
        | {"http_status": 200, "completion_tokens": 7},
        base | {"transfer_id": "1", "received_at": AT, "transferred_pages": 1},
        base | {"transfer_id": "2", "received_at": "2026-03-02T00:10:09Z", "transferred_pages": 1},
    ).explain("r")
    first, last = found.attempts
    assert value(first, "http_status").judged_by is None
    assert "the answer of the last" in value(first, "http_status").why
    assert value(last, "http_status").judged_by == "200"


def test_sources_are_counted_as_the_table_has_them(tables):
    pairs = tables.table("source_pairs.parquet")
    others = pairs.filter(~pl.col("same_tenant")).group_by("request_id")
    counted = others.agg(pl.col("source_tenant_id").drop_nulls().n_unique().alias("tenants"))
    request, n = counted.sort("tenants", "request_id", descending=True).row(0)
    affected = [f for f in explain(tables, request) if f.tier == "probable"]
    assert [found.sources.other_tenants for found in affected] == [n]


def test_it_needs_no_log_and_prints_no_content(own, canary, capsys):
    shutil.rmtree(own / "logs")
    assert run(["explain", str(own / "out"), "short"]) == 0
    printed = capsys.readouterr().out
    assert "short_transfer" in printed
    assert "logs/extra.ndjson:3" in printed
    assert "CANARY" not in printed
    assert run(["explain", str(own / "out"), "short", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [item["tenant_id"] for item in document] == ["tenant-y"]


def test_any_id_of_a_request_will_do(tables):
    row = tables.requests().drop_nulls(["prefill_request_id", "transfer_id"]).row(0, named=True)
    for name in ("prefill_request_id", "transfer_id"):
        assert row["request_id"] in {f.request_id for f in explain(tables, row[name])}


@pytest.mark.parametrize("asked", [["nobody"], ["--tenant", "nobody"]])
def test_what_is_in_no_table_cannot_be_explained(out, asked, capsys):
    assert run(["explain", str(out), *asked]) == 2
    assert "not in this report's tables: " in capsys.readouterr().err


@pytest.mark.parametrize("asked", [[], ["short", "--no-tenant"], ["--tenant", "x", "--no-tenant"]])
def test_one_thing_is_asked_at_a_time(out, asked):
    assert run(["explain", str(out), *asked]) == 2


def test_a_tenant_in_both_populations(tables, out, capsys):
    table = tables.table("affected_tenants.parquet")
    twice = table.filter(pl.col("tenant_id").is_duplicated() & (pl.col("tier") == "probable"))
    tenant = twice["tenant_id"][0]
    found = explain_tenant(tables, tenant)
    assert found.recipient["n_probable"] == twice["n_probable"][0]
    assert found.source["responses"] > 0
    listed = {group.tier: len(group.requests) for group in found.listed}
    assert listed["probable"] == found.recipient["n_probable"]
    assert found.direction.startswith("Data of the tenants listed as sources could appear")
    assert run(["explain", str(out), "--tenant", tenant]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"tenant {tenant}\n")
    assert found.direction in printed


def test_data_goes_from_sources_to_recipients_whatever_the_mechanism(case_of):
    short = {"request_id": "r", "tenant_id": "t", "received_at": AT, "http_status": 200}
    short |= {"reserved_pages": 9, "transferred_pages": 1}
    read, write = (
        case_of(short, incident=f'[trigger]\nmechanism = "{name}"\n').explain("r")
        for name in ("read", "write")
    )
    assert "listed as sources could appear in responses to" in repr(read)
    assert "listed as sources could appear in responses to" in repr(write)


def test_requests_without_a_tenant_are_a_finding_of_their_own(out, capsys):
    assert run(["explain", str(out), "--no-tenant", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tenant_id"] is None
    assert document["recipient"]["n_probable"] == 1


def test_names_cannot_steer_a_terminal(case_of):
    short = {"request_id": "r", "tenant_id": "a\u202eb", "received_at": AT, "http_status": 200}
    found = case_of(short | {"reserved_pages": 9, "transferred_pages": 1})
    assert "\u202e" not in repr(found.explain("r"))


def test_python_and_the_command_explain_the_same(case, tables):
    read = forensics.read_logs(case / "logs", incident=case / "incident.toml")
    from_case = read.explain("short").attempts
    from_folder = explain(tables, "short")
    assert [f.decided for f in from_case] == [f.decided for f in from_folder]
    assert [f.reasons for f in from_case] == [f.reasons for f in from_folder]
    assert [len(f.values) for f in from_case] == [len(f.values) for f in from_folder]
    with pytest.raises(UsageError, match="not in this report's tables"):
        read.explain("nobody")


LATER = POOL | {"pool_tokens": 8_192, "effective_at": "2026-03-02T00:20:00Z"}
ENDED = {"request_id": "r", "prefill_node": "p1", "prompt_tokens": 5_000, "http_status": 200}


def test_a_request_that_was_logged_at_its_end_names_every_limit_since_it_may_have_come(case_of):
    found = case_of(POOL, LATER, ENDED | {"finished_at": "2026-03-02T00:30:00Z"}).explain("r")
    (one,) = found.attempts
    assert [limit.tokens for limit in one.limits] == [4_090, 8_186]
    assert "limit_uncertain" in [reason.code for reason in one.reasons]


@pytest.mark.parametrize("name", ["received_at", "reserved_at"])
def test_a_request_whose_arrival_is_known_names_the_limit_of_that_time(case_of, name):
    asked = ENDED | {name: "2026-03-02T00:15:00Z", "finished_at": "2026-03-02T00:30:00Z"}
    (one,) = case_of(POOL, LATER, asked).explain("r").attempts
    assert [limit.tokens for limit in one.limits] == [4_090]


def test_a_node_that_no_capacity_is_known_of_stood_against_the_limits_of_all(case_of):
    asked = ENDED | {"prefill_node": "p9", "received_at": "2026-03-02T00:15:00Z"}
    (one,) = case_of(POOL, asked).explain("r").attempts
    assert [(limit.tokens, limit.node) for limit in one.limits] == [(4_090, "p1")]


def test_a_refused_request_names_the_limit_that_its_refusal_quotes(node_logs):
    line = (
        "[2026-03-02 00:15:00 TP0] Input length (6000 tokens) exceeds the maximum allowed length "
        "(5000 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='r'"
    )
    pool = "[2026-03-02 00:10:00 TP0] max_total_num_tokens=4096, context_len=8192"
    (one,) = node_logs({"p1": [pool, line]}).explain("r").attempts
    assert [(limit.tokens, limit.basis) for limit in one.limits] == [
        (5_000, "quoted in its own refusal")
    ]
