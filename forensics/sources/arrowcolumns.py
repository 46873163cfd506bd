"""Arrow columns of any type as the few types that values are read from.

Arrays come out of files that may be damaged or made by hand, so nothing is taken on
trust: texts are checked for UTF-8 and times for their range before Polars sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl
import pyarrow as pa
from pyarrow import types
from pyarrow.lib import ArrowException

from forensics.sources.values import NOT_A_VALUE

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_NO_TIME = -(2**63)
"""A time that is out of every range, where a unit would carry the number beyond 64 bits."""


def as_series(array: pa.Array) -> pl.Series:
    """Return an array as text, number, flag or time; what is none of these fits no type.

    Raises:
        ArrowException: the array's buffers do not fit together.
    """
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array.type, pa.UuidType):
        return _texts(None if value is None else str(value) for value in array.to_pylist())
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    for fits, convert in _CONVERT:
        if fits(array.type):
            return convert(array)
    return _texts(NOT_A_VALUE if there else None for there in array.is_valid().to_pylist())


def _texts(values: Iterable[str | None]) -> pl.Series:
    return pl.Series(list(values), dtype=pl.String)


def _number(array: pa.Array) -> pl.Series:
    if types.is_float16(array.type) or types.is_decimal(array.type):
        array = array.cast(pa.float64())
    array.validate(full=True)
    return pl.Series(array)


def _text(array: pa.Array) -> pl.Series:
    try:
        text = array.cast(pa.large_string())
        text.validate(full=True)
    except ArrowException:
        data = array.cast(pa.large_binary())
        data.validate(full=True)
        return _texts(_utf8(value) for value in data.to_pylist())
    return pl.Series(text)


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return NOT_A_VALUE


def _time(array: pa.Array) -> pl.Series:
    """Return a timestamp in microseconds, of UTC where it has any zone."""
    number = _number(array.view(pa.int64()))
    if array.type.unit == "ns":
        micros = number // 1_000
    else:
        factor = _MICROS[array.type.unit]
        inside = number.is_between(-(2**62) // factor, 2**62 // factor)
        micros = (number * factor).zip_with(inside.fill_null(value=True), _far(number))
    return micros.cast(pl.Datetime("us", None if array.type.tz is None else "UTC"))


def _far(number: pl.Series) -> pl.Series:
    return pl.repeat(_NO_TIME, len(number), dtype=pl.Int64, eager=True)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_null(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
    )


_CONVERT: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pl.Series]], ...] = (
    (_is_text, _text),
    (_is_number, _number),
    (types.is_timestamp, _time),
)
