"""``forensics rerun``: the same inputs, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forensics.commands.folders import moved_logs_option, warn_if_touched
from forensics.commands.options import as_json_option, plain
from forensics.commands.say import say


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@moved_logs_option
@as_json_option
@click.option("-q", "--quiet", is_flag=True, help="no progress on stderr")
def rerun(out: Path, logs: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Make the report OUT again from its manifest and name the first difference."""
    from forensics.evidence.rerun import rerun as made_again
    from forensics.progress import Bar

    warn_if_touched(out)
    places = logs or _places(out)
    if not places:
        found = made_again(out)
    else:
        with Bar(places, quiet=quiet) as bar:
            found = made_again(out, logs, bar.advance)
    if as_json:
        click.echo(json.dumps(plain(found), indent=2))
    else:
        for line in (*found.changed, *found.gone, *found.differences):
            say(line)
    for note in found.notes:
        say(f"note: {note}", err=True)
    say(found, err=True)
    return found.exit_code


def _places(out: Path) -> list[str]:
    """Return where the inputs of a report lay, as far as they are there."""
    from forensics.evidence.folder import recorded
    from forensics.objects import place

    paths = [source.path for source in recorded(out)[1].inputs]
    return [path for path in paths if path is not None and place(path).exists()]
