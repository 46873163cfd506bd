"""Warm-ups of an engine that starts: by room, size and time.

Each rank gets a prompt of four tokens, for eight, before the server says that it is ready. A
client may use such a room as well, and any prompt: only time tells those apart, and where no
start is logged, only a hand-off of just these figures is taken for a warm-up.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.boots import BEGINNING

TOKENS = 4
_ANSWERED = 8
_SMALL_ROOM = 256
_MOST_RANKS = 512
SIZES = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")
_SECOND, _HOUR = 1_000_000, 3_600_000_000
_SERVER = r"/[^/]*$"


@dataclass(frozen=True)
class Marks:
    """Which records may be of a warm-up, and which of them lie before readiness."""

    candidate: pl.Series
    certain: pl.Series


def any_size(frame: pl.DataFrame) -> pl.Expr:
    """Say which records count a prompt at all."""
    counts = [pl.col(n).is_not_null() for n in SIZES if n in frame.columns]
    return pl.any_horizontal(counts or [pl.lit(value=False)])


def of_size(frame: pl.DataFrame, tokens: int) -> pl.Expr:
    """Say which records count so many tokens, if any."""
    same = [(pl.col(n) == tokens).fill_null(value=True) for n in SIZES if n in frame.columns]
    return pl.all_horizontal(same or [pl.lit(value=True)])


def of_warm_up(frame: pl.DataFrame, epochs: pl.DataFrame) -> Marks:
    """Say which records are of a warm-up.

    Args:
        frame: records with ``transfer_id`` and ``received_at``.
        epochs: capacity epochs: whose rooms are those of another engine, and when it started.
    """
    nobody = pl.repeat(False, frame.height, dtype=pl.Boolean, eager=True)
    columns = [n for n in ("decode_node", "prefill_node", "source_node") if n in frame.columns]
    if not columns:
        return Marks(nobody, nobody)
    server = pl.coalesce(columns).str.replace(_SERVER, "")
    small = frame.lazy().with_row_index("_row").filter(of_size(frame, TOKENS))
    rows = small.with_columns(server=server).filter(_may_be_sglang(epochs)).collect()
    rows = rows.filter(_small_room(rows["transfer_id"]).fill_null(value=False)).sort("_row")
    if not rows.height:
        return Marks(nobody, nobody)
    engines = epochs.filter(pl.col("engine") == "sglang")
    starts, certain = _by_time(rows, _starts(engines))
    told = pl.concat([starts, _by_form(rows, starts, engines)]).unique()
    return Marks(_marked(nobody, told), _marked(nobody, certain))


def _may_be_sglang(epochs: pl.DataFrame) -> pl.Expr:
    """Say which servers are SGLang's as far as it is known: nothing says that it is another."""
    others = epochs.filter(pl.col("engine").is_not_null() & (pl.col("engine") != "sglang"))
    servers = others["node"].str.replace(_SERVER, "").drop_nulls().unique()
    return pl.col("server").is_not_null() & ~pl.col("server").is_in(servers.implode())


def _marked(nobody: pl.Series, rows: pl.Series) -> pl.Series:
    return nobody.clone().scatter(rows, values=True) if len(rows) else nobody


def _starts(engines: pl.DataFrame) -> pl.DataFrame:
    """Return when each server may have warmed up: from its start until it said it was ready."""
    begin, ready = pl.col("effective_at"), pl.col("ready_at")
    known = engines.filter(ready.is_not_null() | (begin > BEGINNING))
    first = pl.when((begin < ready) & (begin > BEGINNING)).then(begin)
    return known.select(
        server=pl.col("node").str.replace(_SERVER, ""),
        since=pl.coalesce(first, ready - _HOUR, begin),
        until=pl.coalesce(ready + 2 * _SECOND, begin + _HOUR),
        certain=ready.is_not_null(),
    ).unique()


def _by_time(rows: pl.DataFrame, starts: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return the rows within a start, and those of them that a readiness line follows."""
    pairs = rows.select("_row", "server", "received_at").join(starts, on="server")
    inside = pairs.filter(pl.col("received_at").is_between("since", "until"))
    return inside["_row"].unique(), inside.filter("certain")["_row"].unique()


def _by_form(rows: pl.DataFrame, starts: pl.Series, engines: pl.DataFrame) -> pl.Series:
    """Return the rows of servers without a start, or without a time, that are just a warm-up's."""
    timed = _starts(engines)["server"].unique().implode()
    open_ = rows.filter(pl.col("received_at").is_null() | ~pl.col("server").is_in(timed))
    if "completion_tokens" not in rows.columns:
        return starts.clear()
    rooms = open_.filter(any_size(open_) & (pl.col("completion_tokens") == _ANSWERED))
    return open_.join(rooms.select("transfer_id").unique(), on="transfer_id", how="semi")["_row"]


def _small_room(rooms: pl.Series) -> pl.Expr:
    """Say which rooms were not drawn at random.

    Those of warm-ups are a rank, or ``i * (2**63 // dp) + i % tp`` up to 0.5.15.
    """
    room = rooms.cast(pl.UInt64, strict=False)
    starts = _warm_up_rooms()
    below = (starts.search_sorted(room, side="right").cast(pl.Int64) - 1).clip(0)
    return pl.lit((room - starts.gather(below)) < _SMALL_ROOM)


def _warm_up_rooms() -> pl.Series:
    """The lowest warm-up room of each rank, for every number of ranks; sorted."""
    ranks = pl.DataFrame({"dp": pl.int_range(1, _MOST_RANKS + 1, dtype=pl.UInt64, eager=True)})
    width = pl.lit(2**63, dtype=pl.UInt64) // pl.col("dp")
    rank = pl.int_ranges(0, "dp", dtype=pl.UInt64)
    rooms = ranks.select("dp", width=width, rank=rank).explode("rank")
    return rooms.select(pl.col("rank") * pl.col("width")).to_series().unique().sort()
