"""Names that stand where no log gives an id: they are the package's own, and nobody's."""

from __future__ import annotations

import polars as pl

from forensics.duplicates import UNNAMED

REDACTED = "redacted:"
"""Prefix of what stands for an id that could not be kept; a file and a line come after it."""


def stands_in(name: str) -> pl.Expr:
    """Say which ids of a column are such names: they tell of a file, or are made from values."""
    text = pl.col(name)
    return text.str.starts_with(REDACTED) | text.str.starts_with(UNNAMED)
