"""Messages of ``key=value`` pieces between commas, each at its place.

A pattern looks at every byte of a line; to split it and to look at how the pieces begin
costs half as much, and the statistics of requests are most of what a node writes. A line
whose pieces are not just so is left to the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

_MOST = 10**12
_DTYPES: dict[str, pl.DataType] = {
    "": pl.String(),
    "i": pl.String(),
    "d": pl.Int64(),
    "f": pl.Float64(),
}
_DECIMALS = r"\.[0-9]{3}$"
"""A stamp has three: with fewer it was cut off, and is of another time."""
_TEMPLATE = re.compile(r"(?P<before>[^{]*)\{(?P<field>\w*):?(?P<kind>\w?)\}(?P<after>.*)")


@dataclass(frozen=True)
class _Piece:
    """What stands before and after a field, and of which kind it is."""

    before: str
    field: str
    kind: str
    after: str

    def ended(self, text: pl.Expr) -> pl.Expr:
        """Say which texts are whole: at their end stands the unit, or the last of the decimals."""
        return text.str.ends_with(self.after) if self.after else text.str.contains(_DECIMALS)

    def value(self, text: pl.Expr) -> pl.Expr:
        """Return the field; a number that is none is null."""
        text = text.str.strip_prefix(self.before)
        if self.after:
            text = text.str.strip_suffix(self.after)
        value = text.cast(_DTYPES[self.kind], strict=False)
        if self.kind == "d":
            value = pl.when(value.is_between(0, _MOST, closed="left")).then(value)
        if self.kind == "i":
            value = pl.when(text.cast(pl.Int64, strict=False) >= 0).then(text)
        return value.alias(self.field)


class Shape:
    """One order of pieces.

    Args:
        pieces: each as ``key={field}``, ``key={field:d}`` for a count, ``key={field:f}`` for
            a measure, ``key={field:i}`` for an identifier of digits, which stays a text, and
            with ``{}`` where nothing is taken. The last one ends in its unit, or is a stamp.
        given: fields that follow from the shape itself.
    """

    def __init__(self, *pieces: str, **given: str) -> None:
        found = [match for piece in pieces if (match := _TEMPLATE.fullmatch(piece))]
        parts = [_Piece(**match.groupdict()) for match in found]
        begun = [pl.col(str(at)).str.starts_with(p.before) for at, p in enumerate(parts)]
        begun.append(parts[-1].ended(pl.col(str(len(parts) - 1))))
        fields = [p.value(pl.col(str(at))) for at, p in enumerate(parts) if p.field]
        self.count = len(parts)
        self.begun = pl.all_horizontal(pl.col(str(self.count)).is_null(), *begun)
        """Which lines have just these pieces, the last of them whole; numbers are not looked at."""
        self.fields = [*fields, *(pl.lit(value).alias(name) for name, value in given.items())]
        """The fields; a number that is none is null."""


_WHOLE = pl.all_horizontal(pl.all().is_not_null())


def take(rows: pl.DataFrame, shapes: Sequence[Shape]) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Return the rows of each shape, with its fields in place of ``body``, and what is left."""
    most = max(shape.count for shape in shapes)
    split = rows["body"].str.split_exact(", ", most).struct.unnest()
    split.columns = [str(at) for at in range(most + 1)]
    found: list[pl.DataFrame] = []
    for shape in shapes:
        fits = split.select(shape.begun.fill_null(value=False)).to_series()
        if not fits.any():
            continue
        fields = split.select(shape.fields)
        fits &= fields.select(_WHOLE).to_series()
        taken = rows.drop("body").hstack(fields)
        if fits.all():
            return [*found, taken], rows.clear()
        found.append(taken.filter(fits))
        rows, split = rows.filter(~fits), split.filter(~fits)
    return found, rows
