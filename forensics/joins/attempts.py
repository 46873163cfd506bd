"""Which attempt of a request is the last one: on one clock, where those of the nodes disagree.

A client's record speaks for all hand-offs under its id, and its answer is from the last of them.
Where they ran on nodes whose clocks are minutes apart, the times that were logged turn their
order about; so they are compared on the gateway's clock, as far as requests that both logged
say how far away each node's is. Where they do not, and the order hangs on it, the answer
is nobody's: whether an attempt was delivered is then what its own engine says, or unknown.
"""

from __future__ import annotations

import polars as pl

from forensics import skew
from forensics.joins.gaps import ENGINE


def on_one_clock(joined: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame | None:
    """Return when each hand-off began, by the gateway's clock; None where no clock is off.

    Args:
        joined: observations with ``handoff``.
        pairs: how far clocks are apart, of :func:`forensics.skew.measure`.

    Returns:
        ``handoff``, ``at`` (µs) and ``margin``: by how much a clock that no gateway record
        speaks of may be off.
    """
    off = skew.far(pairs)
    if not off.height:
        return None
    usual = skew.delays(pairs)
    doubt = {server: margin for server, margin in off.iter_rows() if server not in usual}
    own = joined.filter(pl.col("hop").is_in(ENGINE) & pl.col("received_at").is_not_null())
    server = skew.server(own.columns)
    at = pl.col("received_at") - _of(server, usual)
    times = own.select("handoff", at=at, margin=_of(server, doubt))
    return times.group_by("handoff").agg(pl.col("at").min(), pl.col("margin").max())


def _of(server: pl.Expr, values: dict[str, int]) -> pl.Expr:
    found = server.replace_strict(
        list(values) or [""], list(values.values()) or [0], default=0, return_dtype=pl.Int64
    )
    return found.fill_null(0)


def answered(joined: pl.DataFrame, times: pl.DataFrame | None) -> pl.DataFrame:
    """Return the observations with ``earlier`` by those times: of all but the last hand-off.

    It is true of all of them where a clock's margin leaves open which is the last.
    """
    if times is None:
        return joined
    several = joined.filter(pl.col("observation").is_duplicated())
    spoken = several.select("observation", "handoff").unique().join(times, on="handoff", how="left")
    spoken = spoken.sort("observation", "at", "handoff", nulls_last=False)
    last = spoken.group_by("observation").agg(
        pl.col("handoff").last().alias("last"),
        apart=pl.col("at").last() - pl.col("at").slice(-2, 1).first(),
        margin=pl.col("margin").max(),
    )
    open_ = (pl.col("margin") > 0) & (pl.col("apart") <= pl.col("margin"))
    last = last.select("observation", pl.when(~open_.fill_null(value=False)).then("last"))
    rows = joined.join(last, on="observation", how="left", maintain_order="left")
    told = pl.col("observation").is_in(last["observation"].implode())
    earlier = pl.when(told).then(pl.col("handoff").ne_missing(pl.col("last"))).otherwise("earlier")
    return rows.with_columns(earlier=earlier).drop("last")
