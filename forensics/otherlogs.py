"""Listed requests that another log of the same side may hold under an id of its own.

A trace and an engine's log, or two gateways in a row, can both hold a request under no common id.
Two rows of one length and moment, each in a log of another format alone, may then be one response,
and nothing but that says so: both stay listed, and it is said how many may be the same. Where both
count the answer and are the only ones so alike, one of them is taken off the highest count.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import CLIENT, ENGINE, NEAR_GAP
from forensics.schema import AFFECTED_TIERS, ENGINE_HOP

READ = ("hop", "file", "received_at", "attached")
"""What is read of records."""
_HELD: dict[str, pl.DataType] = {
    "handoff": pl.UInt32(),
    "other": pl.UInt32(),
    "answer": pl.Boolean(),
}
_SAID = ("tenant_id", "model", "completion_tokens")
"""What both have to agree on as far as both say it."""
_ANSWERED = ("decode", ENGINE_HOP)
_CROWD = 64
"""Rows of one size and moment up to which each is held against each."""


def twins(
    judged: pl.DataFrame, observed: pl.DataFrame, formats: Mapping[int, str | None]
) -> pl.DataFrame:
    """Return ``handoff`` and ``other``, pairs of listed rows that may be one request.

    ``answer`` says that both counted the same answer.

    Args:
        judged: requests with their tiers.
        observed: records, with what is there of :data:`READ`.
        formats: name of each file's format.
    """
    if len(set(formats.values())) < 2:
        return pl.DataFrame(schema=_HELD)
    listed = judged.filter(pl.col("tier").is_in([*AFFECTED_TIERS, "not_assessable"]))
    known = observed.filter(~pl.col("attached").fill_null(value=False))
    known = known.join(listed.select("handoff"), on="handoff", how="semi")
    names = pl.DataFrame(
        [(file, name or "") for file, name in formats.items()],
        {"file": observed.schema["file"], "format": pl.String},
        orient="row",
    )
    pairs = _alike(_of_one_log(listed, known.join(names, on="file")))
    return pairs.select(*_HELD).sort("handoff", "other")


def _of_one_log(listed: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of which one side alone logged an answer, in one format: size and time."""
    engine, client = pl.col("hop").is_in(ENGINE), pl.col("hop").is_in(CLIENT)
    alone = known.group_by("handoff").agg(
        engine=engine.any(),
        both=engine.any() & client.any(),
        answered=(client | pl.col("hop").is_in(_ANSWERED)).any(),
        format=pl.col("format").min(),
        formats=pl.col("format").n_unique(),
        at=pl.col("received_at").min(),
    )
    alone = alone.filter((pl.col("formats") == 1) & "answered" & ~pl.col("both"))
    wanted = ensure(listed, ["decode_prompt_tokens", "prompt_tokens", *_SAID])
    size = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
    rows = alone.join(wanted.select("handoff", *_SAID, size=size), on="handoff")
    return rows.select("handoff", "engine", "format", "at", "size", *_SAID).drop_nulls(
        ["size", "at"]
    )


def _alike(rows: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of rows of one side, size and moment, in logs of two formats.

    In a crowd none is the only one, and none is looked at.
    """
    step = pl.col("at") // NEAR_GAP
    rows = rows.with_columns(step=step).filter(pl.len().over("engine", "size", "step") <= _CROWD)
    near = rows.with_columns(step=pl.concat_list(step - 1, step, step + 1)).explode("step")
    pairs = rows.join(near, on=["engine", "size", "step"], suffix="_other")
    agree = [pl.col(n).eq(pl.col(f"{n}_other")).fill_null(value=True) for n in _SAID]
    close = (pl.col("at") - pl.col("at_other")).abs() <= NEAR_GAP
    pairs = pairs.filter(pl.col("format") < pl.col("format_other"), close, *agree)
    counted = [pl.col(f"completion_tokens{of}").is_not_null() for of in ("", "_other")]
    return pairs.with_columns(other="handoff_other", answer=pl.all_horizontal(counted))
