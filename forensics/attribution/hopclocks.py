"""By whose clock it is told when a request took pages of a rank, and how far that may be off.

The pages of a rank change hands in the order of its own clock. What another hop logged is by
another: how far that is from a server's own is taken from requests that both logged
(:mod:`forensics.skew`), the time between them included; where there are too few, nobody knows.
"""

from __future__ import annotations

import polars as pl

from forensics.attribution import moments
from forensics.attribution.moments import OTHER_CLOCK
from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure
from forensics.skew import ENOUGH

_HOLDS = ("reserved_at", "released_at")
_SIDES = ("decode", "prefill")
_MARGINS = ("behind", "ahead")
_OTHERS = ("gateway", "prefill")
"""Hops whose records are by no clock of decode; a joined one holds what decode logged."""
_SERVER = r"/[^/]*$"


def attach(requests: pl.DataFrame, unsure: pl.Series, pairs: pl.DataFrame) -> pl.DataFrame:
    """Add how far stamps of other hops may be from the clock of the rank, where that is known.

    Args:
        requests: folded requests with ``handoff``, ``assumed`` and the nodes.
        unsure: of :func:`unsure`, of all of them.
        pairs: how far clocks are apart, of :func:`forensics.skew.measure`.

    Returns:
        The same rows; ``decode_behind`` and ``decode_ahead`` (µs, none below zero) say by how much
        the rank's own clock may have shown less or more than a stamp of another hop, and so for
        prefill: without them nothing says that any is off. ``hold_unsure`` is there where no record
        of decode has the times of some hold, or several have different ones.
    """
    if len(unsure):
        requests = requests.with_columns(hold_unsure=pl.col("handoff").is_in(unsure.implode()))
    table = _measured(pairs)
    rows = ensure(requests, [f"{side}_node" for side in _SIDES])
    margins = [
        (_margin(rows, f"{side}_node", table, name) + _zone(rows, f"{side}_node")).alias(
            f"{side}_{name}"
        )
        for side in _SIDES
        for name in _MARGINS
    ]
    return requests.with_columns(margins) if any((m != 0).any() for m in margins) else requests


def _measured(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return by how much each server's clock may show less or more than that of any other hop."""
    known = pairs.filter(pl.col("requests") >= ENOUGH)
    apart = pl.concat(
        [
            known.select(server="second", low="p5_us", high="p95_us"),
            known.select(server="first", low=-pl.col("p95_us"), high=-pl.col("p5_us")),
        ]
    )
    most = ((-pl.col("low")).max(), pl.col("high").max())
    named = [value.clip(0).alias(name) for name, value in zip(_MARGINS, most, strict=True)]
    return apart.group_by("server").agg(named)


def _zone(rows: pl.DataFrame, node: str) -> pl.Series:
    """Return by how much a zone may be wrong, where that of some stamps of a rank was assumed.

    Where it was for all of them, all are off alike. One of no known rank may be of any.
    """
    assumed = pl.col("assumed").fill_null(value=False)
    here = assumed.any().over(node) & ~assumed.all().over(node)
    mixed = pl.when(pl.col(node).is_null()).then(assumed.any() & ~assumed.all()).otherwise(here)
    return rows.select(pl.when(mixed).then(ZONE_UNCERTAINTY).otherwise(0)).to_series()


def unsure(observed: pl.DataFrame) -> pl.Series:
    """Return the hand-offs whose hold no record of the rank tells, or several of several holds.

    Tries under one id without a number of their own are one hand-off, each with a hold. One file
    tells of a hold once; another that tells of it as well may round its times otherwise, and
    under one number may have stamped it a moment before or after.
    """
    names = ("handoff", "hop", "file", "transfer_id")
    rows = ensure(observed, [*_HOLDS, "transfer_id"]).select(*names, *_HOLDS)
    numbers = pl.col("transfer_id")
    numbered = (numbers.n_unique() == 1) & (numbers.null_count() == 0)
    other = pl.col("hop").is_in(_OTHERS)
    found = [rows["handoff"].clear()]
    for name in _HOLDS:
        told = rows.select(*names, at=name).drop_nulls("at")
        own = told.filter(~other)
        found.append(told.filter(other).join(own, on="handoff", how="anti")["handoff"])
        again = own.filter(own["handoff"].is_duplicated())
        twice = again.select("handoff", "hop", "file").is_duplicated()
        off = pl.when(numbered).then(OTHER_CLOCK).otherwise(moments.coarse("at").max())
        apart = pl.col("at").max() - pl.col("at").min() > off
        found += [again.filter(twice)["handoff"], again.filter(apart.over("handoff"))["handoff"]]
    return pl.concat(found).unique()


def _margin(rows: pl.DataFrame, node: str, table: pl.DataFrame, name: str) -> pl.Series:
    """Return the margin of each row's server; of a rank that is not known, that of any."""
    most = int(table[name].max() or 0)  # type: ignore[arg-type]
    known = dict(table.select("server", name).iter_rows())
    server = pl.col(node).str.replace(_SERVER, "")
    of_server = server.replace_strict(
        list(known) or [""], list(known.values()) or [0], default=0, return_dtype=pl.Int64
    )
    margin = pl.when(pl.col(node).is_null()).then(most).otherwise(of_server)
    return rows.select(margin.fill_null(0).cast(pl.Int64)).to_series()
