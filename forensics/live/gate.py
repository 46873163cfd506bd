"""Does the pool of each running engine cover what it advertises? Closed on any doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

import aiohttp

from forensics.live.chain import differing, judged_together, shared
from forensics.live.document import UnreadableError
from forensics.live.fetch import Fetched, fetch, session
from forensics.live.pools import ranks
from forensics.live.rankpool import RankPool
from forensics.live.stated import HEADROOM
from forensics.live.target import Target
from forensics.live.versions import about_version
from forensics.live.vllm import vllm_ranks, vllm_window

_INFO = ("/server_info", "/get_server_info")
_METRICS = "/metrics"


@dataclass(frozen=True)
class Asked:
    """How to ask: headroom, the window where none is said, seconds for each engine."""

    headroom: Fraction = Fraction(HEADROOM)
    window: int | None = None
    pool_path: str | None = None
    seconds: float = 10.0


@dataclass(frozen=True)
class Row:
    """One rank of one engine: what it says, what it would have to say, and the answer."""

    node: str
    """The server, as logs name it; ``label`` tells its ranks apart too."""
    label: str
    url: str
    passed: bool
    sentence: str
    pool: RankPool | None = None
    needed: int | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Gate:
    """All rows, what they mean together, and when they were asked."""

    rows: list[Row]
    chain: list[str]
    passed: bool
    asked_at: str


async def ask(targets: Sequence[Target], how: Asked, key: str | None = None) -> Gate:
    """Ask every engine and judge it; an engine that does not answer fails.

    Args:
        targets: the engines, in the order of the rows.
        how: headroom, stated window, path to the pool, seconds for each engine.
        key: API key to send to them; never shown.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    asked_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    async with session(headers) as client:
        parts = [await _rows(client, target, how) for target in targets]
    rows = [row for part in parts for row in part]
    known = [(row.label, row.pool) for row in rows if row.pool is not None]
    chain, sound = judged_together(known)
    doubled = shared([{row.node for row in part} for part in parts])
    nodes = [(row.node, row.pool) for row in rows if row.pool is not None]
    passed = sound and not doubled and bool(rows) and all(row.passed for row in rows)
    return Gate(rows, [*differing(nodes), *doubled, *chain], passed, asked_at)


async def _rows(client: aiohttp.ClientSession, target: Target, how: Asked) -> list[Row]:
    try:
        async with asyncio.timeout(how.seconds):
            found = await _found(client, target, how)
    except TimeoutError:
        return [_unknown(target, f"no whole answer within {how.seconds:g} s")]
    except UnreadableError as error:
        return [_unknown(target, str(error))]
    return [_judged(target, rank, how.headroom) for rank in found]


def _unknown(target: Target, why: str) -> Row:
    return Row(target.name, target.name, target.shown, passed=False, sentence=f"failed: {why}")


async def _found(client: aiohttp.ClientSession, target: Target, how: Asked) -> list[RankPool]:
    if target.path.endswith(_METRICS):
        return await _vllm(client, target, how)
    if target.path:
        got = await fetch(client, target.at(target.path))
    else:
        got = await _first(client, target)
        if got.status == 404 and how.pool_path is None:
            return await _vllm(client, target, how)
    return ranks(_body(got), how.window, how.pool_path)


def _body(got: Fetched, what: str = "") -> bytes:
    if got.fault is not None:
        raise UnreadableError(f"{what}{got.fault}")
    return got.data


async def _first(client: aiohttp.ClientSession, target: Target) -> Fetched:
    """Return the first address that is there; the older name is kept by newer servers too."""
    got = Fetched(fault="no address", status=404)
    for path in _INFO:
        got = await fetch(client, target.at(path))
        if got.status != 404:
            return got
    return got


async def _vllm(client: aiohttp.ClientSession, target: Target, how: Asked) -> list[RankPool]:
    """Ask a server that has no account of itself, only metrics and models."""
    base = target.path.removesuffix(_METRICS)
    why = "" if target.path else f"neither {' nor '.join(_INFO)}; "
    metrics = _body(await fetch(client, target.at(base + _METRICS)), f"{why}/metrics: ")
    models = await fetch(client, target.at(f"{base}/v1/models"))
    if models.fault is not None and how.window is not None:
        return vllm_ranks(metrics, how.window)
    window = vllm_window(_body(models, "/v1/models: "))
    return vllm_ranks(metrics, max(window, how.window or 0))


def _judged(target: Target, rank: RankPool, headroom: Fraction) -> Row:
    needed = -(-rank.window * headroom.numerator // headroom.denominator)
    passed = rank.pool >= needed
    node = target.name if rank.server is None else f"{target.name}-{rank.server}"
    label = node if rank.places == 1 else f"{node} ({rank.place} of {rank.places})"
    state, share = "passed" if passed else "failed", rank.pool / rank.window
    sentence = (
        f"{state}: pool {rank.pool:,} is {share:.2f} of the window {rank.window:,}; "
        f"{needed:,} needed; first rejected prompt {rank.limit:,} tokens ({rank.limit_basis})"
        f"{_refused(rank)}"
    )
    return Row(node, label, target.shown, passed, sentence, rank, needed, about_version(rank))


def _refused(rank: RankPool) -> str:
    """Say which prompts a limit refuses that pool and window have room for.

    That is no fault of the pool: it is refused by intent. But it is not what is advertised, and
    where the refusal is the scheduler's, such a prompt is a rejected one like any other.
    """
    if rank.limit >= rank.derived:
        return ""
    return (
        f"; note: {rank.limit:,} to {rank.window - 1:,} tokens are refused by a limit of its own, "
        "though advertised"
    )
