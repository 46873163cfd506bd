"""``forensics report``: the main job."""

from __future__ import annotations

import json
from pathlib import Path
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
from forensics.commands.say import say


@click.command()
@reading_options
@verdicts_option
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="new folder")
@click.option("--force", is_flag=True, help="replace a report that is there")
@click.option("--pdf", is_flag=True, help="report.pdf as well; needs the extra [pdf]")
def report(
    out: Path, force: bool, pdf: bool, as_json: bool, fail_on: str | None, **reading: Any
) -> int:
    """Write the exposure report of LOGS into a new folder."""
    from forensics.output import refuse_inputs, require_free

    require_free(out, "report", force=force)
    refuse_inputs(
        out, [*reading["logs"], *filter(None, [reading["incident"], reading["verdicts"]])]
    )
    if pdf:
        from forensics.report.pdf import require

        require()
    case = case_of(reading)
    case.run.arguments |= {"fail_on": fail_on, "json": as_json, "quiet": reading["quiet"]}
    written = case.report(out, force=force, pdf=pdf)
    if as_json:
        click.echo(
            json.dumps({"out": str(out), "headline": plain(written.exposure.headline)}, indent=2)
        )
    summary(case, written=True)
    say(f"report: {out / 'report.html'}", err=True)
    return exit_of(case, fail_on)
