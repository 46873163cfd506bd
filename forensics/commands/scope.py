"""``forensics scope``: the affected requests, as a table."""

from __future__ import annotations

import json
from typing import Any

import click

from forensics.commands.options import (
    case_of,
    exit_of,
    plain,
    reading_options,
    summary,
    verdicts_option,
)


@click.command()
@reading_options
@verdicts_option
def scope(as_json: bool, fail_on: str | None, **reading: Any) -> int:
    """List the affected requests of LOGS."""
    from forensics import declared
    from forensics.encode import csv_bytes, json_text

    case = case_of(reading)
    rows = case.affected.polars()
    if as_json:
        document = {
            "headline": plain(case.exposure().headline),
            "affected": json.loads(json_text(rows, declared.REQUESTS)),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(csv_bytes(rows, declared.REQUESTS), nl=False)
    summary(case)
    return exit_of(case, fail_on)
