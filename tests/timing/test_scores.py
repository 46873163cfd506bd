"""Which times are too fast for their tokens, and which only look it."""

import numpy as np
import polars as pl
import pytest

from forensics.timing import blind, scores


def of(rows: pl.DataFrame, request_id: str = "x") -> dict:
    return rows.row(by_predicate=pl.col("request_id") == request_id, named=True)


def beside(honest: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([honest, *others])


def test_a_long_prompt_in_the_time_of_one_token_is_too_fast(honest, scored, one):
    rows = honest()
    found, _ = scored(beside(rows, one(rows, prefill_ms=56.0)))
    row = of(found)
    assert row["timing_fast"]
    assert row["expected_prefill_ms"] == pytest.approx(55 + 35_000 + 12_250, rel=0.1)
    assert row["timing_ratio"] == pytest.approx(56 / row["expected_prefill_ms"])
    assert found["timing_fast"].sum() == 1


def test_a_long_prompt_that_is_fast_because_it_was_cached_is_not(honest, scored, one):
    rows = honest()
    cached = one(rows, cached_tokens=699_904, prefill_ms=62.0)
    assert of(scored(beside(rows, cached))[0])["timing_fast"] is False


def test_unknown_cached_tokens_never_make_it_too_fast(honest, scored, one):
    rows = honest()
    unknown = one(rows, cached_tokens=None, prefill_ms=56.0)
    row = of(scored(beside(rows, unknown))[0])
    assert row["timing_fast"] is row["expected_prefill_ms"] is row["timing_ratio"] is None


def test_chance_alone_is_not_enough_nor_is_the_factor(honest, scored, one):
    """Half the time of a long prompt is beyond chance; a third of a short one's is no rate."""
    rows = honest()
    half = one(rows, request_id="half", handoff=10**6 + 1, prefill_ms=47_300 * 0.5)
    short = one(rows, request_id="short", handoff=10**6 + 2, prompt_tokens=90, prefill_ms=10.0)
    found, _ = scored(beside(rows, half, short))
    assert not of(found, "half")["timing_fast"]
    assert not of(found, "short")["timing_fast"]
    assert of(found, "short")["timing_ratio"] < 1 / 3


def test_one_prompt_in_twenty_on_a_node_does_not_hide_the_others(honest, scored):
    rows = honest()
    leaks = (pl.col("prompt_tokens") > 100_000) & (pl.col("handoff") % 3 == 0)
    rows = rows.with_columns(
        cached_tokens=pl.when(leaks).then(0).otherwise("cached_tokens"),
        prefill_ms=pl.when(leaks).then(57.0).otherwise("prefill_ms"),
    )
    found, _ = scored(rows)
    assert rows.filter(leaks).height > rows.height / 20
    assert found.filter(leaks)["timing_fast"].all()
    assert not found.filter(~leaks)["timing_fast"].any()


def test_some_over_the_limit_that_are_nearly_slow_enough_do_not_hide_the_others(
    honest, scored, one
):
    """A placeholder in a busy batch takes nearly as long as a fast prompt: no measure of a node."""
    rows = honest()
    small = {"limit_low": 3_000, "prompt_tokens": 4_000, "prefill_ms": 92.0}
    near = [one(rows, request_id=f"n{n}", handoff=10**6 + n, **small) for n in range(5)]
    hidden = one(rows, handoff=10**6 + 9, limit_low=3_000, prompt_tokens=9_000, prefill_ms=80.0)
    found, _ = scored(beside(rows, *near, hidden))
    assert of(found)["timing_fast"] is True
    assert not found.filter(pl.col("request_id").str.starts_with("n"))["timing_fast"].any()


@pytest.mark.parametrize("ms", [4_700.0, 3.0], ids=["ten times faster", "less than a token's"])
def test_what_took_no_time_of_one_token_is_not_too_fast_and_said(honest, scored, one, ms):
    """Faster hardware and other units look so: a placeholder takes what one token takes."""
    rows = honest()
    found, timing = scored(beside(rows, one(rows, prefill_ms=ms)))
    assert of(found)["timing_fast"] is False
    assert timing.unlike["requests"].to_list() == [1]
    assert "1 request took far less time than their tokens need, but no time that one token" in (
        " ".join(blind.sentences(timing))
    )


def test_where_long_prompts_were_never_seen_nothing_is_called_too_fast(honest, scored, one):
    """Six octaves beyond the longest prompt seen, half of what the curve says means nothing."""
    rows = honest(longest=6_000)
    far = one(rows, prefill_ms=6_000.0)
    row = of(scored(beside(rows, far))[0])
    assert row["timing_ratio"] < 1 / 3
    assert row["timing_fast"] is False


def test_a_rate_that_the_curve_never_reaches_is_no_bound(honest, scored, one):
    """Attention weighs so much that no length comes near to one token's own pace."""
    rows, u = honest(), pl.col("prompt_tokens") - pl.col("cached_tokens")
    pairs = u * (pl.col("cached_tokens") + u / 2)
    rows = rows.with_columns(prefill_ms=200 + 0.001 * u + 2e-7 * pairs)
    found, _ = scored(beside(rows, one(rows, prefill_ms=280.0)))
    assert 3 / 0.001 > 700_000 / 280
    assert of(found)["timing_fast"] is True


def test_what_chance_explains_among_so_many_is_not_enough(honest, scored, one):
    """Three octaves beyond what was seen, four widths: one in 30,000, of 4,000."""
    rows = honest(longest=6_000)
    row = of(scored(beside(rows, one(rows, prompt_tokens=48_000, prefill_ms=125.0)))[0])
    assert row["timing_ratio"] < 0.06
    assert row["timing_fast"] is False


def test_slow_is_kept_apart(honest, scored, one):
    rows = honest()
    row = of(scored(beside(rows, one(rows, prefill_ms=900_000.0)))[0])
    assert (row["timing_fast"], row["timing_slow"]) == (False, True)


def test_too_few_requests_are_no_measure(honest, scored, one):
    rows = honest(size=40)
    row = of(scored(beside(rows, one(rows, prefill_ms=56.0)))[0])
    assert row["expected_prefill_ms"] is row["timing_fast"] is None


def test_a_node_with_few_requests_borrows_from_its_model(honest, scored, one):
    rows = honest()
    rare = one(rows, prefill_node="prefill-9/dp0", prefill_ms=56.0)
    assert of(scored(beside(rows, rare))[0])["timing_fast"] is True


def test_formats_are_never_mixed(honest, scored, one):
    """One format's figure holds the queue: its times say nothing of another's."""
    rows = honest()
    queued = honest(seed=2).with_columns(
        pl.col("handoff") + 5_000, pl.col("prefill_ms") * 30, pl.lit("q").alias("request_id")
    )
    both = beside(rows, queued)
    observed = both.select("handoff", "prefill_ms", hop=pl.lit("prefill")).with_columns(
        file=pl.when(pl.col("handoff") < 5_000).then(0).otherwise(1).cast(pl.Int32)
    )
    found, timing = scored(both, observed, {0: "one-log", 1: "other-log"})
    assert timing.sources["source"].to_list() == ["one-log, prefill", "other-log, prefill"]
    apart = found["timing_ratio"].log().abs()
    assert apart.quantile(0.99) < 0.5
    assert scored(both)[0]["timing_ratio"].log().abs().quantile(0.99) > 1


def test_a_source_without_cached_tokens_is_said_to_decide_nothing(honest, scored):
    rows = honest(size=100).with_columns(cached_tokens=pl.lit(None, dtype=pl.Int64))
    found, timing = scored(rows)
    assert timing.sources.row(0)[:4] == ("unknown source", 100, 0, 0)
    assert found["timing_fast"].null_count() == 100


def test_the_order_of_the_rows_does_not_matter(honest, scored, one):
    rows = honest()
    rows = beside(rows, one(rows, prefill_ms=56.0))
    shuffled = rows.sample(fraction=1, shuffle=True, seed=5)
    first, second = (
        scored(frame)[0].sort("handoff").select(*scores.SCORES, "timing_cluster")
        for frame in (rows, shuffled)
    )
    assert first.equals(second)


def test_figures_that_no_prefill_has_are_left_out(honest, scored, one):
    rows = honest()
    odd = [
        one(rows, request_id="a", handoff=10**6 + 1, prompt_tokens=2**62, prefill_ms=5.0),
        one(rows, request_id="b", handoff=10**6 + 2, prefill_ms=1e300),
        one(rows, request_id="c", handoff=10**6 + 3, cached_tokens=700_001, prefill_ms=5.0),
        one(rows, request_id="d", handoff=10**6 + 4, prefill_ms=-1.0),
    ]
    found, _ = scored(beside(rows, *odd))
    assert found.tail(4)["timing_fast"].to_list() == [None] * 4


def test_false_discoveries_are_counted_over_all_that_were_tested():
    """Ten scores of 4.2 stand out among a hundred; one does not among a hundred thousand."""
    few = np.concatenate([np.full(10, 4.2), np.zeros(90)])
    many = np.concatenate([np.full(1, 4.2), np.zeros(99_999)])
    assert scores.discovered(few) == 4.2
    assert scores.discovered(many) == float("inf")
    assert scores.discovered(np.array([])) == float("inf")


def test_without_any_time_nothing_is_added_but_empty_columns(honest, scored):
    rows = honest(size=5).with_columns(prefill_ms=pl.lit(None, dtype=pl.Float64))
    found, timing = scored(rows)
    assert found.height == 5
    assert timing.sources.height == timing.clusters.height == 0
