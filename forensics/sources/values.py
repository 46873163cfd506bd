"""Raw values of any reader to the types of the schema, and a count of those that did not fit.

One place decides what counts as a number, a time or an identifier, whatever
format the value came from. A value that does not fit becomes null and is
counted under its column; it is never quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from forensics import enginesettings
from forensics.incident import Logs
from forensics.schema import Column, Kind
from forensics.sources import names, nestedsettings, secrets
from forensics.sources.keyforms import PATTERN
from forensics.sources.times import times, whole_number

LONGEST_ID = 128
NOT_A_VALUE = "\0"
"""Stands for a raw value that is no scalar (an object, an array): fits no type."""
CONTRADICTION = "\0\0"
"""Stands for what a record gives twice, each time another value: fits no type, and no code."""

_UNFIT_FOR_ID = r"[\s\p{Cc}]"
_ROUNDED = r"^[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?[0-9]+[eE]\+[0-9]+$"
"""A hand-off's number that went through a float: of 63 bits it lost some, and joins wrongly."""
_HAND_OFF = "transfer_id"
_TRUE = ("true", "1", "t", "yes")
_FALSE = ("false", "0", "f", "no")


@dataclass(frozen=True)
class Typed:
    """Columns after typing, which rows have a time without zone, and which values were lost.

    ``lost`` has one boolean column for each: the raw value was there and could not be read.
    """

    frame: pl.DataFrame
    naive: pl.Series
    lost: pl.DataFrame


def typed(raw: pl.DataFrame, columns: Mapping[str, Column], logs: Logs, bad: Counter[str]) -> Typed:
    """Return raw columns as the types of the schema; count in ``bad`` what did not fit.

    Raw columns may hold text, integers, floats, booleans or datetimes. Empty text is
    an absent value. Times come back as microseconds of UTC; rows without a zone
    are read in ``logs.timezone`` when that is set and marked naive otherwise. What looks
    like a secret is counted apart from what is no identifier or name for other reasons.
    """
    raw = raw.select(flattened(raw[name]) for name in raw.columns)
    timed = {name: times(raw[name], logs) for name in raw.columns if columns[name].kind == "time"}
    plain = [name for name in raw.columns if name not in timed]
    naive = pl.repeat(False, raw.height, dtype=pl.Boolean, eager=True)
    for moments in timed.values():
        naive = naive | moments.naive
    frame = _cast(raw, {name: columns[name] for name in plain}).with_columns(
        moments.values.alias(name) for name, moments in timed.items()
    )
    lost = frame.select(
        (pl.col(_there(name)) & _none(name, columns[name])).alias(name) for name in raw.columns
    )
    rejected = _count_lost(raw, lost, columns, bad)
    # A text that is null or a code by now is still held by the memory of its column.
    judged = [name for name in plain if name in rejected or columns[name].kind == "code"]
    texts = [copied(name) for name in judged if frame.schema[name] == pl.String]
    frame = frame.select(*plain, *timed).rechunk().with_columns(texts)
    return Typed(frame, naive, lost)


def copied(name: str) -> pl.Expr:
    """Return a column's texts in memory that holds nothing else."""
    return pl.concat_str(pl.col(name), pl.lit("")).alias(name)


def _none(name: str, column: Column) -> pl.Expr:
    """Say which values are none: of settings, those of which some cannot be read."""
    if column.kind != "config":
        return pl.col(name).is_null()
    odd = pl.col(name).str.contains(f"={enginesettings.UNREADABLE}", literal=True)
    return odd.fill_null(value=False)


def _there(name: str) -> str:
    return f"{name}?"


def _cast(raw: pl.DataFrame, columns: Mapping[str, Column]) -> pl.DataFrame:
    """Return the columns as their types, and which values of any column were there at all."""
    doubtful = _doubtful(raw, columns)
    casts = []
    for name, column in columns.items():
        cast = _text if name in doubtful and not doubtful[name] else _CASTS[column.kind]
        casts.append(cast(name, raw.schema[name], column).alias(name))
    there = [_present(name, dtype).alias(_there(name)) for name, dtype in raw.schema.items()]
    return raw.lazy().select(*casts, *there).collect()


def _doubtful(raw: pl.DataFrame, columns: Mapping[str, Column]) -> dict[str, bool]:
    """Say which columns of texts need a look at each value: most have no odd one at all."""
    doubts = [
        (doubtful(pl.col(name), column.kind) | _maybe_rounded(name)).any().alias(name)
        for name, column in columns.items()
        if column.kind in _DOUBTFUL and raw.schema[name] == pl.String
    ]
    return raw.lazy().select(doubts).collect().row(0, named=True) if doubts else {}


def _count_lost(
    raw: pl.DataFrame, lost: pl.DataFrame, columns: Mapping[str, Column], bad: Counter[str]
) -> set[str]:
    """Count the values that were lost by their column; return those columns."""
    sums = lost.sum().row(0, named=True) if lost.width else {}
    rejected = {name for name, count in sums.items() if count}
    for name in sorted(rejected):
        if columns[name].kind in ("id", "name", "model", "config"):
            count_rejected(raw[name].filter(lost[name]), bad)
        else:
            bad[name] += sums[name]
    return rejected


