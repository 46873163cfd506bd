"""Which observations belong to one hand-off.

What both sides of a hand-off share (``transfer_id``) joins first, within an hour of
time since such ids can repeat. A record without one joins by request id and
tenant; if that id has several hand-offs it speaks for all of them. What is left is
its own request. Every observation gets a ``handoff`` key.
"""

from __future__ import annotations

import polars as pl

from forensics.observations import ensure
from forensics.schema import ENGINE_HOP

SESSION_GAP = 3_600_000_000
"""Two uses of one transfer id this far apart are two hand-offs, microseconds."""
INFERRED_GAP = 120_000_000
"""How far apart a rejection and the hand-off of the same size may be, microseconds."""
UNPAIRED_GAP = 60_000_000
"""How far apart a gateway record and an engine's of the same size may be, microseconds."""

_ENGINE = ["prefill", "decode", ENGINE_HOP]


def assign(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the observations with ``handoff``, ``earlier`` and ``inferred``.

    A record that speaks for several hand-offs appears once for each; ``earlier`` marks
    all but the last of them, which the client's answer is not from.
    """
    frame = ensure(frame, ["request_id", "transfer_id", "tenant_id", "received_at", "hop"])
    frame = frame.with_row_index("observation")
    direct, rest = _parted(frame, frame["transfer_id"].is_not_null())
    direct = _by_anchor(_by_transfer(direct))
    attached, alone = _by_request(rest, direct)
    flags = {"earlier": pl.lit(value=False), "inferred": pl.lit(value=False)}
    pieces = [
        direct.with_columns(earlier=flags["earlier"]),
        attached.with_columns(inferred=flags["inferred"]),
        _own_key(alone).with_columns(**flags),
    ]
    filled = [piece for piece in pieces if piece.height] or pieces[:1]
    return _by_size(pl.concat(filled, how="diagonal_relaxed") if len(filled) > 1 else filled[0])


def _parted(frame: pl.DataFrame, mask: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of a mask and the others; what is whole already is not copied.

    One chunk each: with an empty one in front, format() ends in a panic.
    """
    if mask.all():
        return frame, frame.clear()
    if not mask.any():
        return frame.clear(), frame
    return frame.filter(mask).rechunk(), frame.filter(~mask).rechunk()


def _by_transfer(direct: pl.DataFrame) -> pl.DataFrame:
    """Key by transfer id; a pause of more than an hour starts another hand-off."""
    at = pl.col("received_at")
    spread = direct.group_by("transfer_id").agg((at.max() - at.min()).alias("spread"))
    wide = spread.filter(pl.col("spread") > SESSION_GAP).select("transfer_id")
    if not wide.height:
        return direct.with_columns(handoff=pl.format("t:{}:0", "transfer_id"))
    uses = direct.select("observation", "transfer_id", "received_at")
    uses = uses.join(wide, on="transfer_id", how="semi").sort(
        "transfer_id", "received_at", nulls_last=False
    )
    cut = (at - at.shift(1).over("transfer_id") > SESSION_GAP).fill_null(value=False)
    session = cut.cast(pl.Int64).cum_sum().over("transfer_id")
    sessions = uses.select("observation", session=session)
    direct = direct.join(sessions, on="observation", how="left", maintain_order="left")
    key = pl.format("t:{}:{}", "transfer_id", pl.col("session").fill_null(0))
    return direct.with_columns(handoff=key).drop("session")


_ANCHORS = ("decode", "joined", "gateway", "prefill")
"""Hops whose own ids tell requests apart, surest first."""
_TENANT_KNOWN = pl.col("tenant") != ""


def _by_anchor(direct: pl.DataFrame) -> pl.DataFrame:
    """Part the requests that share one transfer id: a trace can span several calls.

    Where one hop logged several ids or tenants under a key, each of them is a request of
    its own. Records of other hops go to that of their id, else to the nearest in
    time, which is an inference and marked as one.
    """
    if not direct.height:
        return direct.with_columns(inferred=pl.lit(value=False))
    rows = direct.select(
        "observation",
        "handoff",
        "received_at",
        request_id=pl.col("request_id").fill_null(""),
        hop=pl.col("hop").fill_null("joined"),
        tenant=pl.col("tenant_id").fill_null(""),
    )
    several = _several(rows)
    if not several.height:
        return direct.with_columns(inferred=pl.lit(value=False))
    among = rows.join(several.select("handoff").unique(), on="handoff", how="semi")
    keys = _nearest(among, _anchors(among, several))
    direct = direct.join(keys, on="observation", how="left", maintain_order="left").rechunk()
    key = pl.concat_str("handoff", "anchor", separator=":")
    return direct.with_columns(
        handoff=pl.coalesce(key, "handoff"), inferred=pl.col("inferred").fill_null(value=False)
    ).drop("anchor")


def _several(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the surest hop of each key under which a hop has several ids or tenants.

    Prefill's ids are its own, so they tell requests apart only where no other hop does.
    """
    counts = (
        rows.filter(pl.col("hop").is_in(_ANCHORS))
        .group_by("handoff", "hop")
        .agg(pl.col("request_id").n_unique(), pl.col("tenant").filter(_TENANT_KNOWN).n_unique())
    )
    rank = pl.col("hop").replace_strict(_ANCHORS, range(len(_ANCHORS)), return_dtype=pl.Int64)
    hops = counts.group_by("handoff").agg((pl.col("hop") != "prefill").any().alias("others"))
    several = counts.filter((pl.col("request_id") > 1) | (pl.col("tenant") > 1))
    several = several.join(hops, on="handoff").filter(
        (pl.col("hop") != "prefill") | ~pl.col("others")
    )
    return several.sort(rank).group_by("handoff", maintain_order=True).agg(pl.col("hop").first())


def _anchors(among: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """Return the requests under each key: those of its surest hop, and those that only others name.

    A hop that shares an id with the surest one names requests alike, so each of its ids is
    one; a hop that shares none has ids of its own for the same requests.
    """
    own = among.join(several, on=["handoff", "hop"], how="semi")
    rest = among.join(several, on=["handoff", "hop"], how="anti")
    rest = rest.filter(pl.col("hop").is_in(_ANCHORS[:3]))
    shared = rest.join(own, on=["handoff", "request_id"], how="semi")
    alike = rest.join(shared.select("handoff", "hop").unique(), on=["handoff", "hop"], how="semi")
    alike = alike.join(own, on=["handoff", "request_id"], how="anti")
    anchors = pl.concat([own, alike]).with_columns(
        anchor=pl.concat_str("request_id", "tenant", separator="\x1f")
    )
    # A record without a tenant is of the id's known tenant, and no request of its own.
    elsewhere = _TENANT_KNOWN.any().over("handoff", "request_id")
    return anchors.filter(_TENANT_KNOWN | ~elsewhere)


def _nearest(rows: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Return each record's anchor: that of its own id and tenant, of its id, or the nearest."""
    at = pl.col("received_at").fill_null(0)
    points = anchors.select("handoff", "request_id", "tenant", "anchor", at=at).unique()
    points = points.sort("at", "handoff", "anchor")
    left = rows.select("observation", "handoff", "request_id", "tenant", at=at).sort("at")
    own = ["handoff", "request_id", "tenant"]
    exact = points.select(*own, exact="anchor").unique()
    left = left.join(exact, on=own, how="left", maintain_order="left")
    for name, by in (("of_id", ["handoff", "request_id"]), ("near", ["handoff"])):
        left = left.join_asof(
            points.select(*by, "at", pl.col("anchor").alias(name)),
            on="at",
            by=by,
            strategy="nearest",
            check_sortedness=False,
        )
    return left.select(
        "observation",
        anchor=pl.coalesce("exact", "of_id", "near"),
        inferred=pl.col("exact").is_null() & pl.col("of_id").is_null(),
    )


def _by_request(rest: pl.DataFrame, direct: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Attach records without a transfer id to the hand-offs of their request id and tenant."""
    if not rest.height:
        nobody = rest.with_columns(handoff=pl.lit(None, dtype=pl.String))
        return nobody.with_columns(earlier=pl.lit(value=False)), rest
    handoffs = (
        direct.join(rest.select("request_id").unique(), on="request_id", how="semi")
        .group_by("request_id", "handoff")
        .agg(
            pl.col("tenant_id").drop_nulls().unique().sort().alias("tenants"),
            pl.col("received_at").min().alias("handoff_at"),
        )
    )
    pairs = rest.select("observation", "request_id", "tenant_id", "received_at", "hop").join(
        handoffs, on="request_id", how="inner"
    )
    agrees = (
        pl.col("tenant_id").is_null()
        | (pl.col("tenants").list.len() == 0)
        | pl.col("tenants").list.contains(pl.col("tenant_id"))
    )
    apart = (pl.col("received_at") - pl.col("handoff_at")).abs() > SESSION_GAP
    pairs = _one_tenant(pairs.filter(agrees & ~apart.fill_null(value=False)))
    order = ["handoff_at", "handoff"]
    last = pairs.group_by("observation").agg(
        pl.col("handoff").sort_by(order, nulls_last=False).last().alias("last")
    )
    pairs = pairs.join(last, on="observation").with_columns(
        earlier=pl.col("handoff") != pl.col("last")
    )
    attached = rest.join(
        pairs.select("observation", "handoff", "earlier"), on="observation", how="inner"
    )
    alone = rest.join(pairs.select("observation").unique(), on="observation", how="anti")
    return attached, alone


def _one_tenant(pairs: pl.DataFrame) -> pl.DataFrame:
    """Where records of two tenants claim one hand-off, keep those of the nearest in time."""
    known = pairs.filter(pl.col("tenant_id").is_not_null())
    claimed = known.group_by("handoff").agg(pl.col("tenant_id").n_unique().alias("n"))
    contested = claimed.filter(pl.col("n") > 1)
    if not contested.height:
        return pairs
    distance = (pl.col("received_at") - pl.col("handoff_at")).abs()
    nearest = (
        known.join(contested, on="handoff", how="semi")
        .sort(distance, "tenant_id", nulls_last=True)
        .group_by("handoff")
        .agg(pl.col("tenant_id").first().alias("winner"))
    )
    return (
        pairs.join(nearest, on="handoff", how="left")
        .filter(
            pl.col("winner").is_null()
            | pl.col("tenant_id").is_null()
            | (pl.col("tenant_id") == pl.col("winner"))
        )
        .drop("winner")
    )


def _own_key(alone: pl.DataFrame) -> pl.DataFrame:
    """Key by request id and tenant; a record without a tenant takes the id's only one."""
    if not alone["request_id"].is_duplicated().any():
        return alone.with_columns(
            handoff=pl.format("i:{}:{}", "request_id", pl.col("tenant_id").fill_null(""))
        )
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
    return _by_pause(alone)


def _by_pause(alone: pl.DataFrame) -> pl.DataFrame:
    """Part the uses of one id that lie more than an hour apart: clients reuse theirs."""
    alone = alone.sort("key", "received_at", nulls_last=False).rechunk()
    pause = pl.col("received_at") - pl.col("received_at").shift(1)
    cut = ((pause > SESSION_GAP) & (pl.col("key") == pl.col("key").shift(1))).fill_null(value=False)
    alone = alone.with_columns(session=cut.cast(pl.Int64))
    session = pl.col("session").cum_sum().over("key", order_by="received_at")
    return alone.with_columns(handoff=pl.format("{}:{}", "key", session)).drop("key", "session")


def _by_size(joined: pl.DataFrame) -> pl.DataFrame:
    """Join a rejection that names no hand-off to the only one of its size and moment.

    Marked ``inferred``: such a join never carries more than ``possible``.
    """
    if not {"prompt_tokens", "decode_prompt_tokens", "rejected"} <= set(joined.columns):
        return joined
    groups = joined.group_by("handoff").agg(
        pl.col("hop").unique().alias("hops"),
        pl.col("rejected").any().alias("rejected"),
        pl.col("prompt_tokens").max(),
        pl.col("decode_prompt_tokens").max(),
        pl.col("received_at").min(),
        pl.col("transfer_id").first(),
    )
    hops = pl.col("hops").list
    refused = groups.filter(
        pl.col("rejected")
        & pl.col("transfer_id").is_null()
        & hops.eval(pl.element().is_in(["prefill", ENGINE_HOP])).list.all()
    ).select(pl.col("handoff").alias("refused"), "prompt_tokens", at="received_at")
    served = groups.filter(hops.contains("decode") & ~hops.contains("prefill")).select(
        "handoff", pl.col("decode_prompt_tokens").alias("prompt_tokens"), "received_at"
    )
    near = (pl.col("at") - pl.col("received_at")).abs() <= INFERRED_GAP
    pairs = refused.join(served, on="prompt_tokens").filter(near)
    pairs = pairs.filter(pl.col("refused").is_unique() & pl.col("handoff").is_unique())
    if not pairs.height:
        return joined
    moved = pairs.select("refused", pl.col("handoff").alias("to"))
    return (
        joined.join(moved, left_on="handoff", right_on="refused", how="left")
        .with_columns(
            inferred=pl.col("inferred") | pl.col("to").is_not_null(),
            handoff=pl.coalesce("to", "handoff"),
        )
        .drop("to")
    )


def _compatible(name: str) -> pl.Expr:
    ours, theirs = pl.col(name).list, pl.col(f"{name}_right")
    return (
        (ours.len() == 0)
        | (theirs.list.len() == 0)
        | (ours.set_intersection(theirs).list.len() > 0)
    )


def unpaired_gateway(joined: pl.DataFrame) -> pl.DataFrame:
    """Return the keys of gateway records that an engine's own record may already stand for.

    Such a record names no engine record, and there is an engine request of the same
    size and moment that no gateway record names: it would count one request twice.
    """
    if not joined["hop"].is_in(_ENGINE).any() or "prompt_tokens" not in joined.columns:
        return joined.select("handoff").clear()
    joined = ensure(joined, ["decode_prompt_tokens", "completion_tokens", "reserved_pages"])
    groups = joined.group_by("handoff").agg(
        pl.col("hop").unique().alias("hops"),
        pl.coalesce(pl.col("prompt_tokens").max(), pl.col("decode_prompt_tokens").max()).alias(
            "size"
        ),
        pl.col("received_at").min().alias("at"),
        pl.col("completion_tokens").max().alias("tokens"),
        # A record that names a hand-off or its pages is evidence in its own right.
        (pl.col("transfer_id").is_not_null() | pl.col("reserved_pages").is_not_null())
        .any()
        .alias("own"),
        pl.col("tenant_id").drop_nulls().unique().alias("tenants"),
        (pl.col("model") if "model" in joined.columns else pl.lit(None, dtype=pl.String))
        .drop_nulls()
        .unique()
        .alias("models"),
    )
    hops = pl.col("hops").list
    gateway = groups.filter((hops.len() == 1) & hops.contains("gateway") & ~pl.col("own"))
    engine = groups.filter(~hops.contains("gateway") & ~hops.contains(None))
    pairs = gateway.join(engine, on="size").filter(
        ((pl.col("at") - pl.col("at_right")).abs() <= UNPAIRED_GAP)
        & ~(pl.col("tokens").fill_null(1) > 0).ne(pl.col("tokens_right").fill_null(1) > 0)
        & _compatible("tenants")
        & _compatible("models")
    )
    # Two records that could both be the one request cannot both be left out for it.
    pairs = pairs.filter(pl.col("handoff").is_unique() & pl.col("handoff_right").is_unique())
    return pairs.select("handoff").unique().sort("handoff")
