"""Client records and engine requests that no identifier joins: what is compared of them."""

from __future__ import annotations

import polars as pl

from forensics.columns import ensure
from forensics.duplicates import UNNAMED
from forensics.joins.gaps import ENGINE
from forensics.schema import ENGINE_COLUMNS, TIMED_LATE

_NO_ANSWER = (499, 504)
"""Statuses after which tokens may have been sent before."""
_OWN_EVIDENCE = (
    "reserved_pages",
    "transferred_pages",
    "reserved_tokens",
    "transferred_tokens",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
    "owner_generation",
    "read_generation",
    "slot_owner",
    "sender_tenant",
    "receiver_tenant",
)
"""A client record with one of these, or the id of a hand-off, is evidence in its own right."""
_SHOWS = (
    *("owner_generation", "read_generation", "slot_owner", "sender_tenant", "receiver_tenant"),
)
_LESS = (
    ("transferred_pages", "reserved_pages"),
    ("transferred_tokens", "reserved_tokens"),
    ("prefill_prompt_tokens", "prompt_tokens"),
)
"""What falls short of what, by prefill's own record."""
_SIGNS = (
    *("rejected", "stream_error"),
    *(c.name for c in ENGINE_COLUMNS if c.kind == "flag" and c.name != TIMED_LATE),
)
_NEEDED = (
    *("prompt_tokens", "completion_tokens", "http_status", "stream_error", "rejected", "model"),
    *("finished_at", "naive"),
)


def calls(joined: pl.DataFrame) -> pl.DataFrame:
    """Return gateway records that pair with nothing: key, time, size, tenant, model, delivered.

    ``own`` says that one is evidence in its own right.
    """
    gateway = joined.filter(pl.col("hop") == "gateway")
    others = joined.filter(pl.col("hop") != "gateway").select("handoff").unique()
    alone = gateway.join(others, on="handoff", how="anti")
    if not alone.height:
        return alone.select("handoff")
    alone = ensure(alone, _NEEDED)
    own = [pl.col(name).is_not_null() for name in _OWN_EVIDENCE if name in alone.columns]
    own.append(pl.col("transfer_id").is_not_null() & ~pl.col("caller"))
    refused = pl.col("rejected").fill_null(value=False)
    served = _delivered()
    groups = alone.group_by("handoff").agg(
        pl.col("received_at").min().alias("at"),
        pl.col("finished_at").max(),
        pl.col("prompt_tokens").max().alias("size"),
        _single("tenant_id").alias("tenant"),
        _single("model").alias("model"),
        # Without a status, a refusal is no sign that anything was served.
        _all_in_all(pl.coalesce(served, pl.when(refused).then(pl.lit(value=False)))),
        pl.any_horizontal([*own, (refused & served).fill_null(value=False)]).any().alias("own"),
    )
    return groups.filter(pl.col("at").is_not_null())


def models(joined: pl.DataFrame) -> frozenset[str]:
    """Return the models that engines serve, by all records of their requests."""
    if "model" not in joined.columns:
        return frozenset()
    engines = joined.filter(pl.col("hop").is_in(ENGINE)).select("handoff").unique()
    return frozenset(joined.join(engines, on="handoff", how="semi")["model"].drop_nulls().unique())


