"""What is opened by a customer asks for nothing and runs nothing, whoever wrote the template.

A policy in a page only holds for what comes after it, and in browsers that know it. So a page
is held to a short grammar: elements and attributes that are named here, in the plainest form,
so that no two readers can take it for something else. Values are filled in as text alone.
Markdown is drawn by programs of all kinds: it may hold neither HTML nor pictures.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from jinja2 import nodes

from forensics.errors import UsageError

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
POLICY_TAG: Final = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
_FILLED: Final = "\0"
"""Stands where a value is filled in, or a part of a template begins or ends."""
_ELEMENTS: Final = frozenset(
    {
        *("html", "head", "title", "meta", "body", "main", "header", "footer", "section"),
        *("article", "aside", "nav", "div", "span", "p", "br", "hr", "pre", "blockquote"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "address"),
        *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "figure"),
        *("figcaption", "b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "mark"),
        *("code", "kbd", "samp", "abbr", "time", "bdi", "bdo", "wbr", "details", "summary", "a"),
    }
)
_ATTRIBUTES: Final = frozenset(
    {
        *("class", "id", "lang", "dir", "title", "scope", "role", "tabindex", "colspan"),
        *("rowspan", "start", "headers", "datetime", "open", "charset", "style"),
    }
)
_META: Final = frozenset({"viewport", "referrer", "color-scheme", "robots"})
_HREF: Final = re.compile(r"#|mailto:|tel:")
"""Where a link may lead: one to a page can be looked up before anybody follows it."""
_ATTRIBUTE: Final = r"""\s+([a-z][a-z-]*)(?:="([^"<>\0]*)"|='([^'<>\0]*)')?"""
_TOKEN: Final = re.compile(
    rf"""[^<]+ | <!doctype\s+html> | <!--(?!-?>)(?:(?!--)[^\0])*-->
    | <style>(?P<css>[^<\0]*)</style>
    | </?(?P<name>[a-z][a-z0-9]*)(?P<attributes>(?:{_ATTRIBUTE})*)\s*/?>""",
    re.IGNORECASE | re.VERBOSE,
)
_CSS: Final = re.compile(
    r"(?i)\\|@(?!media|page|supports)|url|image|src\b|expression|behaviou?r|binding|element\s*\("
)
_HEAD: Final = re.compile(
    rf"""\s*(?:<!doctype\s+html>)?\s*(?:<html(?:\slang="[\w-]*")?>)?\s*(?:<head>)?\s*
    (?:<meta\scharset="utf-8">)?\s*{re.escape(POLICY_TAG)}""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKDOWN: Final = re.compile(r"<(?!!--(?:(?!--).)*-->)[a-z/!?]|!\0*\[", re.IGNORECASE | re.DOTALL)


def own_text(tree: nodes.Node) -> str:
    """Return a template's own text, with a mark wherever something else can come between."""
    return "".join(_parts(tree))


def _parts(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.TemplateData):
        yield node.data.replace(_FILLED, "<")
        return
    if not isinstance(node, nodes.Template | nodes.Output):
        yield _FILLED
    for child in node.iter_child_nodes():
        yield from _parts(child)
    if not isinstance(node, nodes.Template | nodes.Output):
        yield _FILLED


def refuse_active_page(text: str, where: str) -> None:
    """Raise where a page could run or ask for something.

    Args:
        text: of a template; see :func:`own_text`.
        where: file, for the message.

    Raises:
        UsageError: it could, or is not in the form in which that can be told.
    """
    if not _HEAD.match(text):
        raise UsageError(f"{where}: the first element in the head has to be: {POLICY_TAG}")
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            near = text[at : at + 12].partition(_FILLED)[0].splitlines()[0]
            raise UsageError(f"{where}: no plain element of HTML: {near!r}; a sign is &lt;")
        _refuse_token(token, where)
        at = token.end()


def refuse_active_markdown(text: str, where: str) -> None:
    """Raise where Markdown holds HTML or a picture.

    Raises:
        UsageError: it does.
    """
    if found := _MARKDOWN.search(text):
        what = "HTML" if found[0].startswith("<") else "a picture"
        raise UsageError(f"{where}: Markdown of a notice may not hold {what}")


def _refuse_token(token: re.Match[str], where: str) -> None:
    if token["css"] is not None:
        _refuse_css(token["css"], where)
    name = (token["name"] or "").lower()
    if not name:
        return
    if name not in _ELEMENTS:
        raise UsageError(f"{where}: a page may not hold the element <{name}>")
    if name == "meta" and token[0] == POLICY_TAG:
        return
    found = re.finditer(_ATTRIBUTE, token["attributes"], re.IGNORECASE)
    attributes = {one[1].lower(): html.unescape(one[2] or one[3] or "") for one in found}
    for attribute, value in attributes.items():
        if not _may_stand(name, attribute, value):
            raise UsageError(f"{where}: <{name}> may not have this {attribute}")
    _refuse_css(attributes.get("style", ""), where)


def _may_stand(element: str, attribute: str, value: str) -> bool:
    if element == "a" and attribute == "href":
        return _HREF.match(value) is not None
    if element == "meta" and attribute in ("name", "content"):
        return attribute == "content" or value.lower() in _META
    return attribute in _ATTRIBUTES or attribute.startswith("aria-")


def _refuse_css(css: str, where: str) -> None:
    if found := _CSS.search(css):
        raise UsageError(f"{where}: a style may not hold {found[0]!r}")
