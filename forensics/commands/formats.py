"""``forensics formats``: what can be read, and what it can prove."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from forensics.commands.options import as_json_option
from forensics.errors import Exit


@click.command()
@as_json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="the page docs/formats.md")
def formats(as_json: bool, as_markdown: bool) -> int:
    """List what can be read, what each format can prove and what it never shows."""
    from forensics.sources.notread import NOT_READ
    from forensics.sources.registry import FORMATS
    from forensics.sources.wrappers.kinds import WRAPPERS

    rows: list[dict[str, Any]] = [
        {
            "name": f.name,
            "title": f.title,
            "shows": f.shows,
            "never_shows": f.never_shows,
            "versions": f.versions,
            "verified": f.verified,
            "forms": [asdict(form) for form in f.forms],
        }
        for f in FORMATS
    ]
    wrappers = [
        {
            "name": wrapper.name,
            "title": wrapper.title,
            "shows": "the lines within, whose wrapper it is, and when",
            "never_shows": "lines that the collector lost",
            "versions": "",
            "verified": True,
            "forms": [],
        }
        for wrapper in WRAPPERS
    ]
    others = [
        {
            "name": other.name,
            "title": other.title,
            "shows": "nothing: it is not read",
            "never_shows": other.why,
            "versions": "",
            "verified": False,
            "forms": [],
        }
        for other in NOT_READ
    ]
    if as_markdown:
        from forensics.commands.formatsdoc import markdown

        click.echo(markdown(FORMATS, WRAPPERS, NOT_READ), nl=False)
        return Exit.COMPLETE
    if as_json:
        click.echo(json.dumps([*rows, *wrappers, *others], indent=2))
        return Exit.COMPLETE
    for row in rows:
        click.echo(f"{row['name']}: {row['title']}")
        click.echo(f"  shows: {row['shows']}")
        click.echo(f"  never shows: {row['never_shows']}")
        if not row["verified"]:
            click.echo("  unverified: held against no real sample, so it never clears a request")
        for form in row["forms"]:
            click.echo(f"  - {form['title']} ({form['versions']}): {form['shows']}")
    click.echo("Taken off first, nested in any order, found by what lines look like:")
    for wrapper in wrappers:
        click.echo(f"  - {wrapper['title']}")
    click.echo("Not read:")
    for other in NOT_READ:
        click.echo(f"  - {other.title}: {other.why}")
    return Exit.COMPLETE
