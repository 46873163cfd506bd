"""``forensics lab``: the engine with the fault, for tests, training and drills."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING, Any

import click

from forensics.commands.say import say
from forensics.errors import Exit, UsageError

if TYPE_CHECKING:
    from forensics.lab.engine import EngineOptions

FIXES = ("edge-reject", "retire-rejected", "check-length", "clear-pages")
LINKS = (
    "none",
    "drop",
    "duplicate",
    "truncate",
    "delay",
    "kill-prefill",
    "kill-decode",
    "client-cancel",
)

_SIZE = click.IntRange(min=1)


@click.group()
def lab() -> None:
    """Serve a small engine that really has the fault."""


@lab.command()
@click.option("--logs", required=True, type=click.Path(path_type=Path), help="new folder for logs")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen at")
@click.option("--port", default=30_000, show_default=True, help="of the router; 0: any free one")
@click.option("--context", "context_tokens", default=4_096, type=_SIZE, help="window in tokens")
@click.option("--prefill-pool", "prefill_pool_tokens", default=2_560, type=_SIZE, help="tokens")
@click.option("--decode-pool", "decode_pool_tokens", default=8_192, type=_SIZE, help="tokens")
@click.option("--page", "page_tokens", default=64, type=_SIZE, help="tokens a KV page holds")
@click.option(
    "--fault/--no-fault", default=True, show_default=True, help="hand over what is rejected"
)
@click.option("--fix", "fixes", multiple=True, type=click.Choice(FIXES), help="one fix; repeatable")
@click.option("--auto-truncate", is_flag=True, help="shorten what prefill cannot hold")
@click.option(
    "--link-fault",
    default="none",
    type=click.Choice(LINKS),
    show_default=True,
    help="what happens to hand-offs on the way",
)
@click.option(
    "--link-fault-after",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="hand-offs that go well before: on fresh pages nothing is left to leak",
)
@click.option(
    "--link-fault-every",
    default=3,
    show_default=True,
    type=_SIZE,
    help="one in so many hand-offs meets the link fault",
)
@click.option("--account", "accounts", multiple=True, help="NAME=KEY; repeatable")
def serve(
    logs: Path,
    host: str,
    port: int,
    fixes: tuple[str, ...],
    accounts: tuple[str, ...],
    **sizes: Any,
) -> int:
    """Serve the engine until it is interrupted; for tests, training and drills only.

    Prints the addresses of router, prefill and decode as JSON. The folder gets the logs that
    such a fleet would leave. What no log shows is written beside it at the end, as
    LOGS-truth.csv: which answers held others' markers.
    """
    from forensics.lab.engine import EngineOptions, LinkFault

    if logs.exists():
        raise UsageError(f"{logs} exists; the logs of a drill go into a folder of their own")
    sizes["link_fault"] = LinkFault(sizes["link_fault"])
    sizes |= {fix.replace("-", "_"): True for fix in fixes}
    options = EngineOptions(**sizes)
    _check(options)
    keys = _accounts(accounts or ("lab-a=lab-key-a", "lab-b=lab-key-b"))
    return asyncio.run(_serve(options, logs, keys, host, port))


def _check(options: EngineOptions) -> None:
    pools = (options.prefill_pool_tokens, options.decode_pool_tokens)
    if any(pool % options.page_tokens for pool in pools):
        raise UsageError("a pool is a number of whole pages")
    if min(options.prefill_limit, options.decode_limit) < 1:
        raise UsageError("window and pools hold at least seven tokens")


def _accounts(stated: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in stated]
    if not all(name and key for name, _, key in pairs):
        raise UsageError("an account is NAME=KEY")
    return {key: name for name, _, key in pairs}


async def _serve(options: Any, logs: Path, keys: dict[str, str], host: str, port: int) -> int:
    from forensics.lab.engine import LabEngine
    from forensics.lab.engine.truth import write_truth

    try:
        from forensics.lab.engine.service import served
    except ImportError:
        raise UsageError("lab serve needs aiohttp: install the `live` extra") from None

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    # Ids of its own each time: an older record of a canary must not fit a later drill.
    engine = LabEngine(options, logs, seed=randbits(64))
    async with served(engine, keys, host, port) as addresses:
        click.echo(json.dumps(vars(addresses)))
        click.echo("lab engine: has the fault on purpose; for tests, training and drills", err=True)
        await ended.wait()
    # Beside the folder and not in it: whoever reads the logs must not be told the answer.
    write_truth(engine.served, logs.with_name(f"{logs.name}-truth.csv"))
    leaked = sum(1 for one in engine.served if one.foreign)
    say(f"{len(engine.served)} answers, {leaked} held markers of others: {logs}", err=True)
    return Exit.COMPLETE
