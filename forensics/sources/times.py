"""Times of any log to microseconds of UTC: RFC 3339 and its relatives, or epoch integers."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from forensics.incident import Logs

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_RFC3339 = (
    r"^\s*(?<date>\d{4}-\d{2}-\d{2})[Tt ](?<clock>\d{2}:\d{2}:\d{2})"
    r"(?:[.,](?<fraction>\d{1,12}))?\s?(?<zone>[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d|UTC)?\s*$"
)
_USUAL = re.compile(
    r"\d{4}-\d\d-\d\d(?P<t>[T ])\d\d:\d\d:\d\d(?P<fraction>\.(?:\d{9}|\d{6}|\d{3}))?"
    r"(?P<zone>Z|\+00:00|)",
    re.ASCII,
)
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_370_764_799_999_999
"""Years 1 to 9998: beyond them no calendar of ours goes, and no log is from there."""


class Times(NamedTuple):
    """Microseconds of UTC, and which of them are of a wall clock of unknown zone."""

    values: pl.Series
    naive: pl.Series


def times(raw: pl.Series, logs: Logs) -> Times:
    """Return what a column of texts, numbers or datetimes says; null where it is no time."""
    if raw.dtype == pl.String:
        values, naive = _from_text(raw, logs)
    elif isinstance(raw.dtype, pl.Datetime):
        values, naive = _from_datetime(raw)
    else:
        values, naive = _from_number(raw, logs), _none(raw)
    known = pl.col("x").is_between(_FIRST_TIME, _LAST_TIME)
    values = values.to_frame("x").select(pl.when(known).then("x").alias(raw.name)).to_series()
    if logs.timezone is not None and naive.any():
        values = _in_zone(values, logs.timezone).zip_with(naive, values)
        naive = _none(raw)
    return Times(values, naive & values.is_not_null())


def in_utc(texts: pl.Series) -> pl.Series | None:
    """Return microseconds of texts that name their zone; None where none of them does."""
    found = times(texts, Logs())
    moments = pl.DataFrame({"at": found.values, "naive": found.naive})
    known = moments.select(pl.when(~pl.col("naive")).then("at")).to_series()
    return known if known.null_count() < len(known) else None


def _none(raw: pl.Series) -> pl.Series:
    return pl.repeat(False, len(raw), dtype=pl.Boolean, eager=True)


class _Shape(NamedTuple):
    """A way to write a time with the same number of digits each time."""

    pattern: str
    format: str
    naive: bool


def _shape(text: str | None) -> _Shape | None:
    """Return the shape of a text, where times of that shape can be parsed in one go."""
    match = _USUAL.fullmatch(text or "")
    if match is None:
        return None
    digits = len(match["fraction"] or ".") - 1
    zone = match["zone"]
    # A format alone would take blanks and signs for digits.
    pattern = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{match['t']}[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}"
    pattern += (rf"\.[0-9]{{{digits}}}" if digits else "") + re.escape(zone) + "$"
    # Polars parses a fixed number of digits (".%6f") five times as fast as any ("%.f").
    fraction = f".%{digits}f" if digits else ""
    return _Shape(pattern, f"%Y-%m-%d{match['t']}%H:%M:%S{fraction}{zone}", not zone)


def _from_text(raw: pl.Series, logs: Logs) -> Times:
    """Parse what is written as the first one is in one go, and the rest piece by piece."""
    there = raw.str.len_bytes() > 0
    first = there.arg_max()
    shape = None if first is None else _shape(raw[first])
    if shape is None:
        return _from_parts(raw, logs)
    text = pl.col("x")
    parsed = text.str.to_datetime(shape.format, time_unit="us", strict=False, cache=False)
    usual = pl.when(text.str.contains(shape.pattern)).then(parsed.to_physical())
    values = raw.to_frame("x").select(usual.alias(raw.name)).to_series()
    naive = values.is_not_null() if shape.naive else _none(raw)
    rest = there.fill_null(value=False) & values.is_null()
    if not rest.any():
        return Times(values, naive)
    other = _from_parts(raw.filter(rest), logs)
    at = rest.arg_true()
    return Times(values.scatter(at, other.values), naive.scatter(at, other.naive))


def _from_parts(raw: pl.Series, logs: Logs) -> Times:
    parts = raw.str.extract_groups(_RFC3339).struct.unnest()
    clock = (parts["date"] + " " + parts["clock"]).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    fraction = parts["fraction"].str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    local = clock.to_physical() + fraction.fill_null(0)
    zone = parts["zone"]
    sign = pl.select(pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)).to_series()
    digits = zone.str.replace(":", "", literal=True)
    hours = digits.str.extract(r"^[+-](\d{2})", 1).cast(pl.Int64)
    minutes = digits.str.extract(r"^[+-]\d{2}(\d{2})$", 1).cast(pl.Int64)
    shift = (sign * (hours * 60 + minutes) * 60_000_000).fill_null(0)
    naive = (zone.is_null() & local.is_not_null()).fill_null(value=False)
    number = raw.str.extract(r"^(\d{1,19})$", 1).cast(pl.Int64, strict=False)
    return Times((local - shift).fill_null(_from_number(number, logs)), naive)


def _from_datetime(raw: pl.Series) -> Times:
    has_zone = isinstance(raw.dtype, pl.Datetime) and raw.dtype.time_zone is not None
    values = raw.dt.convert_time_zone("UTC") if has_zone else raw
    values = values.dt.cast_time_unit("us").to_physical()
    return Times(values, _none(raw) if has_zone else raw.is_not_null())


def _from_number(raw: pl.Series, logs: Logs) -> pl.Series:
    """Epoch integers need a stated unit: 1,787,886,840 could be seconds or milliseconds."""
    if logs.epoch_unit is None or not (raw.dtype.is_integer() or raw.dtype.is_float()):
        return pl.Series(raw.name, [None] * len(raw), dtype=pl.Int64)
    number = pl.col("x")
    whole = whole_number(number) if raw.dtype.is_float() else number.cast(pl.Int64, strict=False)
    if logs.epoch_unit == "ns":
        micros = whole // 1_000
    else:
        unit = _MICROS[logs.epoch_unit]
        micros = pl.when(whole <= 2**62 // unit).then(whole * unit)
    return raw.to_frame("x").select(micros).to_series()


def whole_number(value: pl.Expr) -> pl.Expr:
    """Return floats that stand for whole numbers as such; others are null."""
    return pl.when((value == value.floor()) & (value.abs() < 2**53)).then(
        value.cast(pl.Int64, strict=False)
    )


def _in_zone(values: pl.Series, zone: str) -> pl.Series:
    """Read naive microseconds as wall-clock time of a zone; the earlier one when doubled."""
    return (
        values.cast(pl.Datetime("us"))
        .dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        .dt.convert_time_zone("UTC")
        .to_physical()
    )
