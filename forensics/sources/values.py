"""Raw values of any reader to the types of the schema, and a count of those that did not fit.

One place decides what counts as a number, a time or an identifier, whatever
format the value came from. A value that does not fit becomes null and is
counted under its column; it is never quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from forensics.incident import Logs
from forensics.schema import CONFIG_KEYS, Column

LONGEST_ID = 128
LONGEST_NAME = 256
NOT_A_VALUE = "\0"
"""Stands for a raw value that is no scalar (an object, an array): fits no type."""

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}
_RFC3339 = (
    r"^\s*(?<date>\d{4}-\d{2}-\d{2})[Tt ](?<clock>\d{2}:\d{2}:\d{2})"
    r"(?:[.,](?<fraction>\d{1,12}))?\s?(?<zone>[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d|UTC)?\s*$"
)
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_370_764_799_999_999
"""Years 1 to 9998: beyond them no calendar of ours goes, and no log is from there."""
_UNFIT_FOR_ID = r"[\s\p{Cc}]"
_SETTING = re.compile(r"[A-Za-z0-9_.:+-]{1,48}")
_TRUE = ("true", "1", "t", "yes")
_FALSE = ("false", "0", "f", "no")


@dataclass(frozen=True)
class Typed:
    """Columns after typing, which rows have a time without zone, and unfit identifiers.

    ``unfit`` has one boolean column for each column of kind ``id``: the raw value was
    there and is no identifier.
    """

    frame: pl.DataFrame
    naive: pl.Series
    unfit: pl.DataFrame


def typed(raw: pl.DataFrame, columns: Mapping[str, Column], logs: Logs, bad: Counter[str]) -> Typed:
    """Return raw columns as the types of the schema; count in ``bad`` what did not fit.

    Raw columns may hold text, integers, floats, booleans or datetimes. Empty text is
    an absent value. Times come back as microseconds of UTC; rows without a zone
    are read in ``logs.timezone`` when that is set and marked naive otherwise.
    """
    raw = raw.select(flattened(raw[name]) for name in raw.columns)
    plain = [name for name in raw.columns if columns[name].kind != "time"]
    frame = (
        raw.lazy()
        .select(
            *(_CASTS[columns[name].kind](name, raw.schema[name], columns[name]) for name in plain),
            *(_present(name, raw.schema[name]).alias(f"{name}?") for name in plain),
        )
        .collect()
    )
    lost = frame.select((pl.col(f"{name}?") & pl.col(name).is_null()).alias(name) for name in plain)
    naive = pl.repeat(False, raw.height, dtype=pl.Boolean, eager=True)
    times = []
    for name in raw.columns:
        if columns[name].kind == "time":
            values, without_zone, lost_times = _time(raw[name], logs)
            times.append(values.alias(name))
            naive = naive | without_zone
            lost = lost.with_columns(lost_times.alias(name))
    for name, count in zip(lost.columns, lost.sum().row(0) if lost.width else (), strict=True):
        if count:
            bad[name] += count
    ids = [name for name in plain if columns[name].kind == "id"]
    return Typed(frame.select(plain).hstack(times), naive, lost.select(ids))


def first_value(columns: Sequence[pl.Series]) -> pl.Series:
    """Return the first text of each row that is a value at all; texts only."""
    named = [flattened(series).cast(pl.String).alias(f"{at}") for at, series in enumerate(columns)]
    frame = pl.DataFrame(named)
    there = [
        pl.when(pl.col(name).is_not_null() & ~pl.col(name).is_in(["", NOT_A_VALUE])).then(name)
        for name in frame.columns
    ]
    return frame.select(pl.coalesce(*there, *frame.columns).alias("first")).to_series()


def flattened(raw: pl.Series) -> pl.Series:
    """Return a column of any type as text, number, flag or time; an object fits no type."""
    if raw.dtype in (pl.Categorical, pl.Enum):
        return raw.cast(pl.String)
    if raw.dtype == pl.Binary:
        return pl.Series(raw.name, [_utf8(value) for value in raw], dtype=pl.String)
    if isinstance(raw.dtype, pl.Decimal):
        return raw.cast(pl.Float64)
    if raw.dtype.is_nested():
        return pl.Series(raw.name, [NOT_A_VALUE] * len(raw), dtype=pl.String)
    return raw


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return NOT_A_VALUE


def _present(name: str, dtype: pl.DataType) -> pl.Expr:
    """Say which values are there at all; empty text and NaN are not."""
    value = pl.col(name)
    if dtype == pl.String:
        return (value.str.len_bytes() > 0).fill_null(value=False)
    if dtype.is_float():
        return value.is_not_nan().fill_null(value=False)
    return value.is_not_null()


def _text(name: str, dtype: pl.DataType) -> pl.Expr:
    value = pl.col(name)
    if dtype.is_float():
        value = _whole(value)
    if dtype != pl.String:
        value = value.cast(pl.String)
    return pl.when(value.str.len_bytes() > 0).then(value)


def _whole(value: pl.Expr) -> pl.Expr:
    return pl.when((value == value.floor()) & (value.abs() < 2**53)).then(
        value.cast(pl.Int64, strict=False)
    )


def _count(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    value = pl.col(name)
    if dtype == pl.Boolean or dtype.is_temporal():
        return pl.lit(None, dtype=pl.Int64).alias(name)
    if dtype == pl.String:
        digits = value.str.strip_chars(" ").str.extract(r"^(\d{1,19})(?:\.0*)?$", 1)
        number = digits.cast(pl.Int64, strict=False)
    elif dtype.is_float():
        number = _whole(value)
    else:
        number = value.cast(pl.Int64, strict=False)
    return pl.when(number >= 0).then(number).alias(name)


def _measure(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    if dtype == pl.Boolean or dtype.is_temporal():
        return pl.lit(None, dtype=pl.Float64).alias(name)
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value).alias(name)


def _flag(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.col(name)
    text = _text(name, dtype).str.to_lowercase()
    yes, no = pl.lit(value=True), pl.lit(value=False)
    return pl.when(text.is_in(_TRUE)).then(yes).when(text.is_in(_FALSE)).then(no).alias(name)


def _code(name: str, dtype: pl.DataType, column: Column) -> pl.Expr:
    text = _text(name, dtype).str.to_lowercase()
    rest = pl.lit("other" if "other" in column.codes else None, dtype=pl.String)
    return (
        pl.when(text.is_in(column.codes)).then(text).when(text.is_not_null()).then(rest).alias(name)
    )


def unfit_id(text: pl.Expr) -> pl.Expr:
    """Say which texts are no identifiers: white space, control characters, or too long."""
    return text.str.contains(_UNFIT_FOR_ID) | (text.str.len_chars() > LONGEST_ID)


def _identifier(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    text = _text(name, dtype)
    return pl.when(~unfit_id(text)).then(text).alias(name)


def _name(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    text = _text(name, dtype)
    unfit = (text.str.len_chars() > LONGEST_NAME) | text.str.contains(NOT_A_VALUE, literal=True)
    return pl.when(~unfit).then(text).alias(name)


def _config(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    return (
        _text(name, dtype)
        .map_elements(config_text, return_dtype=pl.String, skip_nulls=True)
        .alias(name)
    )


def config_text(text: str) -> str | None:
    """Keep the settings that move a pool, sorted; drop every other key and odd values."""
    pairs = (part.partition("=") for part in text.split(";"))
    kept = sorted(
        f"{key}={value}"
        for key, _, value in ((a.strip(), b, c.strip()) for a, b, c in pairs)
        if key in CONFIG_KEYS and _SETTING.fullmatch(value)
    )
    return ";".join(kept) or None


_CASTS = {
    "count": _count,
    "measure": _measure,
    "flag": _flag,
    "code": _code,
    "id": _identifier,
    "name": _name,
    "config": _config,
}


def _time(raw: pl.Series, logs: Logs) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return microseconds, which rows have no zone, and which values were no time."""
    if raw.dtype == pl.String:
        values, naive = _time_from_text(raw, logs)
    elif raw.dtype.is_temporal():
        values, naive = _time_from_datetime(raw)
    else:
        values, naive = _time_from_number(raw, logs), _none(raw)
    known = pl.col("x").is_between(_FIRST_TIME, _LAST_TIME)
    values = values.to_frame("x").select(pl.when(known).then("x").alias("x")).to_series()
    if logs.timezone is not None and naive.any():
        values = _in_zone(values, logs.timezone).zip_with(naive, values)
        naive = _none(raw)
    present = raw.to_frame("x").select(_present("x", raw.dtype)).to_series()
    return values, naive & values.is_not_null(), present & values.is_null()


