"""The templates of a notice: the package's own, or those of a folder, held to an allow-list.

A template may show, repeat and test the values that are named here, and nothing else: it
cannot call, filter, include or switch escaping off, and it runs and asks for nothing, whoever
wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment

from forensics.errors import UsageError
from forensics.notices import markdown
from forensics.notices.inert import own_text, refuse_active_markdown, refuse_active_page
from forensics.notices.wording import Wording, refuse_phrases
from forensics.report import text

MARKDOWN_FILE: Final = "notice.md.j2"
HTML_FILE: Final = "notice.html.j2"
VALUES: Final = frozenset(
    {
        *("title", "notice", "variant", "account", "population", "tier", "direction"),
        *("case_id", "case_title", "as_of", "revision", "revision_day", "models"),
        *("window_start", "window_end"),
        *("first_at", "last_at", "rounded", "timeline", "tool_version", "report_sha256"),
        *("known", "bounds", "unknown", "actions", "checking"),
        *("rows", "listed", "total", "without_id", "legend", "modelled"),
    }
)
"""Placeholders: what a template may name."""
PARTS: Final = frozenset(
    {
        *("request_id", "attempt", "model", "received_at", "prompt_tokens", "completion_tokens"),
        *("tier", "delivered", "reasons", "missing", "pages", "tokens", "probability"),
        *("name", "at", "meaning"),
    }
)
"""What a template may name of a row or of a moment."""
_PLAIN: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.For,
    nodes.If,
    nodes.Const,
    nodes.Not,
    nodes.And,
    nodes.Or,
    nodes.Compare,
    nodes.Operand,
)


@dataclass(frozen=True)
class Templates:
    """Both templates of a notice, compiled once, and the words that stand in them."""

    markdown: jinja2.Template
    html: jinja2.Template
    own_text: str
    """Text of templates that are not the package's."""


def templates(folder: Path | None, said: Wording) -> Templates:
    """Return the templates of a folder; those that it lacks are the package's.

    Raises:
        UsageError: there is no such folder, or a template does what it may not.
    """
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    own: list[str] = []

    def compiled(name: str, environment: jinja2.Environment) -> jinja2.Template:
        path = folder / name if folder is not None else None
        if path is None or not path.is_file():
            source, where = built_in(name), name
        else:
            source, where = path.read_text(encoding="utf-8", errors="replace"), str(path)
            refuse_phrases(source, set(said.banned), where)
            own.append(source)
        return _checked(source, where, environment)

    page = compiled(HTML_FILE, _environment(text.show, escape=True))
    return Templates(
        compiled(MARKDOWN_FILE, _environment(markdown.show, escape=False)), page, "\n".join(own)
    )


def render(template: jinja2.Template, values: Mapping[str, Any]) -> bytes:
    """Return a notice; the same values give the same bytes."""
    return template.render(values).encode()


def built_in(name: str) -> str:
    """Return the text of a template, or another text, of the package."""
    folder = files("forensics.notices")
    return (folder / "templates" / name if name.endswith(".j2") else folder / name).read_text(
        encoding="utf-8"
    )


def _environment(show: Callable[[Any], Any], *, escape: bool) -> jinja2.Environment:
    # Markdown is not HTML: what is shown in it is escaped by ``show``.
    return SandboxedEnvironment(
        autoescape=escape,
        undefined=jinja2.StrictUndefined,
        finalize=show,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _checked(source: str, where: str, environment: jinja2.Environment) -> jinja2.Template:
    try:
        tree = environment.parse(source)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(f"{where}: line {error.lineno}: {error.message}") from None
    _plain(tree, where)
    refuse = refuse_active_page if environment.autoescape else refuse_active_markdown
    refuse(own_text(tree), where)
    return environment.from_string(source)


def _plain(tree: nodes.Template, where: str) -> None:
    looped = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
    for node in tree.find_all(nodes.Node):
        place = f"{where}: line {node.lineno}"
        if not isinstance(node, _PLAIN):
            raise UsageError(f"{place}: a template may not use {type(node).__name__.lower()}")
        if isinstance(node, nodes.Name):
            _known(node.name, VALUES | looped, place)
        if isinstance(node, nodes.Output) and any(part.find(nodes.Const) for part in _shown(node)):
            raise UsageError(f"{place}: a template may not show a text of its own as a value")
        if isinstance(node, nodes.Getattr):
            _known(node.attr, PARTS, place)


def _shown(node: nodes.Output) -> list[nodes.Node]:
    """Return what is shown besides the template's own text; a constant is wrapped to be found."""
    return [nodes.Tuple([one], "load") for one in node.nodes]


def _known(name: str, known: frozenset[str], place: str) -> None:
    if name not in known:
        names = ", ".join(sorted(known))
        raise UsageError(f"{place}: unknown placeholder {name!r}; known are: {names}")
