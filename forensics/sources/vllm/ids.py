"""The client's id in the ids that the engine makes of it.

The API server turns ``R`` into ``chatcmpl-R``, for completions ``cmpl-R-<prompt>``, for one
answer of several ``<n>_chatcmpl-R``; the engine adds eight hexadecimal digits from 0.14 on.
What a client may have chosen itself is not taken off: two requests would become one.
"""

from __future__ import annotations

import polars as pl

_CHILD = r"(?:[0-9]{1,4}_)?"
_NUMBERED = "cmpl|embd|score|rerank|pool"
_KINDS = rf"(?:chatcmpl|resp|tok|classify|{_NUMBERED})"
_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_DIGITS = "-[0-9a-f]{8}"


def external(name: str) -> pl.Expr:
    """Return the client's id of one that the API server prints."""
    return _undecorated(pl.col(name), pl.col(name))


def internal(name: str, *, random: bool = False) -> pl.Expr:
    """Return the client's id of one that the engine prints.

    Args:
        name: the column.
        random: only versions that add digits print that line. Elsewhere digits are taken
            off only where a whole UUID stands before them.
    """
    before = ".+?" if random else rf"{_CHILD}(?:{_KINDS}-)?{_UUID}(?:-[0-9]{{1,4}})?"
    own = pl.col(name).str.replace(rf"^({before}){_DIGITS}$", "${1}")
    return _undecorated(own, pl.col(name))


def _undecorated(text: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Take off the kind, and the number of the first prompt where that kind has one."""
    numbered = whole.str.contains(rf"^{_CHILD}(?:{_NUMBERED})-")
    core = text.str.replace(rf"^{_CHILD}{_KINDS}-(.+)$", "${1}")
    return pl.when(numbered).then(core.str.replace("^(.+)-0$", "${1}")).otherwise(core)
