"""Who else may have run on a rank while its records are missing: everyone who is known."""

from __future__ import annotations

import polars as pl

from forensics.attribution import pairing, together
from forensics.attribution.coresidency import residence
from forensics.attribution.gaps import Lost
from forensics.attribution.pairing import PAIR_COLUMNS
from forensics.attribution.stay import Stay
from forensics.boots import BEGINNING
from forensics.schema import AFFECTED_TIERS


def widened(
    requests: pl.DataFrame, pairs: pl.DataFrame, stays: list[Stay], missing: Lost
) -> pl.DataFrame:
    """Return pairs with tenants that may have run in the missing times: ``not_assessable``.

    Everyone who is known from any log may have, whose pair is not there for another reason. They
    are made for some responses at a time: everyone for each is too many to be held more than once.

    Args:
        requests: judged requests.
        pairs: those that are there already, in order of ``request_id``.
        stays: ranks with affected responses.
        missing: of the decode side.
    """
    read = _reading_past_a_loss(requests, stays, missing)
    tenants = requests.select(source_tenant_id="tenant_id").drop_nulls().unique()
    tenants = tenants.sort("source_tenant_id")
    parts = pairing.batches(read, tenants.height)
    there = together.beside(pairs, parts)
    found = [_others(*both, tenants) for both in zip(parts, there, strict=True)]
    return pl.concat([pairs.clear().select(*PAIR_COLUMNS, "attempt"), *found])


def _others(read: pl.DataFrame, pairs: pl.DataFrame, tenants: pl.DataFrame) -> pl.DataFrame:
    """Return some responses with each tenant that is not among their pairs."""
    key = ["request_id", "attempt", "source_tenant_id"]
    every = read.select("request_id", "attempt", "tenant_id").join(tenants, how="cross")
    rows = every.join(pairs.select(key), on=key, how="anti", nulls_equal=True)
    return pairing.sort(pairing.as_pairs(rows, "decode", "not_assessable"))


def _reading_past_a_loss(requests: pl.DataFrame, stays: list[Stay], missing: Lost) -> pl.DataFrame:
    """Return the affected responses between whose rank's start and whose read records are lost."""
    since: list[tuple[str | None, int, int | None]]
    since = [(stay.node, stay.since, missing.since(stay)) for stay in stays]
    since.append((None, BEGINNING, missing.anywhere()))
    kinds = {"node": pl.String, "since": pl.Int64, "lost": pl.Int64}
    keys = pl.DataFrame(since, kinds, orient="row").drop_nulls("lost")
    read = residence(requests).filter(pl.col("tier").is_in(AFFECTED_TIERS))
    read = read.join(keys, on=["node", "since"], nulls_equal=True)
    return read.filter(pl.col("last") >= pl.col("lost")).unique("_row", keep="first")
