"""``forensics check``: in seconds, what is here, what is missing, what to fetch next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from forensics.commands.options import as_json_option
from forensics.errors import Exit

if TYPE_CHECKING:
    from forensics.checking.document import Check


@click.command()
@click.argument("logs", nargs=-1, required=True)
@click.option("-i", "--incident", type=click.Path(dir_okay=False), help="incident.toml")
@click.option("--format", "format_name", help="format of all files; default: detected")
@click.option("--budget", default="64M", show_default=True, help="bytes to read of all files")
@as_json_option
@click.option("-q", "--quiet", is_flag=True, help="no progress on stderr")
def check(
    logs: tuple[str, ...],
    incident: str | None,
    format_name: str | None,
    budget: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Say from samples of LOGS what is here, what is missing, and which logs to fetch next."""
    from forensics.checking import budget as budgets
    from forensics.checking.checked import check_logs

    allowed = budgets.parse(budget)
    with _progress(allowed.total, quiet=quiet) as told:
        found = check_logs(*logs, incident=incident, format=format_name, budget=allowed, told=told)
    click.echo(_shown(found, as_json=as_json), nl=False)
    if not found.recognised:
        return Exit.NO_INPUT
    return Exit.COMPLETE if found.complete else Exit.INCOMPLETE


def _shown(found: Check, *, as_json: bool) -> str:
    import msgspec

    from forensics.checking.render import text

    if not as_json:
        return text(found)
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[int], object]]:
    """Show on stderr how much of the budget is read; nothing where nobody looks."""
    from tqdm import tqdm

    bar = tqdm(
        total=total,
        unit="B",
        unit_scale=True,
        desc="sampling",
        file=sys.stderr,
        disable=True if quiet else None,
        leave=False,
    )
    with bar:
        yield bar.update
