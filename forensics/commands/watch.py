"""``forensics watch``: judge each request of growing logs as it comes to rest."""

from __future__ import annotations

from pathlib import Path

import click

from forensics.commands.options import TIER_ORDER
from forensics.commands.say import say
from forensics.errors import Exit, NoInputError

_LEFT = (
    "left to the report: timing, {beside}losses of records, joins by time and size, and hops whose "
    "records come more than {keep:g} s apart (--keep)"
)
_BESIDE = "who ran beside a request that wrote, unless both came to rest in one look, "


@click.command()
@click.argument("logs", nargs=-1, required=True)
@click.option("-i", "--incident", type=click.Path(dir_okay=False), help="incident.toml")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="append findings here")
@click.option("--state", type=click.Path(path_type=Path), help="remember here what was read")
@click.option("--textfile", type=click.Path(path_type=Path), help="metrics for node_exporter")
@click.option("--fail-on", type=click.Choice(TIER_ORDER), help="exit 11 at the first of this tier")
@click.option(
    "--settle",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="seconds without a further record until a request is judged",
)
@click.option(
    "--keep",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="seconds to wait for the records of other hops",
)
@click.option(
    "--pause",
    type=click.FloatRange(min=0.01),
    default=1.0,
    show_default=True,
    help="seconds between two looks",
)
@click.option("--once", is_flag=True, help="end with what is there, standard input with its end")
@click.option("-q", "--quiet", is_flag=True, help="nothing on stderr but errors")
def watch(
    logs: tuple[str, ...],
    incident: str | None,
    out: Path | None,
    state: Path | None,
    textfile: Path | None,
    fail_on: str | None,
    settle: float,
    keep: float,
    pause: float,
    once: bool,
    quiet: bool,
) -> int:
    """Follow LOGS, growing and rotating, and write findings as JSON lines.

    With --state a restart goes on where the last run stopped; with --out as well, each
    finding is written once, even if a run was killed.
    """
    from forensics.direction import WRITES
    from forensics.incident import load
    from forensics.live.watch.asked import Asked
    from forensics.live.watch.loop import Places
    from forensics.live.watch.loop import watch as follow
    from forensics.wording import count

    case = load(incident)
    if not quiet:
        beside = _BESIDE if case.trigger.mechanism in WRITES else ""
        say(_LEFT.format(keep=keep, beside=beside), err=True)
    asked = Asked(settle, keep, pause, once, fail_on)
    counts, code = follow(logs, case, Places(out, state, textfile), asked)
    if not quiet:
        found = ", ".join(f"{counts.tiers[tier]:,} {tier}" for tier in TIER_ORDER)
        read = count(counts.records, "record")
        say(f"{read} read, {counts.unreadable:,} unreadable: {found}", err=True)
        if counts.again:
            say(f"{counts.again:,} already told in {out}", err=True)
        for event, number in sorted(counts.events.items()):
            say(f"log {event}: {number:,}", err=True)
    if code == Exit.COMPLETE and counts.nothing_read:
        raise NoInputError("nothing readable: no log holds a record in a known format")
    if code == Exit.COMPLETE and (counts.unreadable or counts.events["lost"]):
        return Exit.INCOMPLETE
    return code
