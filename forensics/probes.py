"""Health checks and warm-ups: on prefill they look exactly like a placeholder.

A record counts as one only if nothing of its hand-off or its id is more than a probe
leaves behind: no tenant, no gateway, four tokens, one page. Whoever takes the name of
a probe for a request of their own stays a request.
"""

from __future__ import annotations

import polars as pl

from forensics import schema
from forensics.columns import per_file

HEALTH_CHECK = "HEALTH_CHECK_"
_SMALL_ROOM = 256
_MOST_RANKS = 512
_WARM_UP_TOKENS = 4
_SIZES = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
_MORE = {
    "reserved_pages": 1,
    "transferred_pages": 1,
    "reserved_tokens": 256,
    "transferred_tokens": 256,
    "prefill_tokens": _WARM_UP_TOKENS,
    "cached_tokens": 0,
    "completion_tokens": 16,
}
"""The most that a warm-up leaves of each figure."""
_SIGNALS = ("rejected", *(c.name for c in schema.ENGINE_COLUMNS if c.kind == "flag"))
"""What no probe carries: signs of a fault."""


def without(frame: pl.DataFrame, epochs: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, int]]:
    """Return the records without probes, and how many those were per file.

    Args:
        frame: records with ``request_id``, ``transfer_id``, ``tenant_id`` and ``hop``.
        epochs: capacity epochs: whose rooms are those of SGLang.
    """
    marked = frame.select(
        "request_id",
        "transfer_id",
        candidate=_health_check() | _warm_up(frame, epochs),
        tiny=_tiny(frame),
        sized=_any_of([pl.col(n).is_not_null() for n in _SIZES if n in frame.columns]),
        health=_health_check(),
    )
    if not marked["candidate"].any():
        return frame, {}
    probe = _alone(_sized(marked))
    return frame.filter(~probe).rechunk(), per_file(frame.filter(probe))


def _any_of(conditions: list[pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(conditions or [pl.lit(value=False)])


def _sized(marked: pl.DataFrame) -> pl.DataFrame:
    """A hand-off of which no size is known at all may be anything: it is not tiny."""
    sized = marked.filter("sized")["transfer_id"].drop_nulls().unique().implode()
    known = pl.col("health") | pl.col("transfer_id").is_in(sized)
    return marked.with_columns(tiny=pl.col("tiny") & known.fill_null(value=False))


def _alone(marked: pl.DataFrame) -> pl.Series:
    """Say which candidates share neither id nor hand-off with a record that is more."""
    probe = pl.col("candidate") & pl.col("tiny")
    real = marked.filter(~probe)
    for name in ("request_id", "transfer_id", "request_id"):
        taken = real[name].drop_nulls().unique().implode()
        probe = probe & ~pl.col(name).is_in(taken).fill_null(value=False)
        real = marked.filter(~probe)
    return marked.select(probe.alias("probe")).to_series()


def _tiny(frame: pl.DataFrame) -> pl.Expr:
    """Say which records are no more than a warm-up leaves behind."""
    tokens = [pl.col(n) <= _WARM_UP_TOKENS for n in _SIZES if n in frame.columns]
    more = [pl.col(n) <= most for n, most in _MORE.items() if n in frame.columns]
    small = [c.fill_null(value=True) for c in (*tokens, *more)]
    faults = [pl.col(n).fill_null(value=False) for n in _SIGNALS if n in frame.columns]
    nobody = pl.col("tenant_id").is_null() & (pl.col("hop") != "gateway").fill_null(value=True)
    return pl.all_horizontal(small or [pl.lit(value=True)]) & nobody & ~_any_of(faults)


def _health_check() -> pl.Expr:
    """A health check's id, under the room 0 that it has or under none.

    An engine's client may send any id, but its hand-off gets a room of 63 random bits.
    """
    named = pl.col("request_id").str.starts_with(HEALTH_CHECK)
    room = pl.col("transfer_id")
    return (named & (room.is_null() | (room == "0"))).fill_null(value=False)


def _warm_up(frame: pl.DataFrame, epochs: pl.DataFrame) -> pl.Expr:
    """Say which records of an SGLang engine carry a room that was not drawn at random.

    Those of warm-ups are a rank, or ``i * (2**63 // dp) + i % tp`` up to 0.5.15.
    """
    engines = epochs.filter(pl.col("engine") == "sglang")["node"].drop_nulls()
    servers = engines.str.replace(r"/[^/]*$", "").unique().to_list()
    columns = [n for n in ("decode_node", "prefill_node", "source_node") if n in frame.columns]
    if not servers or not columns:
        return pl.lit(value=False)
    of_sglang = pl.coalesce(columns).str.replace(r"/[^/]*$", "").is_in(servers)
    room = frame["transfer_id"].cast(pl.UInt64, strict=False)
    starts = _warm_up_rooms()
    below = (starts.search_sorted(room, side="right").cast(pl.Int64) - 1).clip(0)
    small = (room - starts.gather(below)) < _SMALL_ROOM
    return (pl.lit(small) & of_sglang).fill_null(value=False)


def _warm_up_rooms() -> pl.Series:
    """The lowest warm-up room of each rank, for every number of ranks; sorted."""
    ranks = pl.DataFrame({"dp": pl.int_range(1, _MOST_RANKS + 1, dtype=pl.UInt64, eager=True)})
    width = pl.lit(2**63, dtype=pl.UInt64) // pl.col("dp")
    rank = pl.int_ranges(0, "dp", dtype=pl.UInt64)
    rooms = ranks.select("dp", width=width, rank=rank).explode("rank")
    return rooms.select(pl.col("rank") * pl.col("width")).to_series().unique().sort()
