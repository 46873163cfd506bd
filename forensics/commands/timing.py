"""``forensics timing``: prefill times against what the tokens need."""

from __future__ import annotations

import json
from typing import Any

import click

from forensics.commands.options import case_of, exit_of, reading_options, summary


@click.command()
@reading_options
def timing(as_json: bool, fail_on: str | None, **reading: Any) -> int:
    """Compare the prefill times of LOGS with the tokens that had to be computed."""
    from forensics.encode import json_text
    from forensics.timing.blind import sentences
    from forensics.timing.render import text
    from forensics.timing.soonest import CLEAN
    from forensics.timing.tables import TABLES, all_tables

    case = case_of(reading)
    frames = all_tables(case.analysis)
    encoded = {name: json.loads(json_text(frames[name], TABLES[name])) for name in TABLES}
    undecided = list(sentences(case.analysis.timing))
    if as_json:
        said = {"undecided": undecided, "clean_part": CLEAN}
        click.echo(json.dumps(encoded | said, indent=2))
    else:
        click.echo(text(frames, undecided), nl=False)
    summary(case)
    return exit_of(case, fail_on)
