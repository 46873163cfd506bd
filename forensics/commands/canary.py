"""``forensics canary``: does a marker of one account turn up in another's answer?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.commands.appending import appended, replaceable
from forensics.commands.canaryshown import show
from forensics.commands.fromenvironment import named
from forensics.commands.options import as_json_option
from forensics.commands.say import say
from forensics.errors import Exit, UsageError
from forensics.live.local import is_address, is_local

if TYPE_CHECKING:
    from forensics.live.aim import Stated
    from forensics.live.chat import Account, Server
    from forensics.live.plan import Sizes
    from forensics.live.target import Target
    from forensics.live.verdict import Asked, Canary

_KEYS = ("canary-a=CANARY_KEY_A", "canary-b=CANARY_KEY_B")


@dataclass(frozen=True)
class _Asking:
    """Whom to ask, as whom, how much and how fast."""

    server: Server
    accounts: tuple[Account, Account]
    stated: Stated
    fill: int
    pause: float


@click.command()
@click.argument("url")
@click.option(
    "--path", default="/v1/chat/completions", show_default=True, help="what is asked at URL"
)
@click.option("--model", default="default", show_default=True, help="model to ask for")
@click.option(
    "--account",
    "accounts",
    multiple=True,
    help="NAME=VARIABLE that holds its key; twice",
)
@click.option("--engine", help="address of prefill's own account; default: URL")
@click.option(
    "--limit", type=click.IntRange(min=2), help="smallest prompt that is rejected, tokens"
)
@click.option("--pool", type=click.IntRange(min=2), help="prefill's KV pool, tokens")
@click.option("--context", type=click.IntRange(min=2), help="advertised window, tokens")
@click.option(
    "--fill",
    default=6,
    show_default=True,
    type=click.IntRange(min=1),
    help="prompts of each account that fill pages",
)
@click.option("--pause", type=float, help="seconds between requests; default: 0 locally, else 1")
@click.option("--timeout", default=120.0, show_default=True, help="seconds for each answer")
@click.option("--run", "really", is_flag=True, help="really ask a host that is not this one")
@click.option("--record", type=click.Path(path_type=Path), help="append records here")
@click.option("--textfile", type=click.Path(path_type=Path), help="gauges for node_exporter")
@as_json_option
def canary(
    url: str,
    path: str,
    model: str,
    accounts: tuple[str, ...],
    engine: str | None,
    limit: int | None,
    pool: int | None,
    context: int | None,
    fill: int,
    pause: float | None,
    timeout: float,
    really: bool,
    record: Path | None,
    textfile: Path | None,
    as_json: bool,
) -> int:
    """Plant harmless markers from two accounts at URL and look for them in all answers.

    Exit 11 if one turns up where it was not planted, if what cannot fit is not refused, or if
    the run could not have seen a leak. Hosts other than this one are only asked with --run.
    """
    try:
        from forensics.live.aim import Stated
        from forensics.live.chat import Server
    except ImportError:
        raise UsageError("canary needs aiohttp: install the `live` extra") from None

    from forensics.live.stated import seconds

    base, local = _address(url, path)
    keys = _accounts(accounts or _KEYS)
    wait = seconds(pause if pause is not None else (0.0 if local else 1.0), "--pause", 0)
    server = Server(base + path, model, seconds(timeout, "--timeout"))
    stated = Stated(_target(engine or base), limit, pool, context)
    if not (really or (local and stated.near)):
        _say_plan(stated, keys, fill)
        return Exit.COMPLETE
    replaceable(textfile, "--textfile", record)
    try:
        with appended(record) as append:
            found = _run(_Asking(server, keys, stated, fill, wait), append)
    except KeyboardInterrupt:
        click.echo("canary: interrupted; the record holds what was asked by then", err=True)
        return Exit.INTERRUPTED
    if textfile is not None:
        from forensics.live.textfile import write

        write(textfile, len(found.hits), passed=found.passed)
    show(found, as_json=as_json)
    return Exit.COMPLETE if found.passed else Exit.LIVE_FAILED


def _address(url: str, path: str) -> tuple[str, bool]:
    """Return the base address, and whether it is of this host."""
    base = (url if "://" in url else f"http://{url}").rstrip("/")
    if not path.startswith("/"):
        raise UsageError("--path begins with /")
    if not is_address(base):
        raise UsageError("URL is no address")
    return base, is_local(base)


def _accounts(stated: tuple[str, ...]) -> tuple[Account, Account]:
    from forensics.live.chat import Account

    pairs = [text.partition("=") for text in stated]
    if len(pairs) != 2 or not all(name and variable for name, _, variable in pairs):
        raise UsageError("two accounts are needed: --account NAME=VARIABLE, twice")
    missing = [variable for _, _, variable in pairs if not os.environ.get(variable)]
    if missing:
        raise UsageError(f"no key in {', '.join(map(named, missing))}")
    first, second = (Account(name, os.environ[variable]) for name, _, variable in pairs)
    if first.name == second.name or first.key == second.key:
        raise UsageError("two accounts are needed, and these are one: by name or by key")
    return first, second


def _target(engine: str) -> Target:
    from forensics.live.target import Target

    return Target.of(engine)


async def _sizes(stated: Stated) -> Sizes | None:
    """Return the sizes for a plan that is only shown; None where nobody may be asked for them."""
    from forensics.live.aim import UnknownSizesError

    try:
        return await stated.sizes() if stated.near else None
    except UnknownSizesError as error:
        raise UsageError(f"{error}; state --limit, --pool and --context") from None


def _say_plan(stated: Stated, keys: tuple[Account, Account], fill: int) -> None:
    from forensics.live.plan import EDGES, FILL, steps

    sizes = asyncio.run(_sizes(stated))
    for step in () if sizes is None else steps(sizes, fill):
        way = "streamed" if step.stream else "whole"
        say(f"{step.name}: {step.tokens:,} tokens, {way}, {keys[step.account].name}")
    for name in (FILL, *EDGES) if sizes is None else ():
        say(f"{name}: the engine would have to be asked for its sizes")
    click.echo("dry run: the host is not local; --run asks it", err=True)


def _run(asked: _Asking, append: Callable[[bytes], object]) -> Canary:
    """Ask for the sizes and then everything; what cannot be aimed at is a verdict, not an error."""
    from forensics.live.aim import UnknownSizesError
    from forensics.live.canary import Plan, run
    from forensics.live.canaryrecord import records
    from forensics.live.verdict import Canary

    def told(one: Asked) -> None:
        append(records(one))
        say(f"{one.step.name}: {one.verdict}", err=True)

    async def ask() -> Canary:
        try:
            sizes = await asked.stated.sizes()
        except UnknownSizesError as error:
            why = f"the engine's sizes: {error}; state --limit, --pool and --context"
            return Canary(unaimed=why)
        plan = Plan(asked.server, asked.accounts, sizes, asked.fill, asked.pause)
        return await run(plan, told)

    return asyncio.run(ask())
