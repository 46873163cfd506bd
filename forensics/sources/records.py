"""Raw columns of any reader to typed rows: requests, capacity, canary markers.

Everything a format has in common with the others happens here: typing, redacting
identifiers, telling the three kinds of record apart, and what makes a record
unreadable as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from forensics import schema
from forensics.schema import Column
from forensics.sources import values
from forensics.sources.context import Context
from forensics.sources.jsonpaths import ABSENT
from forensics.sources.parsed import Parsed, Unread

_ALL: dict[str, Column] = {
    **schema.by_name(schema.MARKER_COLUMNS),
    **schema.by_name(schema.CAPACITY_COLUMNS),
    **schema.by_name(schema.OBSERVATION_COLUMNS),
}
KINDS = {name: column.kind for name, column in _ALL.items()}
_KIND_OF = {"observations": "request", "capacity": "capacity", "markers": "marker"}
_TOLD = tuple(
    schema.by_name(schema.ENGINE_COLUMNS)[name]
    for name in (schema.TIMED_LATE, schema.OWNER_UNREAD, schema.GENERATION_UNREAD)
)
_NAMED_BY_LINE = ("request_id", "prefill_request_id")


@dataclass(frozen=True)
class Raw:
    """Raw columns under schema names, with where each row stands.

    ``require_zone`` makes a row whose time has no zone unreadable; engine logs
    leave it False and have their zone inferred later. ``hop`` is the side of engine
    records, as the reader told it; it is not one of the columns then. ``apart`` says that
    texts share no memory with the lines that they came from. ``late`` says whose
    ``received_at`` is no arrival (:data:`forensics.schema.TIMED_LATE`).
    """

    columns: Mapping[str, pl.Series]
    lines: pl.Series
    offsets: pl.Series | None = None
    node: str | None = None
    require_zone: bool = True
    hop: pl.Series | None = None
    apart: bool = False
    late: pl.Series | None = None


def add(raw: Raw, context: Context, parsed: Parsed, only: str | None = None) -> None:
    """Type the rows of ``raw`` and add them to ``parsed``; each counts as read already.

    ``only`` names the field of ``parsed`` that all rows are known to belong to.
    """
    frame, naive = _typed(raw, context, parsed)
    if raw.hop is not None:
        frame = frame.with_columns(raw.hop.alias("hop"))
    if raw.late is not None:
        frame = frame.with_columns(raw.late.alias(schema.TIMED_LATE))
    kinds = _kind(frame) if only is None else pl.lit(_KIND_OF[only])
    zoneless = pl.lit(naive) & pl.lit(raw.require_zone)
    state = frame.select(
        pl.when(zoneless).then(pl.lit("naive")).otherwise(kinds).alias("state")
    ).to_series()
    _ledger(raw, state, parsed)
    at = pl.DataFrame(
        {
            "file": pl.repeat(context.number, frame.height, dtype=pl.Int32, eager=True),
            "line": raw.lines.cast(pl.Int64),
            "naive": naive,
            "source_node": pl.repeat(raw.node, frame.height, dtype=pl.String, eager=True),
        }
    )
    frame = frame.hstack(at)
    for name, columns, sink in (
        ("request", (*schema.OBSERVATION_COLUMNS, *_TOLD), parsed.observations),
        ("capacity", schema.CAPACITY_COLUMNS, parsed.capacity),
        ("marker", schema.MARKER_COLUMNS, parsed.markers),
    ):
        rows = frame.filter(state == name)
        if rows.height:
            kept = [c.name for c in columns if c.name in rows.columns]
            rows = rows.select(*kept, *schema.ORIGIN)
            sink.append(rows if raw.apart and name == "request" else _own_strings(rows))
            parsed.kept += rows.height


def _typed(raw: Raw, context: Context, parsed: Parsed) -> tuple[pl.DataFrame, pl.Series]:
    height = len(raw.lines)
    if not raw.columns:
        nothing = pl.repeat(False, height, dtype=pl.Boolean, eager=True)
        return pl.DataFrame({"request_id": pl.Series([None] * height, dtype=pl.String)}), nothing
    frame = pl.DataFrame([series.alias(name) for name, series in raw.columns.items()])
    frame, absent = _owned(frame)
    found = values.typed(frame, _ALL, context.incident.logs, parsed.bad_values)
    typed = _redacted(found, raw.lines, context).with_columns(_unread(found, absent))
    return _consistent(typed, parsed), found.naive


def _owned(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.Expr]:
    """Take out what stands for an owner that no key holds; say where that is."""
    owner = pl.col("slot_owner")
    if "slot_owner" not in frame.columns:
        return frame, pl.lit(value=True)
    if frame.schema["slot_owner"] != pl.String:
        return frame, pl.lit(value=False)
    absent = frame.select((owner == ABSENT).fill_null(value=False)).to_series()
    return frame.with_columns(pl.when(~absent).then(owner).alias("slot_owner")), pl.lit(absent)


def _unread(found: values.Typed, absent: pl.Expr) -> list[pl.Expr]:
    """Say whose slot's owner or generation is not known, which nothing logged as nobody's is.

    An owner that is null is evidence, but not one that could not be read, or no key holds.
    """
    seen = [name for name in schema.GENERATIONS if name in found.frame.columns]
    if not seen and "slot_owner" not in found.frame.columns:
        return []
    lost = {name: pl.lit(found.lost[name]) for name in found.lost.columns}
    no = pl.lit(value=False)
    generation = pl.any_horizontal(no, *(lost[name] for name in seen))
    logged = pl.any_horizontal(no, *(pl.col(name).is_not_null() for name in seen))
    owner = lost.get("slot_owner", no) | (absent & (logged | generation))
    return [owner.alias(schema.OWNER_UNREAD), generation.alias(schema.GENERATION_UNREAD)]


_LENGTHS = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")


def _consistent(frame: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Take no prompt for known that has no token, or is shorter than what of it was cached.

    Every prompt has a token: a gateway that writes none did not count it, as where it failed, and
    its zero of an answer is as much of a count.
    """
    counted = [name for name in _LENGTHS if name in frame.columns]
    if {"prompt_tokens", "completion_tokens"} <= set(frame.columns):
        uncounted = (pl.col("prompt_tokens") <= 0) & (pl.col("completion_tokens") == 0)
        answer = pl.when(uncounted.fill_null(value=False)).then(None).otherwise("completion_tokens")
        frame = frame.with_columns(completion_tokens=answer)
    frame = frame.with_columns(pl.when(pl.col(name) > 0).then(name).alias(name) for name in counted)
    if not {"prompt_tokens", "cached_tokens"} <= set(frame.columns):
        return frame
    odd = (frame["prompt_tokens"] < frame["cached_tokens"]).fill_null(value=False)
    if not odd.any():
        return frame
    parsed.bad_values["prompt_tokens"] += int(odd.sum())
    return frame.with_columns(prompt_tokens=pl.when(~pl.lit(odd)).then("prompt_tokens"))


