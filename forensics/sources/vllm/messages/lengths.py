"""The length of a prompt by the ids of its tokens, which are counted and not kept.

Up to 0.11 an arrival is logged with its prompt and the ids. ``--max-log-len`` cuts both after
as many entries: of more characters than ids the ids are whole. Where a prompt has many more
characters than any text has for so many tokens, the list is none of it.
"""

from __future__ import annotations

import polars as pl

_FEWEST = 16
"""Tokens: so short a prompt is over no limit, and too short to be told from a stub."""
_MOST_CHARACTERS = 5
"""Characters of a token, on average; in few texts are there more."""
_ESCAPED = r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)"


def tokens(prompt: pl.Expr, ids: pl.Expr) -> pl.Expr:
    """Return the number of tokens; null where the list may not be the whole prompt.

    Args:
        prompt: as Python shows a text, quotes included.
        ids: numbers with commas between them.
    """
    count = (ids.str.count_matches(",", literal=True) + 1).cast(pl.Int64)
    characters = prompt.str.replace_all(_ESCAPED, "_").str.len_chars().cast(pl.Int64) - 2
    whole = (characters > count) & (characters <= _MOST_CHARACTERS * count)
    return pl.when(whole & (count >= _FEWEST)).then(count)