def count_rejected(texts: pl.Series, bad: Counter[str]) -> None:
    """Count texts that were no identifiers or names under their column, secrets apart."""
    name = texts.name
    frame = texts.cast(pl.String).to_frame()
    hidden = frame.select(secrets.looks_secret(pl.col(name)).sum()).item()
    counts = {name: len(texts) - hidden, secrets.label(name): hidden}
    bad.update({label: count for label, count in counts.items() if count})


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


def _text(name: str, dtype: pl.DataType, _column: Column | None = None) -> pl.Expr:
    value = pl.col(name)
    if dtype.is_float():
        value = whole_number(value)
    if dtype != pl.String:
        value = value.cast(pl.String)
    return pl.when(value.str.len_bytes() > 0).then(value)


def _count(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    value = pl.col(name)
    if dtype == pl.Boolean or dtype.is_temporal():
        return pl.lit(None, dtype=pl.Int64)
    if dtype == pl.String:
        digits = value.str.strip_chars(" ").str.extract(r"^(\d{1,19})(?:\.0*)?$", 1)
        number = digits.cast(pl.Int64, strict=False)
    elif dtype.is_float():
        number = whole_number(value)
    else:
        number = value.cast(pl.Int64, strict=False)
    return pl.when(number >= 0).then(number)


def _measure(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    if dtype == pl.Boolean or dtype.is_temporal():
        return pl.lit(None, dtype=pl.Float64)
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def _flag(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.col(name)
    text = _text(name, dtype).str.to_lowercase()
    yes, no = pl.lit(value=True), pl.lit(value=False)
    return pl.when(text.is_in(_TRUE)).then(yes).when(text.is_in(_FALSE)).then(no)


def _code(name: str, dtype: pl.DataType, column: Column) -> pl.Expr:
    text = _text(name, dtype).str.to_lowercase().replace(CONTRADICTION, None)
    rest = pl.lit("other" if "other" in column.codes else None, dtype=pl.String)
    return pl.when(text.is_in(column.codes)).then(text).when(text.is_not_null()).then(rest)


def unfit_id(text: pl.Expr) -> pl.Expr:
    """Say which texts are no identifiers: white space, control characters, too long, a secret."""
    odd = text.str.contains(_UNFIT_FOR_ID) | (text.str.len_chars() > LONGEST_ID)
    return odd | secrets.looks_secret(text)


def unfit_name(text: pl.Expr) -> pl.Expr:
    """Say which texts are no names: more than a label, or a secret."""
    return names.unfit(text) | secrets.looks_secret(text)


def unfit_model(text: pl.Expr) -> pl.Expr:
    """Say which texts are no models: words that are not written as a name is, or a secret."""
    return names.unfit(text, any_words=1) | secrets.looks_secret(text)


def _identifier(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    text = _text(name, dtype)
    unfit = unfit_id(text)
    if name == _HAND_OFF:
        unfit |= text.str.contains(_ROUNDED)
    return pl.when(~unfit).then(text)


def _maybe_rounded(name: str) -> pl.Expr:
    """Say which texts may be :data:`_ROUNDED`; quicker to ask, and never misses one."""
    if name != _HAND_OFF:
        return pl.lit(value=False)
    signs = [pl.col(name).str.contains(sign, literal=True) for sign in ".+"]
    return pl.any_horizontal(signs).fill_null(value=False)


def _name(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    if dtype == pl.Boolean:
        return pl.lit(None, dtype=pl.String)
    text = _text(name, dtype)
    return pl.when(~unfit_name(text)).then(text)


def _model(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    text = _text(name, dtype)
    return pl.when(~unfit_model(text)).then(text)


def _config(name: str, dtype: pl.DataType, _column: Column) -> pl.Expr:
    """Keep the settings that move a pool, sorted; drop every other key."""
    told = nestedsettings.of_text
    text = _text(name, dtype).map_elements(told, return_dtype=pl.String, skip_nulls=True)
    hidden = secrets.looks_secret(text)
    return pl.when(hidden).then(pl.lit(enginesettings.UNKNOWN)).otherwise(text)


_CASTS = {
    "count": _count,
    "measure": _measure,
    "flag": _flag,
    "code": _code,
    "id": _identifier,
    "name": _name,
    "model": _model,
    "config": _config,
}
_MAYBE_NO_NAME = (f"{names.MAYBE_UNFIT}|{PATTERN}", names.LONGEST_NAME)
_DOUBTFUL: dict[Kind, tuple[str, int]] = {
    "id": (f"{_UNFIT_FOR_ID}|{PATTERN}", LONGEST_ID),
    "name": _MAYBE_NO_NAME,
    "model": _MAYBE_NO_NAME,
}


def doubtful(text: pl.Expr, kind: Kind) -> pl.Expr:
    """Say which texts may be no identifier or no name; quicker to ask, and never misses one."""
    pattern, longest = _DOUBTFUL[kind]
    return (text.str.contains(pattern) | (text.str.len_bytes() > longest)).fill_null(value=False)
