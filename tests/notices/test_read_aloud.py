"""A notice as a screen reader and a keyboard have it: from the template, whatever is filled in."""

import itertools
import re
from html.parser import HTMLParser

import pytest

from forensics.notices.templating import HTML_FILE, built_in

Element = tuple[str, dict[str, str | None]]


class Elements(HTMLParser):
    """Every element, in its order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.all: list[Element] = []
        self.feed(re.sub(r"\{%.*?%\}", "", page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def elements() -> list[Element]:
    return Elements(built_in(HTML_FILE)).all


def test_headings_are_in_order_and_the_language_is_said(elements):
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert ("html", {"lang": "en"}) in elements
    assert [tag for tag, _ in elements].count("main") == 1


def test_tables_have_a_caption_and_their_headers_a_scope(elements):
    tags = [tag for tag, _ in elements]
    assert tags.count("table") == tags.count("caption") == 1
    headers = [attrs for tag, attrs in elements if tag == "th"]
    assert headers
    assert {attrs["scope"] for attrs in headers} == {"col"}


def test_what_is_scrolled_can_be_reached_and_has_a_name(elements):
    (scrolled,) = [attrs for _, attrs in elements if attrs.get("class") == "scroll"]
    assert scrolled["tabindex"] == "0"
    assert scrolled["role"] == "region"
    assert scrolled["aria-label"]
    assert not re.search(r"outline:\s*(none|0)", built_in(HTML_FILE))
