"""Markup as its reader sees it: without tags, comments, entities and characters that show nothing.

What is looked for in a text must not pass because something unseen stands in the middle of it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_UNSEEN: Final = re.compile(r"<!--.*?-->|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_TAG: Final = re.compile(r"</?([a-zA-Z][^\s/>]*)(?:\"[^\"]*\"|'[^']*'|[^'\">])*>")
_APART: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div"),
        *("dl", "dt", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head"),
        *("header", "hr", "html", "legend", "li", "main", "nav", "ol", "p", "pre", "section"),
        *("summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"),
    }
)
"""Elements that words do not go on across; all others are drawn within a line."""
_EMPHASIS: Final = re.compile(r"[*_`~\\]")


def without_tags(markup: str) -> str:
    """Return what stands between the tags, with entities as what they stand for."""
    bare = _TAG.sub(_between, _UNSEEN.sub("", markup))
    return html.unescape(bare)


def as_words(markup: str) -> str:
    """Return the words of a text in HTML, Markdown or a template of either, in one case."""
    shown = unicodedata.normalize("NFKC", _EMPHASIS.sub("", without_tags(markup)))
    seen = "".join(sign for sign in shown if unicodedata.category(sign) not in ("Cf", "Mn"))
    return " ".join(seen.casefold().split())


def _between(tag: re.Match[str]) -> str:
    return " " if tag[1].lower() in _APART else ""
