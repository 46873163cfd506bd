"""Which of the requests under one transfer id a record belongs to."""

from __future__ import annotations

import polars as pl

from forensics.joins.gaps import UNPAIRED_GAP

OWN = ["handoff", "request_id", "tenant"]


def assigned(rows: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Return each record's ``anchor`` and whether that was ``guessed``.

    A placeholder of prefill that nothing tells appears once for each request that it may be of.

    Args:
        rows: records with ``handoff``, id, tenant, hop, size, prefill node and time.
        anchors: the requests' own records, with ``anchor``, and ``split`` where size parts them.
    """
    at = pl.col("received_at").fill_null(0)
    names = ["handoff", "request_id", "tenant", "split", "size", "node", "anchor"]
    points = anchors.select(*names, at=at).unique().sort("at", "handoff", "anchor")
    left = rows.select("observation", *names[:3], "hop", "size", "node", at=at).sort("at")
    left = _told(left, points)
    taken = left.filter(pl.col("hop") == "prefill").select("handoff", anchor=_FOUND)
    free = points.join(taken.drop_nulls("anchor"), on=["handoff", "anchor"], how="anti")
    left = _nearest(left, points, "of_id", ["handoff", "request_id"])
    left = _nearest(left, free, "near_free", ["handoff"])
    left = _nearest(left, points, "near", ["handoff"])
    ids = points.group_by("handoff", "request_id").agg(several=pl.col("anchor").n_unique() > 1)
    left = left.join(ids, on=["handoff", "request_id"], how="left")
    by_id = pl.col("of_id").is_not_null() & ~pl.col("several").fill_null(value=False)
    told = pl.col("exact").is_not_null() | pl.col("of_node").is_not_null() | by_id
    near = pl.when(pl.col("hop") == "prefill").then("near_free")
    found = left.with_columns(
        anchor=pl.coalesce("exact", "of_id", "of_node", "of_size", near, "near"), guessed=~told
    )
    others = _placeholders(found, anchors)
    return pl.concat([found.select(others.columns), others]).unique(maintain_order=True)


_FOUND = pl.coalesce("exact", "of_node", "of_size")


def _placeholders(found: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Return placeholders' records for the requests near them whose own prefill nothing tells.

    A placeholder has no size of its own, and times of two clocks do not say which of several
    requests it is of: whichever of them was given it, none is cleared by the record of another.
    """
    mine = found.filter(pl.col("hop") == "prefill")
    sure = ~pl.col("guessed") | pl.col("of_size").is_not_null()
    open_ = mine.filter(~sure & (pl.col("size") == _PLACEHOLDER))
    decode = anchors.filter((pl.col("hop") == "decode") & (pl.col("size") > _PLACEHOLDER))
    decode = decode.join(mine.filter(sure), on=["handoff", "anchor"], how="anti")
    near = decode.drop_nulls("received_at").sort("received_at").join_asof(
        open_.sort("at", "request_id", "node").select("handoff", "at", "node", of="observation"),
        left_on="received_at", right_on="at", by="handoff", strategy="nearest",
        tolerance=UNPAIRED_GAP, check_sortedness=False,
    )  # fmt: skip
    other = (pl.col("node") != pl.col("node_right")).fill_null(value=False)
    near = near.filter(pl.col("of").is_not_null() & ~other)
    return near.select("anchor", observation="of", guessed=pl.lit(value=True))


_PLACEHOLDER = 1
"""Tokens of the prompt that prefill runs in place of one that it rejected."""


def _told(left: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Add the anchor that id and tenant name, that the prefill node names, or the size."""
    whole = points.filter(~pl.col("split")).select(*OWN, exact="anchor").unique()
    sized = points.filter("split").select(*OWN, "size", of_both="anchor").unique()
    left = left.join(whole, on=OWN, how="left").join(sized, on=[*OWN, "size"], how="left")
    left = left.with_columns(exact=pl.coalesce("exact", "of_both")).drop("of_both")
    for name, column in (("of_node", "node"), ("of_size", "size")):
        mine = left.filter(pl.col("hop") == "prefill").select("handoff", column)
        left = left.join(
            _only(points, mine, column).rename({"anchor": name}), on=["handoff", column], how="left"
        )
    prefill = pl.col("hop") == "prefill"
    return left.with_columns(
        pl.when(prefill).then(name).alias(name) for name in ("of_node", "of_size")
    ).sort("at")


def _only(points: pl.DataFrame, mine: pl.DataFrame, column: str) -> pl.DataFrame:
    """Anchors that are the only one of their value, where one prefill record alone has it."""
    single = points.select("handoff", column, "anchor").drop_nulls().unique()
    key = ["handoff", column]
    single = single.filter(pl.struct(key).is_unique())
    once = mine.drop_nulls().filter(pl.struct(key).is_unique())
    return single.join(once, on=key, how="semi")


def _nearest(left: pl.DataFrame, points: pl.DataFrame, name: str, by: list[str]) -> pl.DataFrame:
    return left.join_asof(
        points.select(*by, "at", pl.col("anchor").alias(name)),
        on="at",
        by=by,
        strategy="nearest",
        check_sortedness=False,
    )
