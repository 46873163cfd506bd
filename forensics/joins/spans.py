"""Hand-offs that prefill alone logged, within the time of a client's record of their size.

A request that is tried again has its client's id in decode's record alone. Where that of the last
try was lost, the client's record finds an earlier one, and would give it an answer that is not
its own; and prefill's record of the last one looks like a request that the gateway lacks.
"""

from __future__ import annotations

import polars as pl

from forensics import skew
from forensics.columns import ensure
from forensics.joins.gaps import CLIENT, UNPAIRED_GAP

SLACK = skew.FAR
"""By so much two clocks may differ, microseconds."""
_WANTED = (
    *("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens", "completion_tokens"),
    *("http_status", "finished_at", "released_at", "attached"),
)


def remnants(joined: pl.DataFrame) -> pl.DataFrame:
    """Return the hand-offs that prefill alone logged: ``handoff``, ``at`` and ``size``.

    They say something where decode logged any: else all of prefill's are. A placeholder has no
    size: it may be of any.
    """
    prefill = (pl.col("hop") == "prefill") & pl.col("transfer_id").is_not_null()
    others = joined.filter(~prefill).select("handoff").unique()
    own = ensure(joined.filter(prefill), ["prefill_prompt_tokens"]).join(
        others, on="handoff", how="anti"
    )
    found = own.group_by("handoff").agg(
        pl.col("received_at").min().alias("at"), pl.col("prefill_prompt_tokens").max().alias("size")
    )
    size = pl.when(pl.col("size") > 1).then("size")
    return found.drop_nulls("at").with_columns(size=size).sort("at", "handoff")


def within(joined: pl.DataFrame, left: pl.DataFrame) -> pl.Series:
    """Return which of the :func:`remnants` lie within a client's record that may be theirs."""
    if not left.height:
        return left["handoff"]
    spans = _spans(joined)
    told = spans.filter(pl.col("size").is_not_null())
    found = [
        _covered(left.filter(pl.col("size").is_not_null()), told, ["size"]),
        _covered(left.filter(pl.col("size").is_null()), spans, []),
        _covered(left, spans.filter(pl.col("size").is_null()), []),
    ]
    return pl.concat(found).unique().sort()


def _spans(joined: pl.DataFrame) -> pl.DataFrame:
    rows = ensure(joined.filter(pl.col("hop").is_in(CLIENT)), _WANTED).drop_nulls("received_at")
    until = pl.coalesce("finished_at", pl.col("received_at") + UNPAIRED_GAP)
    return rows.select(
        "observation", since="received_at", until=until, size="prompt_tokens"
    ).unique()


def _covered(left: pl.DataFrame, spans: pl.DataFrame, by: list[str]) -> pl.Series:
    """Return which lie between the beginning and the end of any span."""
    last = pl.col("until").cum_max()
    spans = spans.sort("since").with_columns(until=last.over(by) if by else last)
    found = left.with_columns(since=pl.col("at") + SLACK).join_asof(
        spans.select("since", "until", *by),
        on="since",
        by=by or None,
        check_sortedness=False,
    )
    return found.filter(pl.col("until") >= pl.col("at") - SLACK)["handoff"]


def untold(joined: pl.DataFrame, left: pl.DataFrame) -> pl.DataFrame:
    """Return the observations, with ``earlier`` where a later try may be what was answered.

    Only where decode's own record says nothing of an answer: what it says is believed.
    """
    if not left.height:
        return joined
    answers = _unborne(joined)
    if not answers.height:
        return joined
    sized = left.select("size", later="at")
    found = [
        _next(answers, sized.drop_nulls("size"), ["size"]),
        _next(answers, sized.filter(pl.col("size").is_null()), []),
    ]
    open_ = pl.concat(found).unique()
    return joined.with_columns(
        earlier=pl.col("earlier") | pl.col("observation").is_in(open_.implode())
    )


def _unborne(joined: pl.DataFrame) -> pl.DataFrame:
    """Return the clients' records whose answer decode's own record does not speak of."""
    rows = ensure(joined, _WANTED)
    told = pl.col("completion_tokens").is_not_null() | pl.col("http_status").is_not_null()
    decode = (
        rows.filter(pl.col("hop") == "decode")
        .group_by("handoff")
        .agg(
            told.any().alias("told"),
            pl.max_horizontal("received_at", "finished_at", "released_at").max().alias("ended"),
            pl.col("decode_prompt_tokens").max().alias("size"),
        )
    )
    client = rows.filter(
        pl.col("hop").is_in(CLIENT)
        & ~pl.col("earlier")
        & ~pl.col("attached").fill_null(value=False)
    )
    until = pl.coalesce("finished_at", pl.col("received_at") + UNPAIRED_GAP)
    client = client.select("handoff", "observation", until=until)
    return client.join(decode.filter(~pl.col("told")), on="handoff").drop_nulls("ended")


def _next(answers: pl.DataFrame, left: pl.DataFrame, by: list[str]) -> pl.Series:
    """Return the records before whose end, and after whose decode ended, a remnant began."""
    found = answers.sort("ended").join_asof(
        left.sort("later").with_columns(ended="later"),
        on="ended",
        by=by or None,
        strategy="forward",
        check_sortedness=False,
    )
    return found.filter(pl.col("later") <= pl.col("until"))["observation"]
