"""Co-residency: tenants whose requests ran on a decode rank before a response read its pages.

It names everyone who *could* have written the pages, from the rank's last known start to
the read. It is no model of which pages were reused, so its tier is ``possible`` for everyone,
and it is never turned into a share or a probability. A request or a response whose rank no log
names may have been on any, and one of which only the server is known on any rank of it; one whose
times leave open when it ran, at any moment of these (:mod:`forensics.attribution.moments`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from forensics.attribution import anywhere, moments, pairing, places, ranks
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.pairing import as_pairs
from forensics.attribution.refusals import at_the_door
from forensics.schema import AFFECTED_TIERS


def residence(requests: pl.DataFrame, side: str = "decode") -> pl.DataFrame:
    """Return who ran on one side, from which start on, and when it may have taken pages.

    Args:
        requests: judged requests; a start that is not known is :data:`BEGINNING`.
        side: ``decode`` or ``prefill``.

    Returns:
        ``first`` and ``last``: the same where the moment was logged (``own_clock``). A request
        of several ranks has a row for each.
    """
    names = requests.columns
    rows = places.on_each(requests.with_row_index("_row"), side).with_columns(
        first=moments.first(names, side),
        last=moments.last(names, side),
        own_clock=moments.sure(names, side),
    )
    kept = ("request_id", "attempt", "tenant_id", "tier", "node", "since", "first", "last")
    return rows.select("_row", *kept, "own_clock", may_have_run=~at_the_door(names))


def pairs(requests: pl.DataFrame) -> pl.DataFrame:
    """Return one row per affected response and tenant that ran there before it.

    Args:
        requests: judged requests with ``decode_since``, all of them: a rank's pool is
            shared by whatever ran on it, in scope or not.

    Returns:
        The columns of :mod:`forensics.attribution.pairing` plus ``attempt``, sorted.
    """
    return pl.concat([pairing.sort(as_pairs(found, "decode")) for found in met(requests)])


def met(requests: pl.DataFrame, side: str = "decode") -> Iterator[pl.DataFrame]:
    """Yield each affected response with each tenant that ran on its rank before the read.

    Many responses and many tenants are too many pairs to be made at once. The batches are in
    order of ``request_id``, and no id is in two of them.

    Returns:
        ``_row``, ``request_id``, ``attempt``, ``tenant_id``, ``node``, ``since``, ``read``,
        ``source_tenant_id`` and ``last_at``; one empty frame where nobody read.
    """
    every = residence(requests, side)
    placed = every.select(_RAN).filter(pl.col("node").is_not_null())
    read = every.filter(pl.col("tier").is_in(AFFECTED_TIERS)).rename({"last": "read"})
    if not read.height:
        yield _nobody(read)
        return
    read = read.with_columns(until=moments.until("read"))
    astray = every.filter(pl.col("node").is_null() & pl.col("may_have_run"))
    here, everywhere = _Begun.of(placed, ["node"]), _Begun.of(astray, [])
    same, starts = ranks.beside(placed["node"]), anywhere.starts(placed)
    most = here.keys.height if read["node"].null_count() else here.most_tenants
    tenants = most + everywhere.most_tenants
    for batch in pairing.batches(read, tenants):
        asked = anywhere.on_every_rank(batch, starts)
        both = pl.concat([_last(asked, here, same), _last(batch, everywhere, same)])
        last = both.group_by("_row", "source_tenant_id").agg(pl.col("last_at").max())
        told = batch.drop("first", "until", "own_clock", "may_have_run")
        told = told.unique("_row", keep="first", maintain_order=True)
        yield last.join(told, on="_row", how="left")


_RAN = ("_row", "tenant_id", "node", "since", "first", "last")


@dataclass(frozen=True)
class _Begun:
    """When each tenant may have run on each rank: ``times``, by a number of rank and tenant.

    In order of the first moment; ``upto`` is the last moment at which it may have run by any
    of its requests so far, ``by`` the request, ``beside`` the same without that request.
    """

    times: pl.DataFrame
    keys: pl.DataFrame
    rank: list[str]

    @classmethod
    def of(cls, ran: pl.DataFrame, rank: list[str]) -> _Begun:
        """Return it for requests that ran; without columns of a rank, on any."""
        tenant = pl.col("tenant_id").fill_null("")  # null joins nobody
        known = ran.lazy().select(*rank, "_row", "first", "last", source_tenant_id=tenant)
        key = [*rank, "source_tenant_id"]
        keys = known.select(key).unique(maintain_order=True).collect().with_row_index("_key")
        named = known.join(keys.lazy(), on=key).select("_key", "_row", "first", "last")
        rows = named.sort("first", "_row").collect()
        upto = pl.col("last").cum_max()
        rows = rows.with_columns(upto=upto.over("_key"), sofar=upto.shift(1).over("_key"))
        # The two latest of different requests: what does not lead now is second at the most.
        second = pl.when(pl.col("sofar").is_not_null()).then(pl.min_horizontal("last", "sofar"))
        leads = (pl.col("last") > pl.col("sofar")).fill_null(value=True)
        times = rows.select(
            "_key",
            "first",
            "upto",
            by=pl.when(leads).then("_row").forward_fill().over("_key"),
            beside=second.cum_max().over("_key"),
        )
        return cls(times, keys, rank)

    @property
    def most_tenants(self) -> int:
        """Tenants of the rank that has most."""
        per_rank = self.keys.group_by(self.rank).len()["len"] if self.rank else None
        return self.keys.height if per_rank is None else int(per_rank.max() or 0)  # type: ignore[arg-type]


def _nobody(read: pl.DataFrame) -> pl.DataFrame:
    kept = read.drop("first", "own_clock", "may_have_run")
    return kept.with_columns(
        source_tenant_id=pl.lit(None, dtype=pl.String), last_at=pl.lit(None, dtype=pl.Int64)
    ).clear()


def _last(read: pl.DataFrame, begun: _Begun, same: pl.DataFrame) -> pl.DataFrame:
    """Return when each tenant may have begun last before each read, since the rank's start."""
    asked = read.select("_row", "node", "since", "until", "read")
    if begun.rank:
        asked = asked.join(same, on="node").join(begun.keys, left_on="rank", right_on="node")
    else:
        asked = asked.join(begun.keys, how="cross")
    found = asked.sort("until").join_asof(
        begun.times, left_on="until", right_on="first", by="_key", check_sortedness=False
    )
    own = pl.col("by") == pl.col("_row")
    found = found.with_columns(upto=pl.when(own).then("beside").otherwise("upto"))
    found = found.filter(pl.col("upto") >= pl.col("since") - START_OFF)
    tenant = pl.when(pl.col("source_tenant_id") != "").then("source_tenant_id")
    return found.select("_row", source_tenant_id=tenant, last_at=pl.min_horizontal("upto", "read"))


