"""What a printed pool of vLLM counts: it changed from version to version, and looks alike.

Up to 0.20 it is the tokens of all blocks, from 0.22.1 on concurrency times window. The
version of a boot stands in its start line. Where that is not there, or lies in between, it
cannot be told, and the pool is not known. Up to 0.20 each worker of an engine prints a pool
of its own, and the engine goes by the smallest.
"""

from __future__ import annotations

import re

import polars as pl

VLLM = (pl.col("engine") == "vllm").fill_null(value=False)
_OLDEST, _LAST_OF_BLOCKS, _FIRST_OF_PRODUCT = (0, 6), (0, 20), (0, 22, 1)
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(.*)")
_ONE_START = 60_000_000
"""Workers of one engine print their pools no further apart, microseconds."""


def settled(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the facts with a basis for every pool of vLLM; one that has none is null.

    Args:
        facts: with ``source_node``, ``effective_at``, ``event``, in any order.
    """
    known = pl.col("pool_tokens").is_not_null() & pl.col("effective_at").is_not_null()
    printed = (VLLM & known & (pl.col("event") == "rank_pool")).fill_null(value=False)
    rows = facts.with_columns(printed=printed).with_row_index("_row")
    if not rows["printed"].any():
        return facts
    pools = _least(_versioned(rows.filter("printed"), facts))
    rows = rows.join(pools.select("_row", "least", "meant"), on="_row", how="left").sort("_row")
    rows = rows.with_columns(
        pool_tokens=pl.when("printed").then("least").otherwise("pool_tokens"),
        pool_basis=pl.when("printed").then("meant").otherwise("pool_basis"),
    )
    return rows.select(facts.columns)


def _versioned(pools: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Add what each pool counts, where it does not say it itself: by the last start before it."""
    starts = facts.filter((pl.col("event") == "start") & pl.col("effective_at").is_not_null())
    # Two versions in one second: whichever came last cannot be told.
    starts = starts.group_by("source_node", "effective_at").agg(
        _one("engine_version").alias("told")
    )
    found = pools.sort("effective_at").join_asof(
        starts.sort("effective_at"), on="effective_at", by="source_node", check_sortedness=False
    )
    meant = pl.Series("meant", [basis(version) for version in found["told"]], dtype=pl.String)
    return found.with_columns(meant=pl.coalesce("pool_basis", meant))


def _least(pools: pl.DataFrame) -> pl.DataFrame:
    """Add the smallest pool that an engine printed as it started; null where none is known."""
    pools = pools.sort("node", "effective_at")
    apart = pl.col("effective_at").diff().over("node") > _ONE_START
    pools = pools.with_columns(start=apart.fill_null(value=False).cum_sum().over("node"))
    least = pl.col("pool_tokens").min().over("node", "start")
    return pools.with_columns(least=pl.when(pl.col("meant").is_not_null()).then(least))


def basis(version: str | None) -> str | None:
    """Return what the pool lines of a version count; None where it cannot be told.

    Builds without a release call themselves 0.1, those before a release after that release.
    """
    match = _VERSION.fullmatch(version or "")
    if match is None:
        return None
    number = (int(match[1]), int(match[2]), int(match[3] or 0))
    if _OLDEST <= number[:2] <= _LAST_OF_BLOCKS:
        return "blocks"
    early = number == _FIRST_OF_PRODUCT and re.search("rc|dev|a|b", match[4].split("+")[0])
    return "concurrency_x_len" if number >= _FIRST_OF_PRODUCT and not early else None


def named(epochs: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the epochs of vLLM with the basis and page of their pool, as the facts have them."""
    if not epochs.select(VLLM.any()).item():
        return epochs
    told = (
        facts.filter(VLLM & pl.col("pool_tokens").is_not_null())
        .group_by(server="source_node", pool_tokens="pool_tokens")
        .agg(_one("pool_basis").alias("told_basis"), _one("page_tokens").alias("told_page"))
    )
    rows = epochs.with_columns(server=pl.col("node").str.replace(r"/[^/]*$", ""))
    rows = rows.join(told, on=["server", "pool_tokens"], how="left", maintain_order="left")
    page = pl.coalesce("page_tokens", "told_page")
    return rows.with_columns(
        pool_basis=pl.when(VLLM)
        .then(pl.coalesce("told_basis", "pool_basis"))
        .otherwise("pool_basis"),
        page_tokens=pl.when(VLLM).then(page).otherwise("page_tokens"),
        # Freed blocks go to the end of one queue, whatever the role.
        allocator=pl.when(VLLM).then(pl.lit("fifo")).otherwise("allocator"),
    ).select(epochs.columns)


def _one(name: str) -> pl.Expr:
    """The single value that is there; null where they differ."""
    known = pl.col(name).drop_nulls().unique()
    return pl.when(known.len() == 1).then(known.first()).alias(name)
