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
def formats(as_json: bool) -> int:
    """List what can be read, what each format can prove and what it never shows."""
    from forensics.sources.registry import FORMATS

    rows: list[dict[str, Any]] = [
        {
            "name": f.name,
            "title": f.title,
            "shows": f.shows,
            "never_shows": f.never_shows,
            "forms": [asdict(form) for form in f.forms],
        }
        for f in FORMATS
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return Exit.COMPLETE
    for row in rows:
        click.echo(f"{row['name']}: {row['title']}")
        click.echo(f"  shows: {row['shows']}")
        click.echo(f"  never shows: {row['never_shows']}")
        for form in row["forms"]:
            click.echo(f"  - {form['title']} ({form['versions']}): {form['shows']}")
    return Exit.COMPLETE
