"""Does the pool of each running engine cover what it advertises? Closed on any doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from urllib.parse import urlsplit

import aiohttp

from forensics.live.fetch import Fetched, fetch, shown
from forensics.live.pools import RankPool, UnreadableError, ranks, vllm_pool, vllm_window

HEADROOM = "1.25"
_INFO = ("/server_info", "/get_server_info")


@dataclass(frozen=True)
class Target:
    """One engine to ask: its name in the logs, and its address."""

    name: str
    url: str

    @classmethod
    def of(cls, text: str) -> Target:
        """Read ``URL`` or ``NAME=URL``; without a name, host and port are it."""
        name, sign, url = text.partition("=")
        if not sign or "/" in name:
            name, url = "", text
        url = url if "://" in url else f"http://{url}"
        return cls(name or urlsplit(url).netloc.rpartition("@")[2], url)


@dataclass(frozen=True)
class Asked:
    """How to ask: ``headroom`` times the window has to fit; ``window`` where none is said."""

    headroom: Fraction = Fraction(HEADROOM)
    window: int | None = None
    pool_path: str | None = None
    seconds: float = 10.0


@dataclass(frozen=True)
class Row:
    """One rank of one engine: what it says, what it would have to say, and the answer."""

    node: str
    url: str
    passed: bool
    sentence: str
    pool: RankPool | None = None
    needed: int | None = None


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
    rows: list[Row] = []
    async with aiohttp.ClientSession(headers=headers) as client:
        for target in targets:
            rows += await _rows(client, target, how)
    chain, sound = _chain(rows)
    return Gate(rows, chain, sound and bool(rows) and all(row.passed for row in rows), asked_at)


async def _rows(client: aiohttp.ClientSession, target: Target, how: Asked) -> list[Row]:
    try:
        found = await _found(client, target, how)
    except UnreadableError as error:
        return [Row(target.name, shown(target.url), passed=False, sentence=f"failed: {error}")]
    return [_judged(target, rank, how.headroom) for rank in found]


async def _found(client: aiohttp.ClientSession, target: Target, how: Asked) -> list[RankPool]:
    base = target.url.rstrip("/")
    if urlsplit(base).path:
        got = await fetch(client, base, how.seconds)
    else:
        got = await _first(client, base, how.seconds)
        if got.status == 404:
            return await _vllm(client, base, how)
    if got.fault is not None:
        raise UnreadableError(got.fault)
    return ranks(got.data, how.window, how.pool_path)


async def _first(client: aiohttp.ClientSession, base: str, seconds: float) -> Fetched:
    """Return the first address that is there; the older name is kept by newer servers too."""
    got = Fetched(fault="no address", status=404)
    for path in _INFO:
        got = await fetch(client, f"{base}{path}", seconds)
        if got.status != 404:
            return got
    return got


async def _vllm(client: aiohttp.ClientSession, base: str, how: Asked) -> list[RankPool]:
    metrics = await fetch(client, f"{base}/metrics", how.seconds)
    if metrics.fault is not None:
        raise UnreadableError(f"neither {' nor '.join(_INFO)}; /metrics: {metrics.fault}")
    pool = vllm_pool(metrics.data)
    window = how.window
    if window is None:
        models = await fetch(client, f"{base}/v1/models", how.seconds)
        if models.fault is not None:
            raise UnreadableError(f"/v1/models: {models.fault}")
        window = vllm_window(models.data)
    name, limit = "num_gpu_blocks x block_size", min(pool.tokens, window) + 1
    return [RankPool(None, pool.tokens, name, window, limit, "derived", pool.page, engine="vllm")]


def _judged(target: Target, rank: RankPool, headroom: Fraction) -> Row:
    needed = -(-rank.window * headroom.numerator // headroom.denominator)
    passed = rank.pool >= needed
    node = target.name if rank.rank is None else f"{target.name}/dp{rank.rank}"
    share = rank.pool / rank.window
    state = "passed" if passed else "failed"
    sentence = (
        f"{state}: pool {rank.pool:,} is {share:.2f} of the window {rank.window:,}; "
        f"{needed:,} needed; first rejected prompt {rank.limit:,} tokens ({rank.limit_basis})"
    )
    return Row(node, shown(target.url), passed, sentence, rank, needed)


def _chain(rows: Sequence[Row]) -> tuple[list[str], bool]:
    """Say what the engines mean together, and whether no pair of them is dangerous."""
    known = [(row.node, row.pool) for row in rows if row.pool is not None]
    if not known:
        return [], True
    node, smallest = min(known, key=lambda item: (item[1].limit, item[0]))
    said = [f"chain: the smallest limit is {smallest.limit:,} tokens, at {node}"]
    refusing = [(n, p) for n, p in known if p.role == "prefill"]
    serving = [(n, p) for n, p in known if p.role == "decode"]
    pairs = [(a, p, b, d) for a, p in refusing for b, d in serving if d.limit > p.limit]
    for prefill, low, decode, high in pairs:
        said.append(
            f"dangerous pair: {decode} accepts prompts of {low.limit:,} to {high.limit - 1:,} "
            f"tokens that {prefill} rejects"
        )
    return said, not pairs


_FIXES = (
    ((0, 5, 19), "no release up to 0.5.19 keeps a rejected prompt from being handed over"),
    ((0, 5, 20), "0.5.20 retires a rejected prompt after its forward pass, not before"),
)
_LATER = "0.5.21 and later retire a rejected prompt at the door"


def about_version(rank: RankPool) -> str | None:
    """Return what is known of an SGLang version: a hint, which decides nothing."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", rank.version or "")
    if match is None or rank.engine != "sglang":
        return None
    number = tuple(int(part) for part in match.groups())
    known = next((text for last, text in _FIXES if number <= last), _LATER)
    return f"version {rank.version} (a hint, forks differ): {known}"
