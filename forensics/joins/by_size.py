"""Rejections that name no hand-off: joined to the only one of their size and moment.

Such a join is marked ``inferred``: it never carries more than ``possible``.
"""

from __future__ import annotations

import polars as pl

from forensics.joins.gaps import INFERRED_GAP
from forensics.schema import ENGINE_HOP

_KEY = pl.String()
SIZED: dict[str, dict[str, pl.DataType]] = {
    "refused": {"refused": _KEY, "prompt_tokens": pl.Int64(), "at": pl.Int64()},
    "served": {"handoff": _KEY, "prompt_tokens": pl.Int64(), "received_at": pl.Int64()},
}
"""What is compared of rejections, and of the hand-offs that they may be of."""


def sized(joined: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return what :data:`SIZED` says of some requests."""
    if not {"prompt_tokens", "decode_prompt_tokens", "rejected"} <= set(joined.columns):
        return {name: pl.DataFrame(schema=columns) for name, columns in SIZED.items()}
    found = {"refused": _refused(joined), "served": _served(joined)}
    return {name: found[name].select(*columns) for name, columns in SIZED.items()}


def by_size(refused: pl.DataFrame, served: pl.DataFrame) -> pl.DataFrame:
    """Return ``refused`` and ``to``: the only hand-off of its size and moment that decode served.

    Args:
        refused: of :func:`sized`, of all requests.
        served: likewise.
    """
    near = (pl.col("at") - pl.col("received_at")).abs() <= INFERRED_GAP
    pairs = refused.join(served, on="prompt_tokens").filter(near)
    pairs = pairs.filter(pl.col("refused").is_unique() & pl.col("handoff").is_unique())
    return pairs.select("refused", to="handoff")


def moved_by_size(joined: pl.DataFrame, moved: pl.DataFrame) -> pl.DataFrame:
    """Return the records with those of rejections under the hand-off that they joined."""
    if not moved.height:
        return joined
    return (
        joined.join(moved, left_on="handoff", right_on="refused", how="left")
        .with_columns(
            inferred=pl.col("inferred") | pl.col("to").is_not_null(),
            handoff=pl.coalesce("to", "handoff"),
        )
        .drop("to")
    )


def _refused(joined: pl.DataFrame) -> pl.DataFrame:
    """Hand-offs that are rejections of an engine and nothing else."""
    rejected = joined.filter(pl.col("rejected").fill_null(value=False))["handoff"].unique()
    own = joined.filter(pl.col("handoff").is_in(rejected.implode()))
    lines = pl.col("hop").is_in(["prefill", ENGINE_HOP]) & pl.col("transfer_id").is_null()
    groups = own.group_by("handoff").agg(
        lines.fill_null(value=False).all().alias("nothing_else"),
        pl.col("prompt_tokens").max(),
        pl.col("received_at").min().alias("at"),
    )
    return groups.filter("nothing_else").select(
        pl.col("handoff").alias("refused"), "prompt_tokens", "at"
    )


def _served(joined: pl.DataFrame) -> pl.DataFrame:
    """Hand-offs that decode logged and prefill did not."""
    decode = joined.filter(pl.col("hop") == "decode")["handoff"].unique()
    own = joined.filter(pl.col("handoff").is_in(decode.implode()))
    groups = own.group_by("handoff").agg(
        (pl.col("hop") == "prefill").any().alias("prefill"),
        pl.col("decode_prompt_tokens").max().alias("prompt_tokens"),
        pl.col("received_at").min(),
    )
    return groups.filter(~pl.col("prefill").fill_null(value=False)).drop("prefill")
