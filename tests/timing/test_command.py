"""``forensics timing``: what it prints and how it ends."""

import json
import re

import pytest

from forensics.cli import run
from forensics.errors import Exit
from forensics.lab.timings import TimingConfig, draw, write


@pytest.fixture(scope="module")
def leaking():
    return draw(TimingConfig(seed=7, requests=4_000, affected=0.01))


@pytest.fixture(scope="module")
def logs(tmp_path_factory, leaking):
    folder = tmp_path_factory.mktemp("leaking")
    write(leaking, folder)
    return [str(folder), "-i", str(folder / "incident.toml"), "-q"]


def test_json_holds_every_flagged_request_and_where_it_belongs(logs, leaking, capsys):
    assert run(["timing", *logs, "--json"]) == Exit.COMPLETE
    document = json.loads(capsys.readouterr().out)
    fast = [row for row in document["requests"] if row["speed"] == "too_fast"]
    assert {row["request_id"] for row in fast} == leaking.affected
    assert all(row["prefill_ms"] * 3 < row["expected_prefill_ms"] for row in fast)
    numbers = {cluster["cluster"] for cluster in document["clusters"]}
    assert {row["timing_cluster"] for row in fast} <= numbers
    assert {"leak"} == {c["kind"] for c in document["clusters"] if c["median_ratio"] < 1}
    assert any(hour["alarm"] and hour["long_context"] for hour in document["hours"])
    assert [source["decides"] for source in document["sources"]] == [True]
    leaked = {row["prefill_node"] for row in fast}
    unsaid = {said.split(":")[0].split(", ")[-1] for said in document["undecided"]}
    assert unsaid
    assert not unsaid & leaked, "the others computed little of their prompts; these would show"


def test_the_table_shows_the_same(logs, leaking, capsys):
    assert run(["timing", *logs]) == Exit.COMPLETE
    shown = capsys.readouterr()
    assert re.search(r"Requests too fast or slow for their tokens: 40 of \d\d\n", shown.out)
    assert "Clusters of them" in shown.out
    assert "plain-csv, joined" in shown.out
    assert "probable" in shown.err


def test_a_source_without_cached_tokens_is_named(tmp_path, leaking, capsys):
    columns = {name: values for name, values in leaking.requests.items() if name != "cached_tokens"}
    blind = type(leaking)(leaking.config, columns, leaking.capacity, leaking.affected)
    write(blind, tmp_path)
    logs = [str(tmp_path), "-i", str(tmp_path / "incident.toml"), "-q"]
    assert run(["timing", *logs]) == Exit.COMPLETE
    out = capsys.readouterr().out
    said = "of 4,000 requests with a prefill time, 4,000 lack their cached tokens"
    assert said in out
    assert "Requests too fast or slow for their tokens: 0 of 0" in out


def test_fail_on_and_no_input_end_as_everywhere(logs, tmp_path):
    assert run(["timing", *logs, "--fail-on", "probable"]) == Exit.TIER_REACHED
    assert run(["timing", str(tmp_path / "nothing"), "-q"]) == Exit.NO_INPUT


def test_the_report_lists_clusters_and_what_was_expected(logs, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["report", *logs, "-o", str(out)]) == Exit.COMPLETE
    head, *rows = (out / "timing_clusters.csv").read_text().splitlines()
    assert head == "cluster,kind,requests,first_at,last_at,nodes,median_ratio"
    assert any(row.split(",")[1] == "leak" for row in rows)
    changed = (out / "timing_clusters.csv").read_text().replace("leak", "stall", 1)
    (out / "timing_clusters.csv").write_text(changed)
    assert run(["verify", str(out)]) == Exit.MISMATCH
