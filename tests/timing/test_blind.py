"""Where cached tokens are missing for a whole source the report says that timing cannot decide."""

import numpy as np
import polars as pl
import pytest

import forensics
from forensics.report.html import render
from forensics.timing import blind

FIELDS = ("request_id", "tenant_id", "prefill_node", "prompt_tokens", "cached_tokens", "prefill_ms")
SAID = (
    "plain-csv, joined: of 60 requests with a prefill time, 60 lack their cached tokens: "
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


def said(timing) -> list[str]:
    return list(blind.sentences(timing))


def test_times_of_zero_are_counted(honest, scored):
    rows = honest(100).with_columns(
        prefill_ms=pl.when(pl.col("handoff") < 1).then(0.0).otherwise("prefill_ms")
    )
    assert "1 request has a prefill time of zero, or one" in said(scored(rows)[1])[0]


def test_too_few_requests_and_too_few_lengths_are_told_apart(honest, scored):
    alike = honest(100).with_columns(prompt_tokens=9_000, cached_tokens=0)
    (few,), (same,) = (said(scored(rows)[1]) for rows in (honest(40), alike))
    assert "40 are of a model with fewer than 50 such requests" in few
    assert "100 are of a model whose prompts are of too few different lengths" in same


def over(rows: pl.DataFrame, number: int, ms: float, node: str = "prefill-1/dp0") -> pl.DataFrame:
    """Put prompts over the limit on a node that came back at once."""
    added = rows.head(number).with_columns(
        pl.col("handoff") + 10**6,
        prompt_tokens=700_000,
        cached_tokens=0,
        prefill_ms=ms,
        prefill_node=pl.lit(node),
    )
    return pl.concat([rows, added.select(rows.columns).cast(rows.schema)])


def test_leaks_that_a_slow_node_hides_are_said_to_be_undecided(honest, scored):
    """Its times are so far off that one token's time would not stand out there."""
    slow = pl.col("prefill_node") == "prefill-1/dp0"
    rows = (
        honest(1_500)
        .with_columns(
            prefill_ms=pl.col("prefill_ms") * pl.when(slow).then(20).otherwise(1),
            prefill_node=pl.when(slow & (pl.col("handoff") > 300))
            .then(pl.lit("prefill-2/dp0"))
            .otherwise("prefill_node"),
        )
        .filter(pl.col("prefill_node") != "prefill-2/dp0")
    )
    found, timing = scored(over(rows, 5, 56.0 * 20))
    assert not found.tail(5)["timing_fast"].any()
    (one,) = said(timing)
    assert "prefill-1/dp0: of 5 prompts over the limit with a prefill time, 5 could not" in one
    assert "far from those of its model" in one


def test_leaks_that_are_a_fifth_of_a_node_are_said_to_be_undecided(honest, scored):
    found, timing = scored(over(honest(1_500), 300, 56.0))
    assert not found.tail(300)["timing_fast"].any()
    (one,) = said(timing)
    assert "prefill-1/dp0: of 300 prompts over the limit" in one
    assert "300 could not be told by it, since a fifth or more of the times there" in one


def test_over_the_limit_with_little_to_compute_is_said_to_be_undecided(honest, scored):
    rows = over(honest(), 5, 62.0).with_columns(
        cached_tokens=pl.when(pl.col("handoff") >= 10**6).then(699_904).otherwise("cached_tokens")
    )
    (one,) = said(scored(rows)[1])
    assert "5 could not be told by it, since most of their tokens were cached" in one


@pytest.mark.parametrize(
    ("size", "longest", "share", "ms", "said_of"),
    [
        (1_200, 200_000, 0.6, 1_500.0, 5),
        (300, 600_000, 0.7, 600.0, 0),
        (2_000, 600_000, 0.88, 56.0, 0),
    ],
    ids=["possible", "too fast", "waited for none where most do"],
)
def test_a_leak_that_waited_for_a_batch_is_too_fast_or_said_to_be_undecided(
    honest, scored, size, longest, share, ms, said_of
):
    rng = np.random.default_rng(3)
    busy = np.where(rng.random(size) < share, rng.uniform(0, 1_600, size), 0)
    rows = honest(size, longest=longest).with_columns(prefill_ms=pl.col("prefill_ms") + busy)
    found, timing = scored(over(rows, 5, ms))
    assert found.tail(5)["timing_fast"].sum() == 5 - said_of
    assert [reason for reason, n in timing.silent.select("reason", "requests").rows() if n] == (
        ["shared"] if said_of else []
    )


def test_where_a_leak_would_be_seen_nothing_is_said(honest, scored):
    found, timing = scored(over(honest(), 5, 56.0))
    assert found.tail(5)["timing_fast"].all()
    assert said(timing) == []
