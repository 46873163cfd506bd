"""Where cached tokens are missing for a whole source the report says that timing cannot decide."""

import polars as pl
import pytest

import forensics
from forensics.report.html import render

FIELDS = ("request_id", "tenant_id", "prefill_node", "prompt_tokens", "cached_tokens", "prefill_ms")
SAID = (
    "plain-csv, joined: of 60 requests with a prefill time, none has its prompt and cached tokens: "
    "timing cannot decide there."
)


@pytest.fixture(scope="module")
def exposure(tmp_path_factory, honest):
    """Read one source with cached tokens, and one where nobody logged them."""
    logs = tmp_path_factory.mktemp("logs")
    rows = honest(60, longest=20_000).select(FIELDS)
    rows = rows.with_columns(received_at=pl.lit("2026-09-01T12:00:00Z"))
    rows.write_ndjson(logs / "told.ndjson")
    others = rows.with_columns(request_id="o" + pl.col("request_id")).drop("cached_tokens")
    others.write_csv(logs / "blind.csv")
    return forensics.read_logs(logs).exposure()


def test_the_report_says_so_of_that_source_alone(exposure):
    blind = [one.sentence for one in exposure.limitations if one.code == "timing_blind"]
    assert blind == [SAID]


def test_the_page_says_so_beside_the_picture(exposure):
    page = render(exposure).decode()
    section = page[page.index('<h3 id="prefill-density">') :]
    assert section.index(SAID) < section.index("</section>")


def test_nothing_of_that_source_is_counted_in_the_picture(exposure):
    assert sum(cell.requests for cell in exposure.timing_cells) == 60
    assert sum(row.requests for row in exposure.timing_band) == 60
