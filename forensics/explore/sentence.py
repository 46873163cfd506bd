"""A sentence of the document, as a paragraph: whole words, and no markup from data."""

from __future__ import annotations

import html
from dataclasses import dataclass

from forensics.shown import visible


@dataclass(frozen=True)
class Sentence:
    """A sentence as a notebook shows it; the text itself is in ``text``."""

    text: str

    def __repr__(self) -> str:
        return visible(self.text)

    def _repr_html_(self) -> str:
        return f"<p style='margin:6px 0;max-width:50em'>{html.escape(visible(self.text))}</p>"


def sentence(text: str) -> Sentence:
    """Show a sentence of the document, with its lines broken between words.

    Example:
        >>> sentence("Nobody is ruled out by what is missing.")
        Nobody is ruled out by what is missing.
    """
    return Sentence(text)
