"""What a tenant or a model may be called: a label, and no free text.

Some logs hold in such a field whatever the client sent, a sentence out of a prompt too. No
rule tells every sentence from every company, so a label is bounded: one word, or a few. Up to
three may be any words. More have to be written as names are, with a capital, a digit or a
sign at the beginning of all words but one and the small ones between (``Bank of the West``).
Scripts that put no blank between words are bounded by their letters.

A model is called by one word nearly always, and the client says which: there more than one have
to be written as names are.
"""

from __future__ import annotations

import polars as pl

LONGEST_NAME = 256
"""Characters of a name of one word: a path of a model may be one."""
LONGEST_LABEL = 64
"""Characters of a name of several words."""
MOST_LETTERS = 32
"""Letters of a script without blanks: a long company's name, hardly a sentence with content."""

_MORE_THAN_A_LINE = r"[[\p{Cc}\p{Zl}\p{Zp}]&&[^\t]]"
_CLOSE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_SMALL = "of|the|and|for|de|la|le|les|du|des|et|der|die|das|und|für|von|zu|van|den|da|do|di|del|y|e"

MOST_WORDS = 6
_ANY_WORDS = 3
_LOWER_CASE = 1

MAYBE_UNFIT = rf"{_MORE_THAN_A_LINE}|\s|{_CLOSE}"
"""Matches every text that is unfit by anything but its length."""


def unfit(text: pl.Expr, any_words: int = _ANY_WORDS) -> pl.Expr:
    """Say which texts are no names; secrets are told elsewhere.

    Args:
        text: the texts.
        any_words: how many words may be any.
    """
    words, length = text.str.count_matches(r"\S+"), text.str.len_chars()
    return (
        text.str.contains(_MORE_THAN_A_LINE)
        | (words > MOST_WORDS)
        | ((words > any_words) & (_lower_case(text) > _LOWER_CASE))
        | (length > pl.when(words > 1).then(LONGEST_LABEL).otherwise(LONGEST_NAME))
        | (text.str.count_matches(_CLOSE) > MOST_LETTERS)
    )


def _lower_case(text: pl.Expr) -> pl.Expr:
    """Count the words that begin in lower case, small ones apart."""
    all_, small = r"(?:^|\s)\p{Ll}", rf"(?:^|\s)(?:{_SMALL})\b"
    return text.str.count_matches(all_).cast(pl.Int64) - text.str.count_matches(small)