def _none(raw: pl.Series) -> pl.Series:
    return pl.repeat(False, len(raw), dtype=pl.Boolean, eager=True)


def _time_from_text(raw: pl.Series, logs: Logs) -> tuple[pl.Series, pl.Series]:
    """Parse the usual form in one go and the rest, if any, piece by piece."""
    usual = raw.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)
    values = usual.to_physical()
    rest = raw.is_not_null() & values.is_null()
    if not rest.any():
        return values, _none(raw)
    other, naive = _time_from_parts(raw.filter(rest), logs)
    at = rest.arg_true()
    return values.scatter(at, other), _none(raw).scatter(at, naive)


def _time_from_parts(raw: pl.Series, logs: Logs) -> tuple[pl.Series, pl.Series]:
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
    values = local - shift
    numbers = _time_from_number(
        raw.str.extract(r"^(\d{1,19})$", 1).cast(pl.Int64, strict=False), logs
    )
    return values.fill_null(numbers), naive


def _time_from_datetime(raw: pl.Series) -> tuple[pl.Series, pl.Series]:
    if isinstance(raw.dtype, pl.Datetime):
        has_zone = raw.dtype.time_zone is not None
        values = raw.dt.convert_time_zone("UTC") if has_zone else raw
        values = values.dt.cast_time_unit("us").to_physical()
        return values, _none(raw) if has_zone else raw.is_not_null()
    return pl.Series(raw.name, [None] * len(raw), dtype=pl.Int64), _none(raw)


def _time_from_number(raw: pl.Series, logs: Logs) -> pl.Series:
    """Epoch integers need a stated unit: 1,787,886,840 could be seconds or milliseconds."""
    if logs.epoch_unit is None or not (raw.dtype.is_integer() or raw.dtype.is_float()):
        return pl.Series(raw.name, [None] * len(raw), dtype=pl.Int64)
    number = pl.col("x")
    whole = _whole(number) if raw.dtype.is_float() else number.cast(pl.Int64, strict=False)
    if logs.epoch_unit == "ns":
        micros = whole // 1_000
    else:
        unit = _MICROS[logs.epoch_unit]
        micros = pl.when(whole <= 2**62 // unit).then(whole * unit)
    return raw.to_frame("x").select(micros).to_series()


def _in_zone(values: pl.Series, zone: str) -> pl.Series:
    """Read naive microseconds as wall-clock time of a zone; the earlier one when doubled."""
    return (
        values.cast(pl.Datetime("us"))
        .dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        .dt.convert_time_zone("UTC")
        .to_physical()
    )
