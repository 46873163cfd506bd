"""The command line: parse, call, print. stdout carries data only."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics._version import __version__
from forensics.errors import Exit, ForensicsError

if TYPE_CHECKING:
    from forensics.case import Case

TIER_ORDER = ("confirmed", "probable", "possible")


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; never prints what was read."""
    try:
        result = commands.main(arguments, prog_name="forensics", standalone_mode=False)
    except click.exceptions.Abort:
        return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return Exit.USAGE
    except ForensicsError as error:
        click.echo(f"forensics: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        return Exit.UNEXPECTED
    except (SystemExit, GeneratorExit):
        raise
    except OSError as error:
        named = error.filename if isinstance(error.filename, str) else _place(error)
        click.echo(f"forensics: {named}: {error.strerror or 'input or output error'}", err=True)
        return Exit.UNEXPECTED
    except BaseException as error:  # noqa: BLE001 -- a panic is no Exception; its text may quote a record
        click.echo(f"forensics: unexpected {type(error).__name__} at {_place(error)}", err=True)
        return Exit.UNEXPECTED
    return int(result or 0)


def _interrupted() -> int:
    click.echo("forensics: interrupted; nothing was written", err=True)
    return Exit.INTERRUPTED


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "forensics" in Path(f.filename).parts] or list(frames)
    last = own[-1]
    return f"{Path(last.filename).name}:{last.lineno} in {last.name}"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forensics")
def commands() -> None:
    """Find which responses held other tenants' data, from logs, without reading content."""


def _reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command that reads logs takes."""
    options = (
        click.argument("logs", nargs=-1, required=True),
        click.option("-i", "--incident", type=click.Path(dir_okay=False), help="incident.toml"),
        click.option("--format", "format_name", help="format of all files; default: detected"),
        click.option("--workers", type=click.IntRange(min=1), help="processes; default: by size"),
        click.option("--fail-on", type=click.Choice(TIER_ORDER), help="exit 10 from this tier on"),
        click.option("--json", "as_json", is_flag=True, help="JSON on stdout"),
        click.option("-q", "--quiet", is_flag=True, help="no progress on stderr"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@commands.command()
@_reading_options
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="new folder")
@click.option("--force", is_flag=True, help="replace the folder")
def report(out: Path, force: bool, as_json: bool, fail_on: str | None, **reading: Any) -> int:
    """Write the exposure report of LOGS into a new folder."""
    from forensics.errors import OutputExistsError
    from forensics.output import refuse_inputs

    if os.path.lexists(out) and not force:
        raise OutputExistsError(f"{out} exists; --force replaces it")
    refuse_inputs(out, [*reading["logs"], *filter(None, [reading["incident"]])])
    case = _case(reading)
    case.run.arguments = {
        "command": "report",
        "out": str(out),
        "force": force,
        "fail_on": fail_on,
    } | reading
    written = case.report(out, force=force)
    if as_json:
        click.echo(
            json.dumps({"out": str(out), "headline": _plain(written.exposure.headline)}, indent=2)
        )
    _summary(case)
    click.echo(f"report: {out / 'report.html'}", err=True)
    return _exit(case, fail_on)


@commands.command()
@_reading_options
def scope(as_json: bool, fail_on: str | None, **reading: Any) -> int:
    """List the affected requests of LOGS."""
    from forensics.tables import csv_bytes

    case = _case(reading)
    rows = case.affected.polars()
    if as_json:
        document = {
            "headline": _plain(case.exposure().headline),
            "affected": json.loads(_json_rows(rows)),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(csv_bytes(rows), nl=False)
    _summary(case)
    return _exit(case, fail_on)


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout")
def formats(as_json: bool) -> int:
    """List what can be read, what each format can prove and what it never shows."""
    from forensics.sources.registry import FORMATS

    rows = [
        {"name": f.name, "title": f.title, "shows": f.shows, "never_shows": f.never_shows}
        for f in FORMATS
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return Exit.COMPLETE
    for row in rows:
        click.echo(f"{row['name']}: {row['title']}")
        click.echo(f"  shows: {row['shows']}")
        click.echo(f"  never shows: {row['never_shows']}")
    return Exit.COMPLETE


@commands.command()
@click.argument("name", required=False)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="new folder")
@click.option("--force", is_flag=True, help="replace the folder")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout")
def sample(name: str | None, out: Path | None, force: bool, as_json: bool) -> int:
    """Write the seeded incident NAME with its truth; without NAME list them."""
    from forensics import lab
    from forensics.output import whole_folder

    if name is None:
        names = sorted(lab.SAMPLES)
        click.echo(json.dumps(names) if as_json else "\n".join(names))
        return Exit.COMPLETE
    if name not in lab.SAMPLES:
        raise click.UsageError(f"unknown sample {name!r}; known: {', '.join(sorted(lab.SAMPLES))}")
    if out is None:
        raise click.UsageError("where to? -o DIR")
    with whole_folder(out, force=force) as folder:
        lab.write_sample(name, folder)
    if as_json:
        click.echo(json.dumps({"sample": name, "out": str(out)}))
    click.echo(f"sample {name}: {out}", err=True)
    return Exit.COMPLETE


def _case(reading: dict[str, Any]) -> Case:
    from forensics.case import read_logs
    from forensics.progress import Bar

    with Bar(reading["logs"], quiet=reading["quiet"]) as bar:
        return read_logs(
            *reading["logs"],
            incident=reading["incident"],
            format=reading["format_name"],
            workers=reading["workers"],
            progress=bar.advance,
        )


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _json_rows(rows: Any) -> str:
    import polars as pl

    text = rows.with_columns(
        pl.col(name).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
        for name, dtype in rows.schema.items()
        if isinstance(dtype, pl.Datetime)
    )
    return str(text.write_json())


def _summary(case: Case) -> None:
    """Print the findings on stderr: first the counts, then what is missing."""
    head = case.exposure().headline
    click.echo(head.sentence, err=True)
    for flag in head.incomplete:
        click.echo(f"incomplete: {flag}", err=True)


def _exit(case: Case, fail_on: str | None) -> int:
    head = case.exposure().headline
    if fail_on is not None:
        reached = TIER_ORDER[: TIER_ORDER.index(fail_on) + 1]
        if any(t.requests for t in head.tiers if t.tier in reached):
            return Exit.TIER_REACHED
    return Exit.INCOMPLETE if head.incomplete else Exit.COMPLETE