def _redacted(found: values.Typed, lines: pl.Series, context: Context) -> pl.DataFrame:
    """Name a row by its place where its own identifier may hold more than an identifier."""
    frame = found.frame
    for name in _NAMED_BY_LINE:
        if name in found.lost.columns and found.lost[name].any():
            names = [f"redacted:{context.where(line)}" for line in lines.to_list()]
            stand_in = pl.Series(name, names, dtype=pl.String)
            frame = frame.with_columns(stand_in.zip_with(found.lost[name], frame[name]))
    return frame


def _kind(frame: pl.DataFrame) -> pl.Expr:
    """Tell request, capacity and marker records apart; ``empty`` holds no named value."""

    def has(name: str) -> pl.Expr:
        return pl.col(name).is_not_null() if name in frame.columns else pl.lit(value=False)

    def any_of(columns: tuple[Column, ...]) -> pl.Expr:
        return pl.any_horizontal([has(column.name) for column in columns])

    # Without its pool or marker (unreadable, or left out) a record is still no request.
    return (
        pl.when(has("pool_tokens"))
        .then(pl.lit("capacity"))
        .when(has("marker"))
        .then(pl.lit("marker"))
        .when(any_of(schema.REQUEST_COLUMNS))
        .then(pl.lit("request"))
        .when(any_of(schema.CAPACITY_COLUMNS))
        .then(pl.lit("capacity"))
        .when(any_of(schema.MARKER_COLUMNS))
        .then(pl.lit("marker"))
        .otherwise(pl.lit("empty"))
    )


_UNREADABLE = {
    "naive": "time without a zone; state it as [logs] timezone",
    "empty": "no value under a known column name",
}


def _ledger(raw: Raw, state: pl.Series, parsed: Parsed) -> None:
    rows = pl.DataFrame({"line": raw.lines, "state": state})
    rows = rows.with_columns(
        offset=raw.offsets if raw.offsets is not None else pl.lit(None, dtype=pl.Int64)
    ).filter(pl.col("state").is_in(list(_UNREADABLE)))
    for line, state_name, offset in rows.select("line", "state", "offset").iter_rows():
        parsed.unread.append(Unread(line, offset, _UNREADABLE[state_name]))


def _own_strings(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy the texts: views would keep the buffers of the whole batch, content included."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.rechunk().with_columns(values.copied(name) for name in texts)
