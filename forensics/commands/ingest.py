"""``forensics ingest``: logs into an evidence set."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.commands.options import (
    PlaceType,
    as_json_option,
    cluster_option,
    dashboard,
    memory_option,
)
from forensics.commands.say import say
from forensics.errors import Exit

if TYPE_CHECKING:
    from forensics.ingest import Ingested


@click.command()
@click.argument("logs", nargs=-1, required=True)
@click.option("-o", "--out", required=True, type=PlaceType(), help="evidence set, or s3://…")
@click.option("-i", "--incident", type=click.Path(dir_okay=False), help="incident.toml")
@click.option("--format", "format_name", help="format of all files; default: detected")
@click.option("--workers", type=click.IntRange(min=1), help="processes; default: by size")
@cluster_option
@memory_option
@click.option("--force", is_flag=True, help="start over in place of the set that is there")
@as_json_option
@click.option("-q", "--quiet", is_flag=True, help="no progress on stderr")
def ingest(out: Path, as_json: bool, **asked: Any) -> int:
    """Read LOGS into a content-free evidence set that can be named wherever logs can.

    OUT may be a set already: logs that it holds are skipped, the others are added, and a
    run that was cut short is gone on with. In object storage (s3://) the set appears when the
    run has ended.
    """
    try:
        made = _ingest(out, asked)
    except KeyboardInterrupt:
        again = "the same command goes on where this one stopped"
        say(f"forensics: interrupted; {again}", err=True)
        return Exit.INTERRUPTED
    if as_json:
        click.echo(json.dumps(asdict(made) | {"folder": str(out)}, indent=2))
    _summary(made, out)
    return Exit.COMPLETE if made.complete else Exit.INCOMPLETE


def _ingest(out: Path, asked: dict[str, Any]) -> Ingested:
    from forensics.ingest import ingest as read_into
    from forensics.progress import Bar
    from forensics.runners import cluster

    with (
        cluster(asked["cluster"]) as runner,
        Bar(asked["logs"], quiet=asked["quiet"], but=out) as bar,
    ):
        dashboard(runner)
        return read_into(
            *asked["logs"],
            out=out,
            incident=asked["incident"],
            format=asked["format_name"],
            workers=asked["workers"],
            force=asked["force"],
            progress=bar.advance,
        )


def _summary(made: Ingested, out: Path) -> None:
    """Print on stderr what was added, then what the set holds, then what is missing."""
    from forensics.wording import count

    say(
        f"{count(made.added, 'input')} added, {made.known:,} already there, "
        f"{made.replaced:,} replaced; the set holds {count(made.inputs, 'input')}",
        err=True,
    )
    ignored, unread = sum(made.ignored.values()), sum(made.unreadable.values())
    say(
        f"{count(made.read, 'record')} read: {made.kept:,} stored, {ignored:,} ignored, "
        f"{unread:,} unreadable; a report tells duplicates and probes apart from what is stored",
        err=True,
    )
    for reason, number in made.unreadable.items():
        say(f"incomplete: {number:,} x {reason}", err=True)
    bad = sum(made.bad_values.values())
    if bad:
        values = count(bad, "value")
        say(f"incomplete: {values} without a readable form, taken as missing", err=True)
    if made.assumed_nodes:
        say(f"incomplete: UTC was assumed for: {', '.join(made.assumed_nodes)}", err=True)
    say(f"evidence: {out}", err=True)
