"""``forensics verify``: does a folder still hold what was written."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.commands.folders import moved_logs_option
from forensics.commands.options import PlaceType, as_json_option, plain
from forensics.commands.say import say


@click.command()
@click.argument("folder", type=PlaceType())
@moved_logs_option
@as_json_option
def verify(folder: Path, logs: tuple[str, ...], as_json: bool) -> int:
    """Recompute every hash and count of FOLDER and of its inputs where they still lie."""
    from forensics.evidence.verify import verify as checked

    found = checked(folder, logs)
    if as_json:
        click.echo(json.dumps(plain(found), indent=2))
    else:
        for fault in (*found.mismatches, *found.unchecked):
            say(fault)
    say(found, err=True)
    return found.exit_code
