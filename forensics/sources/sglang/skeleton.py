"""A Python repr without its texts: what stands outside quotes, and short identifiers.

Request logs in text form and the settings line are reprs that hold content. A text stays
only where it is one short word of identifier characters, between two marks; every other one
becomes the marks alone. Keys of dictionaries are written without escapes, so a client that
chooses keys can unbalance the quotes: the result is then not :func:`sound`.
"""

from __future__ import annotations

import polars as pl

OPEN, CLOSE = "\x02", "\x03"
_WORD = r"'[0-9A-Za-z_.:@/+=-]{0,128}'"
_TEXT = rf"""({_WORD})|b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*\""""
_UNSOUND = (
    rf"[0-9A-Za-z_{CLOSE}]{OPEN}|{CLOSE}[0-9A-Za-z_{OPEN}]"
    rf"|(?:^|[^{OPEN}])['\"](?:[^{CLOSE}]|$)"
)


def skeleton(text: pl.Expr) -> pl.Expr:
    """Return the text with every string literal reduced to its marks."""
    return text.str.replace_all(_TEXT, f"{OPEN}${{1}}{CLOSE}")


def sound(text: pl.Expr, bare: pl.Expr) -> pl.Expr:
    """Say of which skeletons the literals stand where a repr has them.

    Args:
        text: the repr; one that holds a mark itself is not sound.
        bare: its skeleton.
    """
    return ~text.str.contains(f"[{OPEN}{CLOSE}]") & ~bare.str.contains(_UNSOUND)
