"""``forensics sources``: whose data may have been in the affected responses."""

from __future__ import annotations

import json
from typing import Any

import click

from forensics.commands.options import case_of, exit_of, plain, reading_options, summary


@click.command()
@reading_options
def sources(as_json: bool, fail_on: str | None, **reading: Any) -> int:
    """Say whose data the affected responses in LOGS may have held, and how that is known."""
    from forensics.attribution.render import text
    from forensics.declared import PAIRS
    from forensics.encode import json_text

    case = case_of(reading)
    exposure, pairs = case.exposure(), case.sources.polars()
    if as_json:
        found = plain(exposure.attribution)
        found |= {
            "tenants": plain(exposure.sources),
            "pairs": json.loads(json_text(pairs, PAIRS)),
        }
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(text(exposure, pairs), nl=False)
    summary(case)
    return exit_of(case, fail_on)
