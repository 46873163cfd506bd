"""What the document, the page and the command say of the sources."""

import json

import polars as pl
import pytest

import forensics
from forensics.cli import run
from forensics.errors import Exit
from forensics.report import sourceschart
from forensics.report.html import render


@pytest.fixture(scope="module")
def section(idle_case):
    return idle_case.exposure().attribution


def test_ranks_and_responses_are_all_there(section, idle_case):
    affected = idle_case.affected.polars().height
    assert sum(rank.responses for rank in section.ranks) == affected
    assert all(rank.result == "modelled, unchecked" and rank.since for rank in section.ranks)
    assert f"replayed for {affected} of {affected} affected responses" in section.sentence
    assert "no figures of the engine's own" in section.sentence


def test_a_response_without_a_source_is_said(tmp_path):
    """One on a rank on which nobody ran, one of a rank that no log names; then this one alone."""
    row = {"received_at": "2026-09-01T04:00:00Z", "http_status": 200, "completion_tokens": 3}
    row |= {"reserved_pages": 9, "transferred_pages": 1, "tenant_id": "own"}
    lone = json.dumps(row | {"request_id": "x", "decode_node": "d1"})
    astray = json.dumps(row | {"request_id": "y", "received_at": "2026-09-01T05:00:00Z"})
    (tmp_path / "both.ndjson").write_text(f"{lone}\n{astray}\n")
    said = forensics.read_logs(tmp_path / "both.ndjson").exposure().attribution.sentence
    assert "No log names the decode rank of 1 affected response: whoever ran on any before" in said
    assert "No source is listed for the decode pages of 1 affected response: 1 of a rank on" in said
    (tmp_path / "one.ndjson").write_text(f"{astray}\n")
    said = forensics.read_logs(tmp_path / "one.ndjson").exposure().attribution.sentence
    assert "no affected response with a known decode rank" in said
    assert "decode pages of 1 affected response: 1 of a decode rank that no log names." in said


def test_the_circle_widens_as_one_looks_back(section):
    most = [row.most_tenants for row in section.lookback]
    assert most == sorted(most)
    assert most[0] < most[-1]
    assert section.lookback[-1].hours is None


def test_the_pages_of_one_response_add_up(section, idle):
    example = section.example
    handoff = next(h for h in idle.affected if h.intent.request_id == example.request_id)
    assert example.pages == handoff.reserved_pages - handoff.transferred_pages
    assert sum(owner.pages for owner in example.owners) == example.pages
    unused = [owner.pages for owner in example.owners if owner.owner == "never used"]
    # A health check's page is nobody's data either.
    assert sum(unused) >= handoff.unwritten_pages
    figure = sourceschart.owners(type("Document", (), {"attribution": section}))
    assert sum(sum(bar["x"]) for bar in figure["data"]) == example.pages


def test_the_tail_of_the_page_that_arrived_is_the_prefill_nodes(idle, idle_case):
    rows = idle_case.sources.polars().filter(origin="prefill")
    assert set(rows["tier"]) == {"possible"}
    assert set(rows["pages"]) == {0}
    assert set(rows["tokens"]) == {63}
    assert rows["probability"].null_count() == rows.height
    tails = {h.intent.request_id for h in idle.affected if h.prefill_tail}
    assert tails <= set(rows["request_id"])


def test_ways_on_are_possible_and_in_no_count(section, idle_case):
    assert [way.way for way in section.spread] == ["follow-up turn", "decode prefix cache"]
    assert section.spread[1].responses == idle_case.affected.polars().height
    assert {way.known for way in section.spread} == {"not known"}


def test_the_page_has_tables_and_pictures_of_it(idle_case):
    page = render(idle_case.exposure()).decode()
    assert "figures do not confirm the model there" not in page  # there are none
    for part in ("table-source_ranks", "chart-lookback", "chart-page_owners", "table-spread"):
        assert f'id="{part}"' in page
    assert idle_case.exposure().attribution.sentence.split(";")[0] in page


@pytest.mark.long
def test_the_command_prints_the_same(idle, idle_case, tools, tmp_path, capfd):
    logs = str(tools.write(idle, tmp_path))
    assert run(["sources", logs, "--json", "-q"]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    found = json.loads(capfd.readouterr().out)
    assert len(found["pairs"]) == len(idle_case.sources)
    assert found["sentence"] == idle_case.exposure().attribution.sentence
    named = [row for row in found["pairs"] if row["probability"] is not None]
    assert len(named) == idle_case.sources.polars().filter(pl.col("probability") > 0).height
    assert run(["sources", logs, "-q"]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    out = capfd.readouterr().out
    assert "Decode ranks with affected responses" in out
    assert found["sentence"] in out
