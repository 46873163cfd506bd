"""Requests that share one transfer id: a trace can span several calls, a client can reuse a room.

Where one hop logged several ids, tenants or prompt sizes under a key, each of them is a
request of its own. Records of other hops go to that of their id, of their prefill node,
of their size or else to the nearest in time. The last two are inferences and marked so.
"""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.joins.nearest import OWN, assigned
from forensics.joins.uses import of_each_use
from forensics.schema import TIMED_LATE

_HOPS = ("decode", "joined", "gateway", "prefill")
"""Hops whose own ids tell requests apart, surest first."""
_TENANT_KNOWN = pl.col("tenant") != ""
_SEPARATOR = "\x1f"


def by_anchor(direct: pl.DataFrame) -> pl.DataFrame:
    """Part the requests under each ``handoff``; adds ``inferred``, and where it was parted."""
    rows = of_each_use(_rows(direct))
    counts = _counts(rows)
    if not counts.height:
        return direct.with_columns(inferred=pl.lit(value=False), anchored=pl.lit(value=False))
    several, mixed = _several(rows, counts), _mixed(counts)
    direct = direct.with_columns(inferred=pl.col("handoff").is_in(mixed.implode()))
    if not several.height:
        return direct.with_columns(anchored=pl.lit(value=False))
    among = rows.join(several.select("handoff").unique(), on="handoff", how="semi")
    keys = assigned(among, _anchors(among, several))
    direct = direct.join(keys, on="observation", how="left", maintain_order="left").rechunk()
    key = pl.concat_str("handoff", "anchor", separator=":")
    return direct.with_columns(
        handoff=pl.coalesce(key, "handoff"),
        inferred=pl.coalesce("guessed", "inferred"),
        anchored=pl.col("anchor").is_not_null(),
    ).drop("anchor", "guessed")


def _rows(direct: pl.DataFrame) -> pl.DataFrame:
    sizes = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
    known = ensure(direct, [*sizes, "prefill_node", "finished_at", TIMED_LATE])
    return known.select(
        "observation",
        "handoff",
        "received_at",
        "finished_at",
        late=pl.col(TIMED_LATE).fill_null(value=False),
        node="prefill_node",
        request_id=pl.col("request_id").fill_null(""),
        hop=pl.col("hop").fill_null("joined"),
        tenant=pl.col("tenant_id").fill_null(""),
        size=pl.when(pl.col("hop") == "prefill")
        .then("prefill_prompt_tokens")
        .when(pl.col("hop") == "decode")
        .then("decode_prompt_tokens")
        .otherwise("prompt_tokens"),
    )


def _counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Count ids and tenants per key and hop, where a hop logged several records at all."""
    doubled = rows.select(pl.struct("handoff", "hop").is_duplicated()).to_series()
    return (
        rows.filter(doubled & rows["hop"].is_in(_HOPS))
        .group_by("handoff", "hop")
        .agg(
            pl.col("request_id").filter(pl.col("request_id") != "").n_unique(),
            pl.col("tenant").filter(_TENANT_KNOWN).n_unique(),
            (pl.col("size").max() > pl.col("size").min()).fill_null(value=False).alias("sizes"),
        )
    )


def _several(rows: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Return the surest hop of each key under which a hop has several ids, tenants or sizes.

    Prefill's ids are its own, so they tell requests apart only where no other hop does. Of
    sizes only decode's and those of whole requests count: gateways in a row estimate.
    """
    rank = pl.col("hop").replace_strict(_HOPS, range(len(_HOPS)), return_dtype=pl.Int64)
    sized = pl.col("sizes") & pl.col("hop").is_in(["decode", "joined"])
    several = counts.filter((pl.col("request_id") > 1) | (pl.col("tenant") > 1) | sized)
    prefill = several.filter(pl.col("hop") == "prefill")
    others = rows.filter(pl.col("hop").is_in(_HOPS[:3])).join(prefill, on="handoff", how="semi")
    prefill = prefill.join(others, on="handoff", how="anti")
    several = pl.concat([several.filter(pl.col("hop") != "prefill"), prefill])
    return several.sort(rank).group_by("handoff", maintain_order=True).agg(pl.col("hop").first())


def _mixed(counts: pl.DataFrame) -> pl.Series:
    """Keys under which prefill ran prompts of several sizes under several ids.

    Where no other hop parts them they stay together, with the values that clear least;
    which of prefill's records belongs to the request is then not known.
    """
    prefill = (pl.col("hop") == "prefill") & (pl.col("request_id") > 1) & pl.col("sizes")
    return counts.filter(prefill)["handoff"]


def _anchors(among: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """Return the requests under each key: those of its surest hop, and those that only others name.

    A hop that shares an id with the surest one names requests alike, so each of its ids is
    one; a hop that shares none has ids of its own for the same requests.
    """
    own = among.join(several, on=["handoff", "hop"], how="semi")
    rest = among.join(several, on=["handoff", "hop"], how="anti")
    rest = rest.filter(pl.col("hop").is_in(_HOPS[:3]))
    shared = rest.join(own, on=["handoff", "request_id"], how="semi")
    alike = rest.join(shared.select("handoff", "hop").unique(), on=["handoff", "hop"], how="semi")
    alike = alike.join(own, on=["handoff", "request_id"], how="anti")
    anchors = pl.concat([own, alike])
    # A record without a tenant is of the id's known tenant, and no request of its own.
    elsewhere = _TENANT_KNOWN.any().over("handoff", "request_id")
    return _by_size(anchors.filter(_TENANT_KNOWN | ~elsewhere))


def _by_size(anchors: pl.DataFrame) -> pl.DataFrame:
    """Name each request by id, tenant and, where one hop has several for those, its size."""
    exact = pl.col("hop").is_in(["decode", "joined"])
    sizes = pl.col("size").filter(exact)
    split = (sizes.max() > sizes.min()).over(OWN).fill_null(value=False)
    anchors = anchors.with_columns(split=split)
    anchors = anchors.filter(~pl.col("split") | (exact & pl.col("size").is_not_null()))
    own = pl.concat_str("request_id", "tenant", separator=_SEPARATOR)
    both = pl.concat_str("request_id", "tenant", "size", separator=_SEPARATOR)
    return anchors.with_columns(anchor=pl.when("split").then(both).otherwise(own))
