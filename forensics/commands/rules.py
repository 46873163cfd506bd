"""``forensics rules``: alerting rules for the signals of the fault."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from forensics.commands.options import as_json_option
from forensics.errors import Exit


@click.command()
@click.option("--headroom", default="1.25", show_default=True, help="pool >= window x HEADROOM")
@as_json_option
def rules(headroom: str, as_json: bool) -> int:
    """Print Prometheus alerting rules for pool, hand-off, prefill time and canary."""
    from forensics.live.rules import as_yaml
    from forensics.live.rules import rules as made
    from forensics.live.stated import factor

    factor(headroom)
    found = made(headroom)
    if as_json:
        click.echo(json.dumps([asdict(rule) for rule in found], indent=2))
    else:
        click.echo(as_yaml(found), nl=False)
    return Exit.COMPLETE
