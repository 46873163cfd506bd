"""The page that a notebook becomes: no script from elsewhere, no widget, no name of a tenant."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any, Final

from forensics.errors import PrivacyError

_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' data: blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
body {{ font-family: system-ui, "DejaVu Sans", sans-serif; max-width: 75em; margin: 2em auto;
        padding: 0 1em; color: #1a1a1a; }}
pre {{ background: #f5f5f5; padding: .6em; overflow-x: auto; white-space: pre-wrap; }}
table {{ border-collapse: collapse; font-size: 13px; }}
td, th {{ padding: 3px 8px; text-align: left; vertical-align: top; }}
.output_html, .output_html > div {{ overflow-x: auto; }}
/* What is wider than the page says so: a bar that does not hide, and a shadow where it goes on. */
.output_html ::-webkit-scrollbar, .output_html::-webkit-scrollbar {{ height: 12px; width: 12px;
  background: #e6e6e6; }}
.output_html ::-webkit-scrollbar-thumb, .output_html::-webkit-scrollbar-thumb {{
  background: #767676; border-radius: 6px; }}
@supports not selector(::-webkit-scrollbar) {{
  .output_html, .output_html > div {{ scrollbar-width: auto; scrollbar-color: #767676 #e6e6e6; }}
}}
@media screen {{ .output_html, .output_html > div {{
  background: linear-gradient(to left, #fff 2em, transparent) right / 4em 100% no-repeat local,
    linear-gradient(to left, #0005, transparent) right / 1.2em 100% no-repeat scroll; }} }}
@page {{ size: A4 landscape; margin: 10mm; }}
@media print {{
  body {{ max-width: none; margin: 0; padding: 0; font-size: 9pt; }}
  .output_html, .output_html > div, .dt-layout-cell, .dt-scroll-body {{
    overflow: visible !important; }}
  table {{ font-size: 7.5pt; }}
  td, th {{ padding: 1px 3px !important; }}
  table.dataTable {{ font-size: 6.5pt; width: 100% !important; }}
  table.dataTable col {{ width: auto !important; }}
  table.dataTable td, table.dataTable th {{ white-space: normal !important;
    min-width: 0 !important; overflow-wrap: anywhere; }}
  .dt-search, .dt-length, .dt-paging, .dt-column-order, .modebar {{ display: none !important; }}
  h2, h3, p {{ break-after: avoid; }}
  tr, svg {{ break-inside: avoid; }}
}}
.input_prompt, .output_prompt, .prompt, .anchor-link {{ display: none; }}
{code}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def made(book: Any, title: str) -> str:
    """Return an executed notebook as a page."""
    from nbconvert import HTMLExporter
    from pygments.formatters import HtmlFormatter

    book.metadata.pop("widgets", None)
    for cell in book.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(book)
    code = HtmlFormatter().get_style_defs(".highlight")
    return _PAGE.format(policy=_POLICY, title=html.escape(title), code=code, body=body)


_FETCHED: Final = re.compile(
    r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?https?:", re.IGNORECASE
)
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_WORD: Final = re.compile(r"[\w.@:+-]+")


def refuse(page: str, names: Iterable[str], own: str) -> None:
    """Raise where a page names a tenant or fetches something; the message names nobody.

    Args:
        page: the page.
        names: names that were replaced.
        own: the notebook before it ran; a name that is a word of it is no sign of a tenant.

    Raises:
        PrivacyError: it does.
    """
    if _FETCHED.search(page):
        raise PrivacyError("the page would fetch something; nothing was written")
    text = html.unescape(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), page))
    said = _words(text) - _words(own)
    for name in names:
        if name in said if _WORD.fullmatch(name) else name in text:
            raise PrivacyError("the page holds the name of a tenant; nothing was written")


def _words(text: str) -> set[str]:
    return {word.strip(".:-") for word in _WORD.findall(text)}
