"""``forensics canary``: does a marker of one account turn up in another's answer?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.commands.canaryshown import show
from forensics.commands.options import as_json_option
from forensics.commands.say import say
from forensics.errors import Exit, UsageError
from forensics.live.local import is_address, is_local

if TYPE_CHECKING:
    from forensics.live.canary import Plan
    from forensics.live.chat import Account
    from forensics.live.plan import Sizes
    from forensics.live.verdict import Asked, Canary

_KEYS = ("canary-a=CANARY_KEY_A", "canary-b=CANARY_KEY_B")


@click.command()
@click.argument("url")
@click.option("--path", default="/v1/chat/completions", show_default=True)
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
        from forensics.live.canary import Plan
        from forensics.live.chat import Server
    except ImportError:
        raise UsageError("canary needs aiohttp: install the `live` extra") from None

    from forensics.live.stated import seconds

    base, local = _address(url, path)
    keys = _accounts(accounts or _KEYS)
    sizes = _sizes(engine or base, limit, pool, context, really=really)
    wait = seconds(pause if pause is not None else (0.0 if local else 1.0), "--pause", 0)
    if sizes is None or not (local or really):
        _say_plan(sizes, keys, fill)
        return Exit.COMPLETE
    server = Server(base + path, model, seconds(timeout, "--timeout"))
    try:
        found = _run(Plan(server, keys, sizes, fill, wait), record)
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
        raise UsageError(f"no key in {', '.join(missing)}")
    first, second = (Account(name, os.environ[variable]) for name, _, variable in pairs)
    return first, second


def _sizes(
    engine: str, limit: int | None, pool: int | None, window: int | None, *, really: bool
) -> Sizes | None:
    """Return what is stated, and the rest from the engine; None if it must not be asked."""
    from forensics.live.gate import Asked, ask
    from forensics.live.plan import Sizes
    from forensics.live.target import Target

    if limit is not None and pool is not None and window is not None:
        return Sizes(limit, pool, window)
    target = Target.of(engine)
    if not (really or is_local(target.shown)):
        return None
    gate = asyncio.run(ask([target], Asked(window=window)))
    known = [row.pool for row in gate.rows if row.pool is not None]
    if not known:
        raise UsageError(f"{gate.rows[0].sentence}; state --limit, --pool and --context")
    least = min(known, key=lambda rank: rank.limit)
    return Sizes(limit or least.limit, pool or least.pool, window or least.window)


def _say_plan(sizes: Sizes | None, keys: tuple[Account, Account], fill: int) -> None:
    from forensics.live.plan import EDGES, FILL, steps

    for step in () if sizes is None else steps(sizes, fill):
        way = "streamed" if step.stream else "whole"
        say(f"{step.name}: {step.tokens:,} tokens, {way}, {keys[step.account].name}")
    for name in (FILL, *EDGES) if sizes is None else ():
        say(f"{name}: the engine would have to be asked for its sizes")
    click.echo("dry run: the host is not local; --run asks it", err=True)


def _run(plan: Plan, record: Path | None) -> Canary:
    from forensics.live.canary import run
    from forensics.live.canaryrecord import records

    def keep(write: Callable[[bytes], object]) -> Canary:
        def told(one: Asked) -> None:
            write(records(one))
            say(f"{one.step.name}: {one.verdict}", err=True)

        return asyncio.run(run(plan, told))

    if record is None:
        return keep(lambda _: None)
    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        return keep(file.write)