def requests(joined: pl.DataFrame) -> pl.DataFrame:
    """Return engine requests that pair with no client record, as :func:`calls` does.

    ``unit`` is the same for the attempts of one engine request. ``remnant`` says that
    prefill's record is all that is left of it, ``shows`` that this one is evidence by itself.
    """
    engine = joined.filter(pl.col("hop").is_in(ENGINE))
    client = joined.filter(~pl.col("hop").is_in(ENGINE)).select("handoff").unique()
    engine = ensure(engine.join(client, on="handoff", how="anti"), _NEEDED)
    engine = ensure(engine, ["decode_prompt_tokens", "decode_node", "prefill_node"])
    engine = ensure(engine, ["prefill_prompt_tokens"])
    decode = pl.col("hop") == "decode"
    own = decode & ~pl.col("request_id").str.starts_with(UNNAMED)
    groups = engine.group_by("handoff").agg(
        pl.coalesce(pl.col("received_at").filter(decode).min(), pl.col("received_at").min()).alias(
            "at"
        ),
        pl.coalesce(_COUNTED, _PREFILLED).alias("size"),
        # Such a size joins only where nothing else fits.
        (_COUNTED.is_null() & _PREFILLED.is_not_null()).alias("prefilled"),
        pl.col("finished_at").max(),
        # Without a zone it is the time of the line: that of the end.
        (decode & pl.col("naive").fill_null(value=False)).any().alias("at_end"),
        _single("tenant_id").alias("tenant"),
        _single("model").alias("model"),
        _all_in_all(pl.when(decode).then(_delivered())),
        pl.col("request_id").filter(own).min().alias("name"),
        pl.coalesce("decode_node", "prefill_node").drop_nulls().min().alias("node"),
        (pl.col("tenant_id").drop_nulls().n_unique() > 1).alias("contested"),
        (pl.col("hop") == "prefill").all().alias("remnant"),
        _evidence(engine.columns).any().alias("shows"),
    )
    groups = groups.filter(~pl.col("contested") & pl.col("at").is_not_null()).drop("contested")
    unit = pl.when(pl.col("name").is_null()).then("handoff")
    return groups.with_columns(
        unit=unit.otherwise(pl.col("handoff").min().over("name")),
        server=pl.col("node").str.replace(r"/[^/]*$", ""),
    ).drop("name", "node")


def _evidence(columns: list[str]) -> pl.Expr:
    """Say which records of prefill show by themselves what was sent, refused or read."""
    values = [pl.col(name).is_not_null() for name in _SHOWS if name in columns]
    flags = [pl.col(name).fill_null(value=False) for name in _SIGNS if name in columns]
    less = [
        (pl.col(few) < pl.col(many)).fill_null(value=False)
        for few, many in _LESS
        if {few, many} <= set(columns)
    ]
    return pl.any_horizontal([*values, *flags, *less])


_COUNTED = pl.coalesce(pl.col("decode_prompt_tokens").max(), pl.col("prompt_tokens").max())
_MOST = pl.col("prefill_prompt_tokens").max()
_PREFILLED = pl.when(_MOST > 1).then(_MOST)
"""The size that prefill alone counted: not where it is a placeholder's single token."""


def of_one_moment(calls: pl.DataFrame, requests: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare ends with ends, for the sizes of which an engine logged nothing but the end."""
    late = requests.filter("at_end")["size"].drop_nulls().unique()
    if not len(late):
        return calls, requests
    ended = pl.when(pl.col("size").is_in(late.implode())).then("finished_at")
    calls = calls.with_columns(at=pl.coalesce(ended, "at"))
    return calls, requests.with_columns(
        at=pl.when("at_end")
        .then(pl.coalesce("finished_at", "at"))
        .otherwise(pl.coalesce(ended, "at"))
    )


def _single(name: str) -> pl.Expr:
    """The value that all records with one agree on."""
    value = pl.col(name)
    return pl.when(value.min() == value.max()).then(value.min())


def _delivered() -> pl.Expr:
    """Say whether a record shows that tokens left for the client; null where it cannot."""
    tokens, status = pl.col("completion_tokens"), pl.col("http_status")
    broken = pl.col("stream_error").fill_null(value=False)
    good = status.is_between(200, 299)
    unknown = broken | status.is_null() | status.is_in(_NO_ANSWER)
    by_status = pl.when(~unknown).then(good)
    return pl.when(tokens.is_not_null()).then(tokens > 0).otherwise(by_status)


def _all_in_all(delivered: pl.Expr) -> pl.Expr:
    """True where any record says so; false where those that speak say not; else null."""
    return delivered.max().alias("delivered")
