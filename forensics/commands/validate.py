"""``forensics validate``: error rates on seeded incidents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.commands.options import as_json_option
from forensics.commands.say import say
from forensics.errors import Exit

if TYPE_CHECKING:
    from forensics.validation.results import Results


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="incidents")
@click.option("--write", is_flag=True, help="keep the result with the package, for reports")
@as_json_option
def validate(seeds: int, write: bool, as_json: bool) -> int:
    """Judge seeded incidents from what is left of their logs, and hold it against their truth."""
    from forensics import validation
    from forensics.validation.measure import validate as measured
    from forensics.validation.results import FILE, encode

    found = measured(seeds)
    data = encode(found)
    if write:
        (Path(validation.__file__).parent / FILE).write_bytes(data)
    if as_json:
        click.echo(data, nl=False)
    else:
        click.echo(_text(found), nl=False)
    wrong = sum(situation.ruled_out for situation in found.situations)
    if wrong:
        say(f"{wrong} affected responses were ruled out: a fault of this program", err=True)
        return Exit.MISMATCH
    return Exit.COMPLETE


def _text(found: Results) -> str:
    from forensics.validation.results import shown

    lines = [f"version {found.version}, {found.seeds} incidents from seed {found.first_seed} on"]
    for one in found.situations:
        lines += [
            one.name,
            f"  precision of confirmed and probable  {shown(one.precision)}",
            f"  recall, with possible                {shown(one.recall)}",
            f"  recall of confirmed and probable     {shown(one.sure)}",
            f"  true number within the bound         {shown(one.covered)}",
            f"  affected and ruled out               {one.ruled_out}",
        ]
    return "\n".join(lines) + "\n"
