"""``forensics gate``: is the pool of each running engine large enough for its window?"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.commands.appending import appended
from forensics.commands.fromenvironment import named
from forensics.commands.options import as_json_option
from forensics.commands.say import say
from forensics.errors import Exit, UsageError

if TYPE_CHECKING:
    from forensics.live.gate import Gate
    from forensics.live.target import Target


@click.command()
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--headroom", default="1.25", show_default=True, help="pool >= window x HEADROOM")
@click.option(
    "--context",
    type=click.IntRange(min=1),
    help="window in tokens; a larger one of an engine counts",
)
@click.option("--json-path", help="dotted path to the pool in the answer of an unknown engine")
@click.option("--timeout", default=10.0, show_default=True, help="seconds for each engine")
@click.option("--api-key-env", help="environment variable that holds an API key to send")
@click.option("--record", type=click.Path(path_type=Path), help="append capacity records here")
@as_json_option
def gate(
    urls: tuple[str, ...],
    headroom: str,
    context: int | None,
    json_path: str | None,
    timeout: float,
    api_key_env: str | None,
    record: Path | None,
    as_json: bool,
) -> int:
    """Ask running engines for their pool and fail (11) if one is smaller than its window.

    URL is an engine's base address, an address of its own account, or NAME=URL; without any,
    PREFILL_URL is asked. Whatever is absent, odd or late fails. Each engine has a name of its
    own, and is named once.
    """
    try:
        from forensics.live.gate import Asked, ask
    except ImportError:
        raise UsageError("gate needs aiohttp: install the `live` extra") from None

    from forensics.live.stated import factor, seconds

    how = Asked(factor(headroom), context, json_path, seconds(timeout, "--timeout"))
    key = _key(api_key_env)
    targets = _targets(urls, key)
    with appended(record) as append:
        from forensics.live.record import capacity_records

        found = asyncio.run(ask(targets, how, key))
        append(capacity_records(found))
    _print(found, as_json=as_json)
    return Exit.COMPLETE if found.passed else Exit.LIVE_FAILED


def _targets(urls: tuple[str, ...], key: str | None) -> list[Target]:
    from forensics.live.target import Target, distinct

    stated = urls or tuple(filter(None, [os.environ.get("PREFILL_URL")]))
    if not stated:
        raise UsageError("which engine? give a URL, or set PREFILL_URL")
    targets = [Target.of(text) for text in stated]
    if key is not None and any(target.has_user for target in targets):
        raise UsageError("an address with a user in it and --api-key-env exclude each other")
    distinct(targets)
    return targets


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    if name not in os.environ:
        raise UsageError(f"--api-key-env: {named(name)} is not set")
    return os.environ[name]


def _print(found: Gate, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    for row in () if as_json else found.rows:
        say(f"{row.label}: {row.sentence}")
    hints = {f"{row.node}: {row.hint}": None for row in found.rows if row.hint is not None}
    for sentence in () if as_json else (*hints, *found.chain):
        say(sentence)
    click.echo(f"gate: {'passed' if found.passed else 'FAILED'}", err=True)
