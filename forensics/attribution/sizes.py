"""Do hops agree how large requests were: a wrong size is one of other pages.

What a client's side counted of a prompt and of an answer that ended of itself is what decode held
pages for, but for some tokens of a template. Where they agree about most requests and not about
some, sizes were logged, or changed, wrongly; where about most they do not, the client's side
counts otherwise, and says nothing.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from forensics.attribution.hops import ASTRAY, ended

_PAIRS = (("prompt_tokens", "decode_prompt_tokens"), ("completion_tokens", "completion_tokens"))
_SLACK, _SHARE = 64, 0.25
"""Tokens, and share of the larger count, by which counts of two hops may be apart."""


def differ(columns: Collection[str]) -> pl.Expr:
    """Say whose counts by the client's side and by decode are apart; null where one is not known.

    Args:
        columns: of requests, each with ``@`` and the hop that it is of.
    """
    apart = [pl.lit(None, dtype=pl.Boolean)]
    for told, held in _PAIRS:
        both = f"{told}@gateway", f"{held}@decode"
        if both[0] in columns and both[1] in columns:
            one, other = map(pl.col, both)
            most = pl.max_horizontal(one, other)
            off = (one.cast(pl.Int64) - other.cast(pl.Int64)).abs()
            apart.append(off > pl.max_horizontal(pl.lit(_SLACK), most * _SHARE))
    return pl.max_horizontal(apart)


def contradicted(rows: pl.DataFrame) -> bool:
    """Say whether hops agree about the sizes of most requests, and not of too many.

    Args:
        rows: requests of one rank with ``sizes_differ``, status and finish reason.
    """
    told = rows.filter(ended())["sizes_differ"].drop_nulls()
    number = int(told.sum() or 0)
    return ASTRAY * len(told) < number <= len(told) / 2
