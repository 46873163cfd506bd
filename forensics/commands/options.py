"""What commands share: options, reading, and how a run ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.commands.say import say
from forensics.errors import Exit

if TYPE_CHECKING:
    from forensics.case import Case
    from forensics.runners import Runner
    from forensics.sources.overlap import LeftOut

TIER_ORDER = ("confirmed", "probable", "possible")

as_json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout")


cluster_option = click.option(
    "--cluster", metavar="URL", help="read on a Dask (tcp://…) or Ray (ray://…) cluster"
)


def _limit(context: click.Context, _: click.Parameter, text: str | None) -> None:
    """Hold the whole command to the memory that was asked for."""
    if text is None:
        return
    from forensics.runners import memory

    size = memory.parse(text)
    context.with_resource(memory.limited(size, lambda taken: _end(size, taken)))


def _end(size: int, taken: int) -> None:
    """End the process from where it stands; what it wrote so far is in no place that counts."""
    from multiprocessing import active_children

    from forensics.runners.memory import shown
    from forensics.scratch import remove_own

    say(
        f"forensics: more than the {shown(size)} of --memory would be needed ({shown(taken)} were"
        " taken). A report holds all requests of the logs that it is given, whatever [scope] asks"
        " for: give more memory, or logs of fewer days or of fewer nodes that hand over to one"
        " another, or evidence sets to `forensics scope`",
        err=True,
    )
    for child in active_children():
        child.kill()
    remove_own()
    os._exit(Exit.USAGE)


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_limit,
    expose_value=False,
    help="most that the run and its workers here may take: 2GB",
)


class PlaceType(click.ParamType[Path]):
    """A folder on disk or in object storage."""

    name = "path"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:  # noqa: ARG002
        """Return the path."""
        from forensics.objects import place

        return place(value)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command that reads logs takes."""
    options = (
        click.argument("logs", nargs=-1, required=True),
        click.option("-i", "--incident", type=click.Path(dir_okay=False), help="incident.toml"),
        click.option("--format", "format_name", help="format of all files; default: detected"),
        click.option("--workers", type=click.IntRange(min=1), help="processes; default: by size"),
        cluster_option,
        memory_option,
        click.option("--fail-on", type=click.Choice(TIER_ORDER), help="exit 10 from this tier on"),
        click.option("--json", "as_json", is_flag=True, help="JSON on stdout"),
        click.option("-q", "--quiet", is_flag=True, help="no progress on stderr"),
    )
    for option in reversed(options):
        command = option(command)
    return command


verdicts_option = click.option(
    "--verdicts", type=click.Path(dir_okay=False), help="verdicts.csv: what reviewers attested"
)


def case_of(reading: dict[str, Any]) -> Case:
    """Read the logs that the options name, with progress on stderr."""
    from forensics.case import read_logs
    from forensics.progress import Bar
    from forensics.runners import cluster

    with (
        cluster(reading["cluster"]) as runner,
        Bar(reading["logs"], quiet=reading["quiet"]) as bar,
    ):
        dashboard(runner)
        return read_logs(
            *reading["logs"],
            incident=reading["incident"],
            format=reading["format_name"],
            workers=reading["workers"],
            progress=bar.advance,
            verdicts=reading.get("verdicts"),
        )


def dashboard(runner: Runner | None) -> None:
    """Say on stderr where a cluster shows its work."""
    link = getattr(runner, "link", None)
    if link is not None:
        say(f"dashboard: {link}", err=True)


def plain(value: Any) -> Any:
    """Return a struct as plain objects."""
    import msgspec

    return msgspec.to_builtins(value)


def summary(case: Case, *, written: bool = False) -> None:
    """Print the findings on stderr: first the counts, then what is missing.

    Args:
        case: what was read.
        written: the files of a report are there to be looked into.
    """
    head = case.exposure().headline
    say_all(head.sentence, head.incomplete, case.run.left_out, written=written)


def say_all(
    sentence: str, incomplete: list[str], left_out: list[LeftOut], *, written: bool = False
) -> None:
    """Print on stderr what was found, what is missing, and which logs were left out."""
    from forensics.incomplete import unwritten

    say(sentence, err=True)
    for flag in incomplete if written else unwritten(incomplete):
        say(f"incomplete: {flag}", err=True)
    for left in left_out:
        say(f"left out: {left.name}: {left.because}", err=True)


def exit_of(case: Case, fail_on: str | None) -> int:
    """Return the exit code of a run that ended well."""
    head = case.exposure().headline
    return exit_code({t.tier: t.requests for t in head.tiers}, head.incomplete, fail_on)


def exit_code(tiers: Mapping[str, int], incomplete: list[str], fail_on: str | None) -> int:
    """Return the exit code by the number of requests of each tier, and by what is missing."""
    if fail_on is not None:
        reached = TIER_ORDER[: TIER_ORDER.index(fail_on) + 1]
        if any(tiers.get(tier) for tier in reached):
            return Exit.TIER_REACHED
    return Exit.INCOMPLETE if incomplete else Exit.COMPLETE
