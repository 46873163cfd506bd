"""Health checks and warm-ups: on prefill they look exactly like a placeholder.

A record counts as one only if nothing of its hand-off or its id is more than a probe
leaves behind: no tenant, no gateway, one token of a health check or the four of a warm-up,
one page. Whoever takes the name of a probe for a request of their own stays a request.
"""

from __future__ import annotations

import polars as pl

from forensics import schema, warmups
from forensics.answered import answered

HEALTH_CHECK = "HEALTH_CHECK_"
_FORM = rf"^{HEALTH_CHECK}[0-9a-f.]+$"
"""A time, or hexadecimal digits."""
_MORE = {
    "reserved_pages": 1,
    "transferred_pages": 1,
    "reserved_tokens": 256,
    "transferred_tokens": 256,
    "prefill_tokens": warmups.TOKENS,
    "cached_tokens": 0,
    "completion_tokens": 16,
}
"""The most that a probe leaves of each figure."""
_SIGNALS = (
    "rejected",
    *(c.name for c in schema.ENGINE_COLUMNS if c.kind == "flag" and c.name != schema.TIMED_LATE),
)
"""What no probe carries: signs of a fault."""


def without(frame: pl.DataFrame, epochs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the records without probes, and those.

    Args:
        frame: records with ``request_id``, ``transfer_id``, ``tenant_id`` and ``hop``.
        epochs: capacity epochs: whose rooms are those of SGLang.
    """
    health, small = _health_check(frame), warmups.of_warm_up(frame, epochs)
    marked = frame.select(
        "request_id",
        "transfer_id",
        candidate=health | pl.lit(small.candidate),
        tiny=_tiny(frame),
        sized=warmups.any_size(frame),
        health=health,
        certain=pl.lit(small.certain),
        fits=_fits(frame),
    )
    if not marked["candidate"].any():
        return frame, frame.clear()
    sizes = [n for n in warmups.SIZES if n in frame.columns]
    size = pl.coalesce(*sizes, pl.lit(None, dtype=pl.Int64))
    marked = marked.hstack(frame.select("hop", "received_at", size=size))
    probe = _alone(_sized(marked))
    return frame.filter(~probe).rechunk(), frame.filter(probe)


def _any_of(conditions: list[pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(conditions or [pl.lit(value=False)])


def _sized(marked: pl.DataFrame) -> pl.DataFrame:
    """A hand-off of which no size is known at all may be anything: it is not tiny."""
    sized = marked.filter("sized")["transfer_id"].drop_nulls().unique().implode()
    known = pl.col("health") | pl.col("certain") | pl.col("transfer_id").is_in(sized)
    return marked.with_columns(tiny=pl.col("tiny") & known.fill_null(value=False))


def _alone(marked: pl.DataFrame) -> pl.Series:
    """Say which candidates share neither id nor hand-off with a record that is more.

    A room that a health check shares with hand-offs that are whole is not its own. Nor is it
    the placeholder of a prompt that any pool holds: a warm-up of an engine of which no start is
    logged may be a request, and its room 0 is still that of all health checks.
    """
    own = pl.col("candidate") & pl.col("tiny")
    certain = own & pl.col("certain")
    probe = own
    real = marked.filter(~probe)
    for name in ("request_id", "transfer_id", "request_id"):
        taken = real[name].drop_nulls().unique().implode()
        free = ~pl.col(name).is_in(taken).fill_null(value=False)
        if name == "transfer_id":
            rooms = marked.filter(probe & pl.col("health"))[name].drop_nulls().unique()
            more = real.filter(~(pl.col("fits") & pl.col("tiny")))
            whole = answered(more, rooms).implode()
            other = pl.col(name).is_in(more[name].drop_nulls().unique().implode())
            free |= pl.col("health") & (pl.col(name).is_in(whole) | ~other).fill_null(value=False)
        probe = probe & (certain | free)
        real = marked.filter(~probe)
    return marked.select(probe.alias("probe")).to_series()


def _tiny(frame: pl.DataFrame) -> pl.Expr:
    """Say which records are no more than a probe leaves behind."""
    more = [pl.col(n) <= most for n, most in _MORE.items() if n in frame.columns]
    small = [c.fill_null(value=True) for c in more]
    faults = [pl.col(n).fill_null(value=False) for n in _SIGNALS if n in frame.columns]
    nobody = pl.col("tenant_id").is_null() & (pl.col("hop") != "gateway").fill_null(value=True)
    return pl.all_horizontal(small or [pl.lit(value=True)]) & nobody & ~_any_of(faults)


def _fits(frame: pl.DataFrame) -> pl.Expr:
    """Say which records count a warm-up's prompt: no engine is too small for it."""
    return warmups.any_size(frame) & warmups.of_size(frame, warmups.TOKENS)


def _health_check(frame: pl.DataFrame) -> pl.Expr:
    """A health check's id and single token, under the room 0 that it has or under none.

    An engine's client may send any id, but its hand-off gets a room of 63 random bits.
    """
    named = pl.col("request_id").str.contains(_FORM)
    room = pl.col("transfer_id")
    unnamed = room.is_null() | (room == "0")
    return (named & unnamed & warmups.of_size(frame, 1)).fill_null(value=False)
