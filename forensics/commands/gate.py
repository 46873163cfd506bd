"""``forensics gate``: is the pool of each running engine large enough for its window?"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.commands.options import as_json_option
from forensics.errors import Exit, UsageError

if TYPE_CHECKING:
    from forensics.live.gate import Gate


@click.command()
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--headroom", default="1.25", show_default=True, help="pool >= window x HEADROOM")
@click.option(
    "--context", type=click.IntRange(min=1), help="window in tokens, if no engine says it"
)
@click.option("--json-path", help="dotted path to the pool in the answer of an unknown engine")
@click.option("--timeout", default=10.0, show_default=True, help="seconds for each address")
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
    PREFILL_URL is asked. Whatever is absent, odd or late fails.
    """
    try:
        from forensics.live.gate import Asked, Target, ask
    except ImportError:
        raise UsageError("gate needs aiohttp: install the `live` extra") from None

    stated = urls or tuple(filter(None, [os.environ.get("PREFILL_URL")]))
    if not stated:
        raise UsageError("which engine? give a URL, or set PREFILL_URL")
    how = Asked(_factor(headroom), context, json_path, timeout)
    key = _key(api_key_env)
    found = asyncio.run(ask([Target.of(text) for text in stated], how, key))
    if record is not None:
        _append(record, found)
    _print(found, as_json=as_json)
    return Exit.COMPLETE if found.passed else Exit.LIVE_FAILED


def _factor(text: str) -> Fraction:
    try:
        factor = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError("--headroom is a number such as 1.25") from None
    if factor < 1:
        raise UsageError("--headroom below 1 would let a pool pass that cannot hold its window")
    return factor


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    if name not in os.environ:
        raise UsageError(f"--api-key-env: {name} is not set")
    return os.environ[name]


def _append(record: Path, found: Gate) -> None:
    from forensics.live.record import capacity_records

    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(capacity_records(found))


def _print(found: Gate, *, as_json: bool) -> None:
    from forensics.live.gate import about_version

    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    for row in () if as_json else found.rows:
        click.echo(f"{row.node}: {row.sentence}")
    for sentence in () if as_json else found.chain:
        click.echo(sentence)
    hints = {about_version(row.pool) for row in found.rows if row.pool is not None}
    for hint in sorted(filter(None, hints)):
        click.echo(hint, err=True)
    click.echo(f"gate: {'passed' if found.passed else 'FAILED'}", err=True)
