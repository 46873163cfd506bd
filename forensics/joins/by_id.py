"""Records without any hand-off's id: their request id and tenant, and when, tell calls apart.

Clients reuse their ids. A pause of an hour starts another request, and so does a second
finished call of the same hop, or of one engine where no client-facing hop logged any.
Engine records then go to the call of their size, else to the nearest in time, which is an
inference and marked so.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.engine_calls import engine_calls
from forensics.joins.gaps import CLIENT, ENGINE, SESSION_GAP, UNPAIRED_GAP


def by_id(alone: pl.DataFrame) -> pl.DataFrame:
    """Key by request id and tenant; a record without a tenant takes the id's only one.

    Adds ``handoff`` and ``inferred``.
    """
    if not alone["request_id"].is_duplicated().any():
        own = pl.format("i:{}:{}:0", "request_id", pl.col("tenant_id").fill_null(""))
        return alone.with_columns(handoff=own, inferred=pl.lit(value=False))
    tenants = (
        alone.drop_nulls("tenant_id")
        .group_by("request_id")
        .agg(pl.col("tenant_id").unique().alias("known"))
        .filter(pl.col("known").list.len() == 1)
        .select("request_id", pl.col("known").list.first())
    )
    alone = alone.join(tenants, on="request_id", how="left")
    tenant = pl.coalesce("tenant_id", "known", pl.lit(""))
    alone = alone.with_columns(key=pl.format("i:{}:{}", "request_id", tenant)).drop("known")
    return _by_call(_by_pause(alone))


def _by_pause(alone: pl.DataFrame) -> pl.DataFrame:
    """Part the uses of one id that lie more than an hour apart."""
    alone = alone.sort("key", "received_at", nulls_last=False).rechunk()
    pause = pl.col("received_at") - pl.col("received_at").shift(1)
    cut = ((pause > SESSION_GAP) & (pl.col("key") == pl.col("key").shift(1))).fill_null(value=False)
    alone = alone.with_columns(session=cut.cast(pl.Int64))
    session = pl.col("session").cum_sum().over("key", order_by="received_at")
    return alone.with_columns(handoff=pl.format("{}:{}", "key", session)).drop("key", "session")


def _by_call(alone: pl.DataFrame) -> pl.DataFrame:
    """Part the calls of one use: what one client-facing hop served twice was asked twice."""
    names = ("observation", "handoff", "size", "at", "call")
    calls = pl.concat([_calls(alone).select(names), engine_calls(alone).select(names)])
    if not calls.height:
        return alone.with_columns(inferred=pl.lit(value=False))
    among = alone.join(calls.select("handoff").unique(), on="handoff", how="semi")
    found = _assigned(among, calls)
    alone = alone.join(found, on="observation", how="left").rechunk()
    key = pl.format("{}:{}", "handoff", "call")
    return alone.with_columns(
        handoff=pl.coalesce(key, "handoff"), inferred=pl.col("guessed").fill_null(value=False)
    ).drop("call", "guessed")


_USE = ["handoff", "hop"]


def _calls(alone: pl.DataFrame) -> pl.DataFrame:
    """Return the records of each use's client-facing hop that saw several calls, numbered."""
    rows = _finished(alone)
    rows = rows.filter(pl.struct(_USE).is_duplicated())
    rows = rows.sort(*_USE, "at", "finished_at", "size", "tokens", "observation")
    rows = rows.with_columns(call=_another_call().cast(pl.Int64).cum_sum().over(_USE))
    rows = rows.with_columns(last=pl.col("call").max().over(_USE))
    rows = rows.with_columns(most=pl.col("last").max().over("handoff"))
    rows = rows.filter((pl.col("last") > 0) & (pl.col("last") == pl.col("most")))
    return rows.filter(pl.col("hop") == pl.col("hop").min().over("handoff"))


def _finished(alone: pl.DataFrame) -> pl.DataFrame:
    """Client-facing records of calls that ended, with their size; refused tries are none."""
    names = ("completion_tokens", "http_status", "finished_at", "prompt_tokens", "rejected")
    known = ensure(alone, names)
    tokens, status = pl.col("completion_tokens"), pl.col("http_status")
    served = pl.when(tokens.is_not_null()).then(tokens > 0).otherwise(status.is_between(200, 299))
    served = served.fill_null(value=False)
    refused = pl.col("rejected").fill_null(value=False) & ~served
    rows = known.select(
        "observation",
        "handoff",
        "finished_at",
        hop=pl.col("hop").fill_null("joined"),
        size="prompt_tokens",
        at="received_at",
        tokens=tokens,
        served=served,
        ended=(tokens.is_not_null() | status.is_not_null()) & ~refused,
    )
    rows = rows.filter(pl.col("ended") & pl.col("hop").is_in(CLIENT))
    return rows.drop_nulls(["size", "at"])


def _another_call() -> pl.Expr:
    """Say which records are another call than the one before, of the same use and hop.

    Two gateways in a row log one call twice: its times lie within each other and its sizes
    are two estimates of one prompt. A failed try of the same size is no other call.
    """

    def before(name: str) -> pl.Expr:
        return pl.col(name).shift(1).over(_USE)

    ended = pl.col("finished_at").cum_max().shift(1).over(_USE)
    after = pl.col("at") >= ended
    size = (pl.col("size") != before("size")).fill_null(value=False)
    larger, smaller = (f("size", before("size")) for f in (pl.max_horizontal, pl.min_horizontal))
    answer = (pl.col("tokens") != before("tokens")).fill_null(value=False)
    late = pl.col("at") - before("at") > UNPAIRED_GAP
    both = pl.col("served") & before("served")
    untimed = size | (both & (answer | late))
    apart = pl.when(ended.is_null()).then(untimed).otherwise(after & (both | size))
    return (apart | (size & (larger > 2 * smaller))).fill_null(value=False)


def _assigned(among: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return each record's ``call``, and whether that was ``guessed``."""
    known = ensure(among, ["prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens"])
    own = pl.coalesce("decode_prompt_tokens", "prefill_prompt_tokens", "prompt_tokens")
    left = known.select("observation", "handoff", "hop", size=own, at=pl.col("received_at"))
    left = left.with_columns(pl.col("at").fill_null(0)).sort("at")
    sizes = calls.select("handoff", "size", of_size="call").unique()
    sizes = sizes.filter(pl.struct("handoff", "size").is_unique())
    points = calls.select("handoff", "at", near="call").unique().sort("at", "handoff", "near")
    numbered = calls.select("observation", numbered="call")
    left = left.join(numbered, on="observation", how="left").join(
        sizes, on=["handoff", "size"], how="left"
    )
    left = left.sort("at").join_asof(
        points, on="at", by="handoff", strategy="nearest", check_sortedness=False
    )
    told = pl.col("numbered").is_not_null() | pl.col("of_size").is_not_null()
    return left.select(
        "observation",
        call=pl.coalesce("numbered", "of_size", "near"),
        guessed=~told & pl.col("hop").is_in(ENGINE).fill_null(value=False),
    )
