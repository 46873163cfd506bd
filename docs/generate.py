"""Write the reference pages from the code: ``make docs``. A test holds them to it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

DOCS = Path(__file__).parent
NOTE = "Written by `make docs` from the code itself: edit that."


def pages() -> dict[str, str]:
    """Return every generated page by its path under ``docs/``."""
    from forensics.commands import formatsdoc
    from forensics.sources.notread import NOT_READ
    from forensics.sources.registry import FORMATS
    from forensics.sources.wrappers.kinds import WRAPPERS

    return {
        "formats.md": formatsdoc.markdown(FORMATS, WRAPPERS, NOT_READ),
        "reference/cli.md": _page("Command line", _cli()),
        "reference/columns.md": _page("Columns", _columns()),
        "reference/findings.md": _page("Findings", _findings()),
        "reference/python.md": _page("Python", _python()),
        "reference/report.md": _page("Fields of report.json", _report()),
    }


def _page(title: str, body: Iterator[str]) -> str:
    return "\n".join([f"# {title}", "", NOTE, "", *body]).rstrip("\n") + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


# --- command line ---------------------------------------------------------------------


def _cli() -> Iterator[str]:
    from forensics.cli import commands
    from forensics.errors import Exit

    context = click.Context(commands, info_name="forensics")
    yield from ("```text", _help(commands, context), "```", "")
    for name in commands.list_commands(context):
        yield from _command(commands, name, context)
    yield from ("## Exit codes", "")
    codes = sorted((int(code), code.name.lower().replace("_", " ")) for code in Exit)
    yield from _table(("code", "meaning"), [(str(code), meaning) for code, meaning in codes])


def _command(group: click.Group, name: str, above: click.Context) -> Iterator[str]:
    command = group.get_command(above, name)
    if command is None:
        raise SystemExit(f"no command {name}")
    context = click.Context(command, info_name=name, parent=above)
    yield from (f"## {context.command_path}", "", "```text", _help(command, context), "```", "")
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _command(command, inner, context)


def _help(command: click.Command, context: click.Context) -> str:
    formatter = click.HelpFormatter(width=96)
    command.format_help(context, formatter)
    return formatter.getvalue().rstrip()


# --- columns and findings -------------------------------------------------------------


def _columns() -> Iterator[str]:
    from forensics import schema

    yield "Times are RFC 3339 in logs, in UTC in every file that is written. How a value is read:"
    yield ""
    yield from _kinds(inspect.getsource(schema))
    for title, columns in (
        ("Requests", schema.REQUEST_COLUMNS),
        ("Capacity", schema.CAPACITY_COLUMNS),
        ("Canary markers", schema.MARKER_COLUMNS),
        ("What engine readers add", schema.ENGINE_COLUMNS),
    ):
        yield from (f"## {title}", "")
        rows = [(f"`{c.name}`", c.kind, c.meaning, ", ".join(c.codes)) for c in columns]
        yield from _table(("column", "kind", "meaning", "closed list"), rows)


def _kinds(source: str) -> Iterator[str]:
    told = source.partition('"""How a raw value is read.')[2].partition('"""')[0]
    kinds = re.findall(r"``(\w+)``\n    (.+)", told)
    plain = [(f"`{kind}`", _plain(meaning)) for kind, meaning in kinds]
    yield from _table(("kind", "how it is read"), plain)


def _plain(docstring: str) -> str:
    """Turn the marks of a docstring into those of Markdown."""
    return re.sub(r":\w+:`(?:[\w.]+\.)?(\w+)`", r"`\1`", docstring).replace("``", "`")


def _findings() -> Iterator[str]:
    from forensics.findings import FINDINGS, base

    yield "Each reason that a row can carry: what it means, and what it does **not** prove."
    yield ""
    told = inspect.getsource(base).partition('"""What a finding can do')[2].partition('"""')[0]
    weights = re.findall(r"``(\w+)``\n    (.+)", told)
    yield from _table(("weight", "what it can do"), [(f"`{w}`", meaning) for w, meaning in weights])
    for finding in sorted(FINDINGS, key=lambda one: one.code):
        needs = ", ".join(f"`{name}`" for name in finding.needs) or "nothing"
        yield from (f"## {finding.code}", "", f"`{finding.weight}`; needs {needs}.", "")
        yield from (f"*Means:* {finding.meaning}.", "")
        yield from (f"*Does not prove:* {finding.does_not_prove}.", "")


# --- Python ---------------------------------------------------------------------------


def _python() -> Iterator[str]:
    import forensics

    for name in forensics.__all__:
        value = getattr(forensics, name)
        if not callable(value):
            continue
        yield from _entry(f"forensics.{name}", value)
        if isinstance(value, type) and value is forensics.Case:
            for member, inner in sorted(vars(value).items()):
                if not member.startswith("_") and inspect.getdoc(inner):
                    yield from _entry(f"{name}.{member}", inner)


def _entry(name: str, value: Any) -> Iterator[str]:
    shown = "" if isinstance(value, type) or not callable(value) else _signature(value)
    yield from (f"## {name}{shown}", "", "```text", inspect.getdoc(value) or "", "```", "")


def _signature(value: Any) -> str:
    return str(inspect.signature(value)).replace("'", "").replace("_", chr(92) + "_")


# --- report ---------------------------------------------------------------------------


def _report() -> Iterator[str]:
    from forensics.exposure import json_schema

    schema = json.loads(json_schema())
    structs = schema["$defs"]
    yield "The same as JSON Schema lies in every report as `report.schema.json`."
    yield ""
    for name in ["Exposure", *sorted(set(structs) - {"Exposure"})]:
        struct = structs[name]
        if "properties" not in struct:
            continue
        yield from (f"## {name}", "")
        if struct.get("description"):
            yield from (_plain(struct["description"]), "")
        fields = struct["properties"].items()
        yield from _table(("field", "type"), [(f"`{field}`", _type(of)) for field, of in fields])


def _type(of: dict[str, Any]) -> str:
    if "$ref" in of:
        return str(of["$ref"]).rpartition("/")[2]
    if "anyOf" in of:
        return " or ".join(_type(one) for one in of["anyOf"])
    if of.get("type") == "array":
        return f"list of {_type(of.get('items', {}))}"
    if "enum" in of:
        return " or ".join(f"`{one}`" for one in of["enum"])
    return str(of.get("type", "any"))


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
