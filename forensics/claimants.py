"""Client records that may be of a response whose tenant nobody names: each tenant stays listed.

Which of them it is, is not known where no identifier and no size that is the only one tells (see
:mod:`forensics.joins.unsettled`). A tenant whose record fits one that is affected may have been
answered with it: its record is *possible*, whatever its own length says. Where the response that
fits cannot be judged, neither can the record. That a record names no tenant clears it as little,
where its time fits by the clocks as they are.
A record that was set aside as an engine's request seen twice is a row of its own for its tenant's
sake alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from forensics.columns import ensure
from forensics.findings.fits_affected import FITS_AFFECTED, FITS_UNJUDGED
from forensics.joins import direction
from forensics.joins.gaps import UNKNOWN_GAP, UNPAIRED_GAP
from forensics.schema import AFFECTED_TIERS

FITS, OPEN = FITS_AFFECTED.code, FITS_UNJUDGED.code
"""Flags of client records: what fits them is affected, or cannot be judged."""


@dataclass(frozen=True)
class Told:
    """Requests before and after they were judged, in the same order, and the records not shown.

    ``hidden`` counts the gateway records that were set aside and are no rows.
    """

    ready: pl.DataFrame
    judged: pl.DataFrame
    hidden: int


def told(
    ready: pl.DataFrame,
    open_: pl.DataFrame,
    unpaired: int,
    judge: Callable[[pl.DataFrame], pl.DataFrame],
) -> Told:
    """Judge requests, and the client records that may be of one of them.

    Args:
        ready: requests, and client records that were set aside, with all that judging asks.
        open_: what is not settled, under :data:`forensics.joins.unsettled.UNSETTLED`.
        unpaired: how many gateway records were set aside.
        judge: gives requests their verdicts, row by row.
    """
    judged = judge(ready)
    if not open_["call"].any():
        return Told(ready, judged, unpaired)
    flags = _flags(judged, open_)
    ready = ready.with_columns(
        pl.col("handoff").is_in(keys.implode()).alias(name) for name, keys in flags.items()
    )
    if any(keys.len() for keys in flags.values()):
        judged = judge(ready)
    aside = open_.filter(pl.col("aside") > 0)
    doubles = pl.col("handoff").is_in(aside["handoff"].implode())
    fit = pl.any_horizontal(pl.col("handoff").is_in(keys.implode()) for keys in flags.values())
    rows = judged.select(~doubles | (fit & (pl.col("tier") != "ruled_out"))).to_series()
    kept = aside.join(judged.filter(rows), on="handoff", how="semi")["aside"].sum()
    return Told(ready.filter(rows), judged.filter(rows), unpaired - int(kept))


def _flags(judged: pl.DataFrame, open_: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the keys of the client records that each flag is of."""
    known = ensure(judged, ["model"]).select("handoff", "tenant_id", "tier", "model")
    rows = open_.join(known, on="handoff")
    named = pl.col("tenant_id").is_not_null()
    calls, unnamed = (rows.filter(pl.col("call") & own) for own in (named, ~named))
    nobodys = rows.filter(~pl.col("call") & pl.col("tenant_id").is_null())
    tiers = {FITS: AFFECTED_TIERS, OPEN: ("not_assessable",)}
    found = {}
    for name, listed in tiers.items():
        some = nobodys.filter(pl.col("tier").is_in(listed))
        # However far a clock may be off, no tenant is missing where none is named.
        alike = fitting(unnamed, some.with_columns(wide=pl.lit(value=False)))
        found[name] = pl.concat([fitting(calls, some), alike]).unique()
    return found


def fitting(calls: pl.DataFrame, requests: pl.DataFrame) -> pl.Series:
    """Return the keys of client records that may be of any of these requests.

    Args:
        calls: with ``handoff``, ``at``, ``size`` and ``model``.
        requests: the same, with ``wide``.
    """
    found = [calls["handoff"].clear()]
    for (model,), own in calls.group_by("model", maintain_order=True):
        others = requests
        if model is not None:
            others = requests.filter(pl.col("model").eq(model).fill_null(value=True))
        found += _of_size(own, others)
    return pl.concat(found).unique()


def _of_size(calls: pl.DataFrame, requests: pl.DataFrame) -> list[pl.Series]:
    sized, unsized = pl.col("size").is_not_null(), pl.col("size").is_null()
    close = (direction.SLACK, UNPAIRED_GAP)
    apart, around = (UNKNOWN_GAP, UNKNOWN_GAP), (UNPAIRED_GAP, UNPAIRED_GAP)
    asked: tuple[tuple[pl.Expr, pl.Expr, tuple[int, int], list[str]], ...] = (
        (sized, sized & ~pl.col("wide"), close, ["size"]),
        (sized, sized & pl.col("wide"), apart, ["size"]),
        (sized, unsized & ~pl.col("wide"), close, []),
        (sized, unsized & pl.col("wide"), around, []),
        (unsized, ~pl.col("wide"), close, []),
        (unsized, pl.col("wide"), around, []),
    )
    return [
        _near(calls.filter(ours), requests.filter(theirs), *gaps, by)
        for ours, theirs, gaps, by in asked
    ]


def _near(
    calls: pl.DataFrame, requests: pl.DataFrame, before: int, after: int, by: list[str]
) -> pl.Series:
    """Return the calls of which a request lies so long before, or so long after, at the most."""
    own = calls.select("handoff", "at", *by, since=pl.col("at") - before).sort("since")
    others = requests.select(*by, since="at").sort("since").with_columns(began="since")
    found = own.join_asof(
        others, on="since", by=by or None, strategy="forward", check_sortedness=False
    )
    return found.filter(pl.col("began") <= pl.col("at") + after)["handoff"]
