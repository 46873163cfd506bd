"""Bins of positive numbers by the upper bits of their 32-bit float: exact to count and to merge.

The bits of a positive float grow with its value, so that cutting the lower ones off gives
bins of equal width in octaves, the same on every machine.
"""

from __future__ import annotations

import polars as pl

_MANTISSA = 23


def bin_of(value: pl.Expr, bits: int) -> pl.Expr:
    """Return the number of the bin that holds a positive value, ``2 ** bits`` bins an octave."""
    return value.cast(pl.Float32).reinterpret(dtype=pl.UInt32).cast(pl.Int64) // _width(bits)


def middle_of(number: pl.Expr, bits: int) -> pl.Expr:
    """Return the middle of a bin."""
    low, high = (
        ((number + step) * _width(bits)).cast(pl.UInt32).reinterpret(dtype=pl.Float32)
        for step in (0, 1)
    )
    return (low.cast(pl.Float64) + high.cast(pl.Float64)) / 2


def _width(bits: int) -> int:
    return int(2 ** (_MANTISSA - bits))
