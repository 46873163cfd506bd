"""Tries of one prefill: the engine repeats an optimistic one, and counts how often it did.

Its last try is the one that was handed over. Which that was is only believed where the engine's
own count says so, and what the earlier ones sent was logged; else it is not known which of the
counts is that of the hand-off.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.gaps import UNPAIRED_GAP
from forensics.schema import RETRIES

_SERVER = pl.col("prefill_node").str.replace(r"/[^/]*$", "")
_LAST = pl.col("tries") == pl.col("tries").max().over("handoff")


def without_earlier_tries(joined: pl.DataFrame) -> pl.DataFrame:
    """Leave out the tries that a later one replaced; where that is unclear, mark ``inferred``.

    Args:
        joined: records with ``observation``, ``handoff``, ``hop`` and ``inferred``.
    """
    rows = _of_several_counts(joined)
    if not rows.height:
        return joined
    told = _told(rows)
    replaced = rows.filter(~_LAST).join(told.filter("whole"), on="handoff", how="semi")
    unclear = told.filter(~pl.col("known"))["handoff"]
    guessed = pl.col("inferred") | pl.col("handoff").is_in(unclear.implode())
    joined = joined.with_columns(inferred=guessed)
    return joined.join(replaced.select("observation"), on="observation", how="anti")


def _of_several_counts(joined: pl.DataFrame) -> pl.DataFrame:
    """Return prefill's records of hand-offs of which one counts what decode did, one less."""
    names = ("prefill_prompt_tokens", "decode_prompt_tokens", "prompt_tokens", "transfer_mb")
    known = ensure(joined, [*names, "prefill_node", "finished_at", RETRIES])
    rows = known.filter(
        (pl.col("hop") == "prefill") & pl.col("prefill_prompt_tokens").is_not_null()
    )
    rows = rows.filter(rows["handoff"].is_duplicated()).select(
        "observation",
        "handoff",
        "request_id",
        "received_at",
        server=_SERVER,
        size="prefill_prompt_tokens",
        tries=pl.col(RETRIES).fill_null(0),
        sent=pl.col("transfer_mb").is_not_null(),
    )
    size = pl.col("size")
    rows = rows.filter(size.max().over("handoff") > size.min().over("handoff"))
    if not rows.height:
        return rows
    decode = known.filter(pl.col("hop") == "decode").join(rows, on="handoff", how="semi")
    asked = decode.group_by("handoff").agg(
        pl.col("decode_prompt_tokens").max().alias("asked"),
        pl.col("finished_at").max().alias("ended"),
    )
    rows = rows.join(asked, on="handoff")
    return rows.filter(pl.col("asked") == size.max().over("handoff"))


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Say of each hand-off whether its last try is ``known``, and whether that is ``whole``."""
    at, size = pl.col("received_at"), pl.col("size")
    last = rows.filter(_LAST).group_by("handoff")
    begun = last.agg(at.min().alias("begun"), one=size.n_unique() == 1, handed=size.min())
    one_engine = (pl.col("request_id").n_unique() == 1) & (pl.col("server").n_unique() == 1)
    before = pl.col("sent") & (at <= pl.col("begun"))
    newest = pl.col("tries") == pl.col("tries").max()
    in_order = (before | newest).fill_null(value=False).all()
    # By another node's clock: decode cannot have answered before the last try began.
    answered = (pl.col("ended") + UNPAIRED_GAP >= pl.col("begun")).fill_null(value=True).all()
    found = (
        rows.join(begun, on="handoff")
        .group_by("handoff")
        .agg(
            known=one_engine
            & in_order
            & answered
            & pl.col("one").all()
            & (pl.col("tries").max() > 0),
            whole=(pl.col("handed") == pl.col("asked")).all(),
        )
    )
    return found.with_columns(whole=pl.col("whole") & pl.col("known"))
