"""How far the clocks of two nodes are apart, from requests that both logged.

A figure is the time from one node's record of a request to the other's, so it holds the
way between them as well. It never moves a time: a row keeps the time it was logged with,
and where a clock is off by seconds, rows near the window's edge are at most ``possible``. The
gateway's clock is not believed at an edge where any engine's contradicts it: it may be the
gateway, and those that agree with it, that are off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from forensics.columns import ensure

GATEWAY = "gateway"
"""The gateway's name among the nodes: its records name none."""
FAR = 5_000_000
"""From so many microseconds two clocks disagree; below, it is the way between the nodes."""
ENOUGH = 5
"""Requests from which the middle of the differences says something about the clocks."""
PAIRS: dict[str, pl.DataType] = {
    "first": pl.String(),
    "second": pl.String(),
    "requests": pl.Int64(),
    "median_us": pl.Int64(),
    "p5_us": pl.Int64(),
    "p95_us": pl.Int64(),
}
_DIFFERENCE = {"first": pl.String(), "second": pl.String(), "apart": pl.Int64()}
APART: dict[str, pl.DataType] = {**_DIFFERENCE, "apart": pl.List(pl.Int64())}
READ = ("hop", "received_at", "attached")
"""What is read of records to widen times."""
_HOPS = ("gateway", "prefill", "decode")
_SERVER = r"/[^/]*$"


def apart(joined: pl.DataFrame) -> pl.DataFrame:
    """Return one row per pair of nodes under :data:`APART`: what is measured of some requests.

    Args:
        joined: observations with ``handoff``, ``earlier``, ``inferred`` and, where client
            records were attached by inference, ``attached``.

    Returns:
        ``apart``, the second node's time less the first's, microseconds, of each request that
        an identifier joined.
    """
    hops = _times(joined)
    found = [
        _differences(hops[first], hops[second])
        for first, second in (("gateway", "prefill"), ("gateway", "decode"), ("prefill", "decode"))
        if hops[first].height and hops[second].height
    ]
    every = pl.concat([pl.DataFrame(schema=_DIFFERENCE), *found])
    return every.group_by("first", "second").agg("apart")


def measure(found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per pair of nodes under :data:`PAIRS`, sorted.

    Args:
        found: of :func:`apart`, of any split of all requests.

    Returns:
        ``median_us``, ``p5_us`` and ``p95_us`` of the second node's time less the first's.
    """
    apart = pl.col("apart").explode()
    return (
        pl.concat([pl.DataFrame(schema=APART), *found])
        .group_by("first", "second")
        .agg(
            pl.col("apart").list.len().sum().alias("requests"),
            apart.median().alias("median_us"),
            apart.quantile(0.05, "lower").alias("p5_us"),
            apart.quantile(0.95, "higher").alias("p95_us"),
        )
        .with_columns(pl.col("median_us").floor())
        .select(pl.col(name).cast(dtype) for name, dtype in PAIRS.items())
        .sort("first", "second")
    )


def _times(joined: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return each hop's hand-offs with server and time, where the time is of the request.

    A time without zone is that of the line, which an engine writes when the request ends.
    """
    rows = ensure(joined, ["prefill_node", "decode_node", "naive"])
    usable = (
        pl.col("received_at").is_not_null()
        & ~pl.col("naive").fill_null(value=False)
        & ~pl.col("inferred")
        & ~pl.col("earlier")
    )
    if "attached" in rows.columns:
        usable = usable & ~pl.col("attached")
    node = {
        "gateway": pl.lit(GATEWAY),
        "prefill": pl.col("prefill_node").str.replace(_SERVER, ""),
        "decode": pl.col("decode_node").str.replace(_SERVER, ""),
    }
    return {hop: _of_hop(rows.lazy(), usable, hop, node[hop]) for hop in _HOPS}


def _of_hop(rows: pl.LazyFrame, usable: pl.Expr, hop: str, node: pl.Expr) -> pl.DataFrame:
    own = rows.filter((pl.col("hop") == hop) & usable)
    found = own.select("handoff", node=node, at="received_at").drop_nulls("node").collect()
    if not found["handoff"].is_duplicated().any():
        return found
    return found.group_by("handoff").agg(pl.col("node").min(), pl.col("at").min())


def _differences(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    both = first.join(second, on="handoff")
    return both.select(
        first="node", second="node_right", apart=pl.col("at_right") - pl.col("at")
    ).filter(pl.col("first") != pl.col("second"))


def server(columns: Collection[str]) -> pl.Expr:
    """Return the server whose clock an engine's record is by, without its rank; else null."""
    known = ["prefill_node", "decode_node"]
    own = {name: pl.col(name) if name in columns else pl.lit(None, pl.String) for name in known}
    node = (
        pl.when(pl.col("hop") == "prefill")
        .then(own["prefill_node"])
        .when(pl.col("hop") == "decode")
        .then(own["decode_node"])
        .otherwise(pl.coalesce(own.values()))
    )
    return node.str.replace(_SERVER, "")


def delays(pairs: pl.DataFrame) -> dict[str, int]:
    """Return the usual time from the gateway's record to each server's, microseconds."""
    known = pairs.filter((pl.col("first") == GATEWAY) & (pl.col("requests") >= ENOUGH))
    return dict(known.select("second", "median_us").iter_rows())


def far(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the servers whose clock is off, with ``margin``: by how much, microseconds.

    The gateway's clock counts as right where it logged enough; else neither of two nodes
    that disagree is believed.
    """
    off = pairs.filter((pl.col("requests") >= ENOUGH) & (pl.col("median_us").abs() > FAR))
    margin = pl.col("median_us").abs()
    if not off.height:
        return off.select(server="first", margin=margin)
    by_gateway = set(delays(pairs))
    sides = [off.select(server=side, margin=margin, by="first") for side in ("first", "second")]
    every = pl.concat(sides).filter(pl.col("server") != GATEWAY)
    measured = pl.col("server").is_in(by_gateway)
    every = every.filter((pl.col("by") == GATEWAY) | ~measured)
    return every.group_by("server").agg(pl.col("margin").max()).sort("server")


def widen(requests: pl.DataFrame, joined: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Add ``clock_margin`` (microseconds) to requests whose time is from a clock that is off.

    Without such a clock the frame is returned as it is. A client's record is by the gateway's
    clock; where an engine contradicts it, it may be that one which is off.
    """
    off = far(pairs)
    if not off.height:
        return requests
    servers = dict(off.iter_rows())
    client = joined.filter(
        pl.col("hop").is_in(["gateway", "joined"])
        & pl.col("received_at").is_not_null()
        & ~(pl.col("attached") if "attached" in joined.columns else pl.lit(value=False))
    )["handoff"].unique()
    margins = [
        pl.col(column)
        .str.replace(_SERVER, "")
        .replace_strict(list(servers), list(servers.values()), default=0, return_dtype=pl.Int64)
        for column in ("prefill_node", "decode_node")
    ]
    own = pl.col("handoff").is_in(client.implode())
    margin = pl.when(~own).then(pl.max_horizontal(margins)).otherwise(_of_gateway(pairs))
    return requests.with_columns(clock_margin=margin.fill_null(0))


def _of_gateway(pairs: pl.DataFrame) -> int:
    """Return by how much the gateway's clock may be off: what the farthest engine says; else 0."""
    apart = [abs(delay) for delay in delays(pairs).values()]
    return max((delay for delay in apart if delay > FAR), default=0)
