"""A table that is wider than an exported page says so."""

import nbformat

from forensics.explore import page


def test_a_page_shows_where_a_table_goes_on():
    style = page.made(nbformat.v4.new_notebook(), "t").partition("<style>")[2]
    screen = style.partition("@page")[0]
    assert ".output_html::-webkit-scrollbar {" in screen, "a bar that no setting hides"
    assert "no-repeat local" in screen, "and a shadow that ends where the table does"
    assert "{{" not in style
