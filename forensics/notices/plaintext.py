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
_EMPHASIS: Final = re.compile(r"[*`~\\]")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])?")
_STYLE: Final = re.compile(r"(?is)<style\b.*?</style>")


def without_tags(markup: str) -> str:
    """Return what stands between the tags, with entities as what they stand for."""
    bare = _TAG.sub(_between, _UNSEEN.sub("", markup))
    return html.unescape(bare)


def as_words(markup: str) -> str:
    """Return the words of a text in HTML, Markdown or a template of either, in one case."""
    return folded(without_emphasis(without_tags(markup)).replace("_", ""))


def without_emphasis(shown: str) -> str:
    """Return Markdown without the signs that can stand within a word; ``_`` there is a sign."""
    return _EMPHASIS.sub("", shown)


def without_links(shown: str) -> str:
    """Return Markdown with the texts of links and pictures in place of them."""
    while (bare := _LINK.sub(r"\1", shown)) != shown:
        shown = bare
    return shown


def of_own(markup: str) -> str:
    """Return what the reader of a template sees of it, with Markdown's emphasis and without."""
    bare = without_tags(_STYLE.sub("", markup))
    return f"{bare}\0{without_emphasis(bare)}"


def folded(text: str) -> str:
    """Return a text as it is compared: one form of each letter, hyphen and blank, one case.

    What shows nothing, such as a soft hyphen, is left out.
    """
    if text.isascii():
        return " ".join(text.casefold().split())
    return " ".join("".join(map(_seen, unicodedata.normalize("NFKC", text))).casefold().split())


def readings(text: str) -> set[str]:
    """Return a text folded, once as one word and once as two where something unseen stands."""
    if text.isascii():
        return {folded(text)}
    # A dash can join an id and can stand beside it.
    apart = "".join(
        " " if unicodedata.category(sign) in ("Cf", "Pd") and sign != "-" else sign for sign in text
    )
    return {folded(text), folded(apart)}


def _seen(sign: str) -> str:
    kind = unicodedata.category(sign)
    return "-" if kind == "Pd" or sign == "\u2212" else "" if kind in ("Cf", "Mn") else sign


def _between(tag: re.Match[str]) -> str:
    return " " if tag[1].lower() in _APART else ""
