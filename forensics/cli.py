"""The command line: which commands there are, and the exit code that a run ends with."""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from typing import cast

import click

from forensics._version import __version__
from forensics.commands.say import say
from forensics.errors import Exit, ForensicsError, place_of
from forensics.shown import without_paths

COMMANDS = (
    "canary",
    "check",
    "diff",
    "explain",
    "formats",
    "gate",
    "ingest",
    "lab",
    "notify",
    "report",
    "rerun",
    "rules",
    "sample",
    "scope",
    "sources",
    "timing",
    "validate",
    "verify",
    "watch",
)
"""Each is the function of that name in the module of that name in ``forensics.commands``."""


_RETURNED = "background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0"
"""What Polars freed goes back to the system in half a second, not in ten: what one stage needed is
not held beside what the next one does. Read once, when Polars is loaded, in workers as well."""


def main() -> None:
    """Run the command line and leave with its exit code; asked to end, it ends as interrupted."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", _RETURNED)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
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
        return _misused(error)
    except ForensicsError as error:
        say(f"forensics: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        return Exit.UNEXPECTED
    except (SystemExit, GeneratorExit):
        raise
    except OSError as error:
        named = error.filename if isinstance(error.filename, str) else place_of(error)
        say(f"forensics: {named}: {error.strerror or 'input or output error'}", err=True)
        return Exit.UNEXPECTED
    except BaseException as error:  # noqa: BLE001 -- a panic is no Exception; its text may quote a record
        click.echo(f"forensics: unexpected {type(error).__name__} at {place_of(error)}", err=True)
        return Exit.UNEXPECTED
    return int(result or 0)


def _misused(error: click.ClickException) -> int:
    text = io.StringIO()
    error.show(file=text)
    for line in text.getvalue().splitlines():
        # It quotes what was typed, and an address can hold a key anywhere behind its host.
        say(without_paths(line), err=True)
    return Exit.USAGE


def _interrupted() -> int:
    click.echo("forensics: interrupted; no output lies there half-written", err=True)
    return Exit.INTERRUPTED


class _Commands(click.Group):
    """Imports a command when it is asked for: none has to wait for the others."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"forensics.commands.{name}")
        return cast("click.Command", getattr(module, name))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forensics")
def commands() -> None:
    """Find which responses held other tenants' data, from logs, without reading content."""
