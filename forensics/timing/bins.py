"""Bins of positive numbers by the upper bits of their 32-bit float: exact to count and to merge.

The bits of a positive float grow with its value, so that cutting the lower ones off gives
bins of equal width in octaves, the same on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]
_MANTISSA = 23


def bin_of(value: pl.Expr, bits: int) -> pl.Expr:
    """Return the number of the bin that holds a positive value, ``2 ** bits`` bins an octave."""
    return value.cast(pl.Float32).reinterpret(dtype=pl.UInt32).cast(pl.Int64) // _width(bits)


def bins_of(values: npt.NDArray[Any], bits: int) -> Integers:
    """Return the same as :func:`bin_of` of an array."""
    upper: npt.NDArray[np.int32] = values.astype(np.float32).view(np.int32) >> _MANTISSA - bits
    return upper.astype(np.int64)


ONE = int(bins_of(np.ones(1), 0)[0])
"""The bin of 1 with one bin an octave: the lowest of whole numbers."""


def low_of(number: pl.Expr, bits: int) -> pl.Expr:
    """Return the lower edge of a bin, which is in it."""
    return _edge(number, bits).cast(pl.Float64)


def middle_of(number: pl.Expr, bits: int) -> pl.Expr:
    """Return the middle of a bin."""
    return (low_of(number, bits) + low_of(number + 1, bits)) / 2


def middles_of(numbers: Integers, bits: int) -> npt.NDArray[np.float64]:
    """Return the same as :func:`middle_of` of an array."""
    return (_edges(numbers, bits) + _edges(numbers + 1, bits)) / 2


def _edge(number: pl.Expr, bits: int) -> pl.Expr:
    return (number * _width(bits)).cast(pl.UInt32).reinterpret(dtype=pl.Float32)


def _edges(numbers: Integers, bits: int) -> npt.NDArray[np.float64]:
    return (numbers * _width(bits)).astype(np.uint32).view(np.float32).astype(np.float64)


def _width(bits: int) -> int:
    return int(2 ** (_MANTISSA - bits))
