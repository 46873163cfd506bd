"""How commands speak to a person: what others chose cannot steer a terminal or show a key."""

from __future__ import annotations

from collections.abc import Iterable

import click

from forensics.shown import shown


def say(text: object, *, err: bool = False) -> None:
    """Print one line; a line break in it is shown, not made."""
    click.echo(shown(str(text)), err=err)


def say_all(lines: Iterable[str]) -> None:
    """Print some lines on stdout."""
    click.echo("".join(f"{shown(line)}\n" for line in lines), nl=False)