def resident_requests(requests: pl.DataFrame) -> pl.DataFrame:
    """Count each tenant's requests that ran on a rank before its last affected response."""
    every = residence(requests)
    read = every.filter(pl.col("tier").is_in(AFFECTED_TIERS)).with_columns(
        until=moments.until("last")
    )
    latest = read["until"].max()
    placed = every.select("node", "since").filter(pl.col("node").is_not_null())
    asked = anywhere.on_every_rank(read, anywhere.starts(placed))
    spans = asked.group_by("node", begin="since").agg(pl.col("until").max())
    within = (pl.col("first") < pl.col("until")) & (pl.col("last") >= pl.col("begin") - START_OFF)
    same = ranks.beside(every["node"])
    spans = spans.join(same, on="node").select("begin", "until", node="rank")
    ran = every.lazy().select("_row", "tenant_id", "node", "first", "last")
    here = ran.join(spans.lazy(), on="node").filter(within).unique("_row").collect()
    astray = every.filter(pl.col("node").is_null() & pl.col("may_have_run"))
    elsewhere = astray.filter(pl.col("first") < pl.lit(latest, dtype=pl.Int64))
    return (
        pl.concat([here.select("tenant_id"), elsewhere.select("tenant_id")])
        .group_by("tenant_id")
        .agg(pl.len().cast(pl.Int64).alias("requests"))
    )


def unattributed(requests: pl.DataFrame) -> int:
    """Return how many affected responses name no decode rank, so may have read on any."""
    affected = requests.filter(pl.col("tier").is_in(AFFECTED_TIERS))
    return int(affected["decode_node"].null_count())
