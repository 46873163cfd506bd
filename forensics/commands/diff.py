"""``forensics diff``: who entered, left and moved between two reports, and why."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.commands.folders import warn_if_touched
from forensics.commands.options import as_json_option, plain
from forensics.commands.say import say
from forensics.errors import Exit


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@as_json_option
def diff(old: Path, new: Path, as_json: bool) -> int:
    """Show what differs from the report OLD to the report NEW."""
    from forensics.encode import csv_bytes
    from forensics.evidence.diff import DIFFERENCES, rows
    from forensics.evidence.diff import diff as compared

    for folder in (old, new):
        warn_if_touched(folder)
    found = compared(old, new)
    if as_json:
        click.echo(json.dumps(plain(found), indent=2))
    else:
        click.echo(csv_bytes(rows(found), DIFFERENCES), nl=False)
    say(found, err=True)
    return Exit.COMPLETE
