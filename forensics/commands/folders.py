"""What commands on a finished folder share."""

from __future__ import annotations

from pathlib import Path

import click

from forensics.commands.say import say

moved_logs_option = click.option(
    "--logs",
    multiple=True,
    metavar="PATH",
    help="where moved logs lie now; found by their bytes; repeatable",
)


def warn_if_touched(folder: Path) -> None:
    """Say on stderr which files of a folder are not what was written."""
    from forensics.evidence import files
    from forensics.evidence.folder import opened

    for fault in files.check(opened(folder)):
        say(f"warning: {folder}: {fault}", err=True)
