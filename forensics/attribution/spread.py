"""Secondary spread: ways in which an affected answer may have gone on. Possible, never counted.

A follow-up turn carries the earlier answer in its prompt; a decode rank that keeps prefixes
may have handed affected pages on. Neither leaves a trace that tells it from an ordinary request.
"""

from __future__ import annotations

import polars as pl

from forensics import enginesettings
from forensics.activity import HOUR
from forensics.columns import ensure
from forensics.schema import AFFECTED_TIERS

_TURN = HOUR
"""A conversation is taken up again within this time, or counts as another."""


def ways(requests: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Return ``way``, affected ``responses`` it concerns, later ``requests`` and ``known``.

    Args:
        requests: judged requests.
        epochs: capacity epochs, for settings of decode ranks.
    """
    rows = ensure(requests.with_row_index("_row"), ["completion_tokens", "finished_at"])
    ends = pl.coalesce("finished_at", "received_at")
    read = rows.filter(pl.col("tier").is_in(AFFECTED_TIERS)).with_columns(ended=ends)
    found = [
        ("follow-up turn", *_follow_ups(read, rows), None),
        ("decode prefix cache", *_prefixes(read, rows), _cache(epochs)),
    ]
    kinds = {"way": pl.String, "responses": pl.Int64, "requests": pl.Int64, "known": pl.Boolean}
    return pl.DataFrame(found, schema=kinds, orient="row")


def _follow_ups(read: pl.DataFrame, rows: pl.DataFrame) -> tuple[int, int]:
    """Count later requests of the recipient whose prompt has room for prompt and answer."""
    whole = pl.col("prompt_tokens") + pl.col("completion_tokens").fill_null(0)
    asked = read.select("tenant_id", "ended", whole=whole, by="_row").drop_nulls()
    later = rows.select("tenant_id", "received_at", "prompt_tokens", "_row").drop_nulls()
    # By tenant and time: a tenant may have sent most of all requests.
    first = pl.col("ended") // _TURN
    asked = asked.with_columns(turn=pl.concat_list(first, first + 1)).explode("turn")
    later = later.with_columns(turn=pl.col("received_at") // _TURN)
    both = asked.join(later, on=["tenant_id", "turn"]).filter(
        pl.col("received_at").is_between(pl.col("ended"), pl.col("ended") + _TURN),
        pl.col("prompt_tokens") > pl.col("whole"),
    )
    return both["by"].n_unique(), both["_row"].n_unique()


def _prefixes(read: pl.DataFrame, rows: pl.DataFrame) -> tuple[int, int]:
    """Count later requests of one rank and start that may have found a kept prefix."""
    since = pl.col("decode_since").fill_null(-1)
    key = ["decode_node", "since"]
    ranks = read.with_columns(since=since).drop_nulls("decode_node").group_by(key)
    first = ranks.agg(pl.col("ended").min().alias("first"), pl.len().alias("affected"))
    later = rows.select("decode_node", "received_at", since=since).join(first, on=key)
    later = later.filter(pl.col("received_at") > pl.col("first"))
    return int(first["affected"].sum()), later.height


def _cache(epochs: pl.DataFrame) -> bool | None:
    """Say whether any decode rank keeps prefixes; None where no log tells."""
    decode = epochs.filter((pl.col("role") == "decode").fill_null(value=False))
    told = [enginesettings.keeps_prefixes(config) for config in decode["config"].unique()]
    known = [kept for kept in told if kept is not None]
    return any(known) if known else None
