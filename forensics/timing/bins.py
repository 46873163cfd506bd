"""Bins of positive numbers by the upper bits of their 32-bit float: exact to count and to merge.

The bits of a positive float grow with its value, so that cutting the lower ones off gives
bins of equal width in octaves, the same on every machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]
_MANTISSA = 23


def bin_of(value: pl.Expr, bits: int) -> pl.Expr:
    """Return the number of the bin that holds a positive value, ``2 ** bits`` bins an octave."""
    return value.cast(pl.Float32).reinterpret(dtype=pl.UInt32).cast(pl.Int64) // _width(bits)


def counted(keys: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys, sorted, and how often each is there: faster than any grouping."""
    return np.unique(keys, return_counts=True)


def low_of(number: pl.Expr, bits: int) -> pl.Expr:
    """Return the lower edge of a bin, which is in it."""
    return _edge(number, bits).cast(pl.Float64)


def middle_of(number: pl.Expr, bits: int) -> pl.Expr:
    """Return the middle of a bin."""
    return (low_of(number, bits) + low_of(number + 1, bits)) / 2


def _edge(number: pl.Expr, bits: int) -> pl.Expr:
    return (number * _width(bits)).cast(pl.UInt32).reinterpret(dtype=pl.Float32)


def _width(bits: int) -> int:
    return int(2 ** (_MANTISSA - bits))
