"""``forensics scope``: the affected requests, as a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from forensics.commands.options import (
    case_of,
    dashboard,
    exit_code,
    exit_of,
    plain,
    reading_options,
    say_all,
    summary,
    verdicts_option,
)
from forensics.commands.say import say

if TYPE_CHECKING:
    from forensics.triage.scope import Scope


@click.command()
@reading_options
@verdicts_option
@click.option(
    "--without-times",
    is_flag=True,
    help="of evidence sets: no prefill times, so that most rows are not read",
)
def scope(as_json: bool, fail_on: str | None, without_times: bool, **reading: Any) -> int:
    """List the affected requests of LOGS."""
    from forensics import declared
    from forensics.encode import csv_bytes, json_text
    from forensics.errors import UsageError
    from forensics.incomplete import unwritten

    if not as_json:
        found = _triaged(reading, times=not without_times)
        if not isinstance(found, str):
            click.echo(csv_bytes(found.affected, declared.REQUESTS), nl=False)
            for unused in found.unused:
                say(f"state not used: {unused}", err=True)
            say_all(found.sentence, found.incomplete, found.left_out)
            return exit_code(found.tiers, found.incomplete, fail_on)
    if without_times:
        raise UsageError(f"--without-times: {'not with --json' if as_json else found}")
    case = case_of(reading)
    rows = case.affected.polars()
    if as_json:
        head = case.exposure().headline
        document = {
            "headline": plain(head) | {"incomplete": unwritten(head.incomplete)},
            "affected": json.loads(json_text(rows, declared.REQUESTS)),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(csv_bytes(rows, declared.REQUESTS), nl=False)
    summary(case)
    return exit_of(case, fail_on)


def _triaged(reading: dict[str, Any], *, times: bool) -> Scope | str:
    """Return what evidence sets of many records hold, or why all of them have to be read."""
    from forensics.progress import Bar
    from forensics.runners import cluster
    from forensics.sources.files import are_sets
    from forensics.triage import scope as triage

    if reading["format_name"] or not are_sets(reading["logs"]):
        return "not all logs are evidence sets"
    options = {name: reading[name] for name in ("incident", "verdicts")}
    asked = triage.asked(*reading["logs"], **options)
    if isinstance(asked, str):
        return asked
    if times and asked.rows < triage.MANY:
        return "all records fit into memory"
    with (
        cluster(reading["cluster"]) as runner,
        Bar(reading["logs"], quiet=reading["quiet"]) as bar,
    ):
        dashboard(runner)
        return triage.scope(asked, reading["workers"], bar.advance, times=times)
