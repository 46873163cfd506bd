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
ADDED = "adds_digits"
"""Column of lines: the engine that printed them adds digits to its ids."""
_VERSION = (
    r"^(?:Initializing an? (?:V[01] )?LLM engine \(v|vLLM API server version )"
    r"([0-9]{1,3})\.([0-9]{1,3})[^0-9]"
)
_FIRST_WITH_DIGITS = 14


def external(name: str) -> pl.Expr:
    """Return the client's id of one that the API server prints."""
    return _undecorated(pl.col(name), pl.col(name))


def internal(name: str, *, random: pl.Expr | bool = False) -> pl.Expr:
    """Return the client's id of one that the engine prints.

    Args:
        name: the column.
        random: the line is of a version that adds digits. Elsewhere they are taken off only
            where a whole UUID stands before them.
    """
    whole = pl.col(name)
    guarded = rf"^({_CHILD}(?:{_KINDS}-)?{_UUID}(?:-[0-9]{{1,4}})?){_DIGITS}$"
    added = whole.str.replace(rf"^(.+?){_DIGITS}$", "${1}")
    return _undecorated(
        pl.when(random).then(added).otherwise(whole.str.replace(guarded, "${1}")), whole
    )


def with_version(rows: pl.DataFrame, *, before: bool) -> pl.DataFrame:
    """Add :data:`ADDED`: the last start line above names a version that adds digits.

    Args:
        rows: with ``known`` and ``body``, in their order.
        before: what was so above the first of them.
    """
    groups = pl.col("body").str.extract_groups(_VERSION).struct
    at = groups.field("1").cast(pl.Int32) * 1_000 + groups.field("2").cast(pl.Int32)
    told = pl.when(pl.col("known")).then(at >= _FIRST_WITH_DIGITS)
    return rows.with_columns(told.forward_fill().fill_null(before).alias(ADDED))


def _undecorated(text: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Take off the kind, and the number of the first prompt where that kind has one."""
    numbered = whole.str.contains(rf"^{_CHILD}(?:{_NUMBERED})-")
    core = text.str.replace(rf"^{_CHILD}{_KINDS}-(.+)$", "${1}")
    return pl.when(numbered).then(core.str.replace("^(.+)-0$", "${1}")).otherwise(core)
