"""Texts that look like a key, a token or a password: they are no identifiers and no names.

Tenants are often known by the alias of an API key, and some logs hold the key itself.
A text is judged by the forms that issuers give their keys. Words that merely begin like
one (``sk-telecom-north-2``) are let through.
"""

from __future__ import annotations

import polars as pl

from forensics.sources.keyforms import PATTERN, WORDS


def looks_secret(text: pl.Expr) -> pl.Expr:
    """Say which texts hold what looks like a secret."""
    return text.str.contains(PATTERN) & ~text.str.contains(WORDS)


def label(column: str) -> str:
    """Return the name under which withheld values of a column are counted."""
    return f"{column} (looks like a secret)"
