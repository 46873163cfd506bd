"""Prompts over the limit that are as fast as those below it: the limit explains neither."""

import polars as pl

from forensics.timing import blind

WORK = pl.col("prompt_tokens") - pl.col("cached_tokens")
OVER = pl.col("prompt_tokens") >= pl.col("limit_low")
LONG = WORK >= 150_000
SAID = "but so did prompts nearly as long below the limit"


def waiting(honest, **values):
    """Draw requests of which some waited so long that any time could be one token's."""
    rows = honest(longest=1_000_000, **values).with_columns(
        limit_low=pl.when(pl.col("handoff") % 2 == 0).then(300_000).otherwise(1_100_000)
    )
    late = pl.when(pl.col("handoff") % 50 == 0).then(20_000.0).otherwise(0.0)
    return rows.with_columns(prefill_ms=pl.col("prefill_ms") + late)


def test_long_prompts_that_are_fast_on_both_sides_of_the_limit_are_no_leak(honest, scored):
    """As with hardware that splits long prompts: shorter ones show no such rate."""
    rows = waiting(honest)
    faster = rows.with_columns(
        prefill_ms=pl.when(LONG).then(pl.col("prefill_ms") / 20).otherwise("prefill_ms")
    )
    found, timing = scored(faster)
    fast = found.filter("timing_fast")
    assert fast.filter(~OVER).height > 10
    assert not fast.filter(OVER).height
    assert SAID in " ".join(blind.sentences(timing))


def test_some_below_the_limit_hide_no_leak(honest, scored):
    """Their share says how many over it are as fast for whatever reason: not nearly so many."""
    rows = honest(longest=1_000_000, limit_low=300_000)
    odd = (~OVER & LONG).cum_sum() <= 2
    leaks = OVER & (pl.col("handoff") % 3 == 0)
    swapped = pl.when(leaks | (odd & LONG & ~OVER)).then(57.0).otherwise("prefill_ms")
    found, _ = scored(rows.with_columns(prefill_ms=swapped))
    assert found.filter(~OVER)["timing_fast"].sum() == 2
    assert found.filter(leaks & (WORK > 10_000))["timing_fast"].all()
    assert not found.filter(OVER & ~leaks)["timing_fast"].any()


def test_of_mixed_units_it_is_said_that_no_prompt_could_be_told(honest, scored):
    rows = honest(longest=1_000_000, limit_low=300_000)
    leaks = OVER & (pl.col("handoff") % 3 == 0)
    times = (
        pl.when(leaks)
        .then(57.0)
        .when(pl.col("handoff") % 25 == 1)
        .then(pl.col("prefill_ms") / 1_000)
        .otherwise("prefill_ms")
    )
    found, timing = scored(rows.with_columns(prefill_ms=times))
    assert not found["timing_fast"].any()
    over = found.filter(OVER & (WORK > 0)).height
    assert timing.silent.filter(reason="mixed")["requests"].sum() == over
    said = " ".join(blind.sentences(timing))
    assert "times of more than one unit are mixed there" in said
    assert "no time that one token" not in said


def leaking(honest, leaks, **values):
    """Draw requests of two nodes of which some over the limit were never computed."""
    limit = {"limit_low": pl.lit(300_000, dtype=pl.Int64)}
    rows = honest(8_000, longest=1_000_000).with_columns(**limit | values)
    return rows.with_columns(prefill_ms=pl.when(leaks).then(57.0).otherwise("prefill_ms"))


NODE = pl.col("prefill_node") == "prefill-0/dp0"
LEAKS = (pl.col("prompt_tokens") >= 300_000) & (pl.col("handoff") % 3 == 0)


def test_prompts_of_an_unknown_limit_are_no_control_group(honest, scored):
    """Those of a node whose pool nobody logged leak as well: they are not known to be below."""
    limit = pl.when(NODE).then(None).otherwise(300_000)
    found, _ = scored(leaking(honest, LEAKS, limit_low=limit))
    told = LEAKS & ~NODE & (WORK > 10_000)
    assert found.filter(told).height > 50
    assert found.filter(told)["timing_fast"].all()


def test_a_node_with_prompts_enough_is_held_against_its_own(honest, scored):
    """Fast honest prompts of one node say nothing of the other."""
    odd = NODE & LONG & ~OVER & (pl.col("handoff") % 3 == 1)
    found, _ = scored(leaking(honest, LEAKS | odd))
    fast = found.filter("timing_fast")
    assert not fast.filter(NODE & OVER).height
    assert fast.filter(~NODE & OVER).height > 50
