"""Pool, window, page and limit in whatever a running engine says of itself.

A value that is there and is no positive whole number is a fault, not an absence: a check
that guesses is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

POOLS = ("max_total_num_tokens", "kv_pool_tokens", "max_total_tokens")
WINDOWS = ("context_length", "max_model_len", "context_len", "max_context_len")
_PAGES = ("page_size", "block_size")
_LIMITS = ("max_req_input_len",)
_SGLANG = {"max_total_num_tokens", "internal_states"}
_RESERVE = 6
"""SGLang rejects at ``min(context, pool) - 6``."""


class UnreadableError(Exception):
    """The answer does not say what is needed; the text is one line and quotes nothing."""


@dataclass(frozen=True)
class RankPool:
    """What one rank of a server says. Tokens throughout; ``None`` is not said."""

    rank: int | None
    pool: int
    pool_field: str
    window: int
    limit: int
    limit_basis: str
    page: int | None = None
    role: str | None = None
    engine: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class _Said:
    values: Mapping[str, Any]
    path: str = ""
    window: int | None = None

    def count(self, names: Sequence[str], *, ignore_null: bool = True) -> tuple[int, str] | None:
        """Return the smallest of some fields and its name.

        Raises:
            UnreadableError: one of them is there and is no positive whole number.
        """
        found = []
        for name in names:
            value = self.values.get(name)
            if value is None and (ignore_null or name not in self.values):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise UnreadableError(f"{self.path}{name} is no positive whole number")
            found.append((value, f"{self.path}{name}"))
        return min(found) if found else None


def ranks(data: bytes, window: int | None = None, pool_path: str | None = None) -> list[RankPool]:
    """Return the ranks in an answer of ``/server_info`` or the like.

    Args:
        data: the body, JSON.
        window: advertised context in tokens, where the answer does not say it.
        pool_path: dotted path to the pool, for engines whose field is not known.

    Raises:
        UnreadableError: it is no JSON object, or pool or window are absent or no numbers.
    """
    document = _parsed(data)
    if pool_path is not None:
        return [_at_path(document, pool_path, window)]
    return [rank for said in _servers(document, window) for rank in _ranks(said)]


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        start = data.lstrip()[:1]
        raise UnreadableError("HTML, not JSON" if start == b"<" else "no JSON") from None
    if not isinstance(document, dict):
        raise UnreadableError("no JSON object")
    return document


def _servers(document: Mapping[str, Any], window: int | None) -> Iterator[_Said]:
    """Yield each server's part: a router's answer holds those of both sides."""
    sides = [side for side in ("prefill", "decode") if isinstance(document.get(side), list)]
    if not sides:
        yield _Said(document, window=window)
    for side in sides:
        for number, part in enumerate(document[side]):
            if not isinstance(part, dict):
                raise UnreadableError(f"{side}[{number}] is no object")
            values = {"disaggregation_mode": side, **part}
            yield _Said(values, f"{side}[{number}].", window)


def _ranks(said: _Said) -> Iterator[RankPool]:
    top = said.count(POOLS)
    states = said.values.get("internal_states")
    if not states:
        if top is None:
            raise UnreadableError(f"{said.path}no pool: none of {', '.join(POOLS)} is there")
        yield _rank(said, None, *top)
        return
    if not isinstance(states, list):
        raise UnreadableError(f"{said.path}internal_states is no list")
    for number, state in enumerate(states):
        own = _of_state(state, f"{said.path}internal_states[{number}].") or top
        if own is None:
            raise UnreadableError(f"{said.path}internal_states[{number}] says no pool")
        # The server's figure is its first rank's; a rank's own counts where it is smaller.
        yield _rank(said, number, *min(own, top or own))


def _of_state(state: Any, path: str) -> tuple[int, str] | None:
    if not isinstance(state, dict):
        raise UnreadableError(f"{path.rstrip('.')} is no object")
    usage = state.get("memory_usage")
    if isinstance(usage, dict) and "token_capacity" in usage:
        inner = _Said(usage, f"{path}memory_usage.")
        return inner.count(("token_capacity",), ignore_null=False)
    return _Said(state, path).count(POOLS)


def _rank(said: _Said, number: int | None, pool: int, name: str) -> RankPool:
    window = said.count(WINDOWS) or (said.window and (said.window, "stated"))
    if not window:
        raise UnreadableError(f"{said.path}no window: none of {', '.join(WINDOWS)} is there")
    page, stated = said.count(_PAGES), said.count(_LIMITS)
    sglang = stated is not None or not _SGLANG.isdisjoint(said.values)
    derived = min(pool, window[0]) - _RESERVE if sglang else min(pool, window[0]) + 1
    mode = said.values.get("disaggregation_mode")
    return RankPool(
        rank=number,
        pool=pool,
        pool_field=name,
        window=window[0],
        # The reported limit is the first rank's too.
        limit=min(stated[0], derived) if stated else derived,
        limit_basis="reported" if stated and stated[0] <= derived else "derived",
        page=page[0] if page else None,
        role=mode if mode in ("prefill", "decode") else ("unified" if mode == "null" else None),
        engine="sglang" if sglang else None,
        version=_version(said.values.get("version")),
    )


def _version(value: Any) -> str | None:
    fits = isinstance(value, str) and re.fullmatch(r"[0-9A-Za-z.+_-]{1,48}", value)
    return value if fits else None


def _at_path(document: Mapping[str, Any], path: str, window: int | None) -> RankPool:
    value: Any = document
    for key in path.split("."):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise UnreadableError(f"nothing at {path}")
    said = _Said({path: value}).count((path,), ignore_null=False)
    if said is None:
        raise UnreadableError(f"nothing at {path}")
    return _rank(_Said(document, window=window), None, *said)


_SAMPLE = re.compile(rb"^vllm:cache_config_info\{([^}\n]{0,8192})\} 1(?:\.0)?\s*$", re.MULTILINE)
_LABEL = re.compile(rb'(\w+)="([^"\\]*)"')


@dataclass(frozen=True)
class VllmPool:
    """Blocks and block size of a vLLM server, from its metrics."""

    tokens: int
    page: int
    parts: list[str] = field(default_factory=list)


def vllm_pool(data: bytes) -> VllmPool:
    """Return the smallest pool of the engines in a scrape of vLLM's ``/metrics``.

    Raises:
        UnreadableError: the gauge is absent or its labels are no numbers.
    """
    pools = []
    for sample in _SAMPLE.findall(data):
        labels = {key.decode(): value for key, value in _LABEL.findall(sample)}
        try:
            blocks, size = int(labels["num_gpu_blocks"]), int(labels["block_size"])
        except (KeyError, ValueError):
            raise UnreadableError("cache_config_info holds no number of blocks") from None
        if blocks <= 0 or size <= 0:
            raise UnreadableError("cache_config_info holds no positive number of blocks")
        pools.append(VllmPool(blocks * size, size))
    if not pools:
        raise UnreadableError("no vllm:cache_config_info among the metrics")
    return min(pools, key=lambda pool: pool.tokens)


def vllm_window(data: bytes) -> int:
    """Return the largest window that ``/v1/models`` advertises.

    Raises:
        UnreadableError: it advertises none.
    """
    models = _parsed(data).get("data")
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise UnreadableError("/v1/models lists no model")
    found = [_Said(model, "/v1/models ").count(("max_model_len",)) for model in models]
    known = [window[0] for window in found if window is not None]
    if not known:
        raise UnreadableError("/v1/models says no max_model_len")
    return max(known)
