"""Pool, window, page and limit in what a running engine says of itself as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forensics.live.document import MOST_RANKS, Said, UnreadableError, counted, every, parsed
from forensics.live.rankpool import RankPool

POOLS = ("max_total_num_tokens", "kv_pool_tokens", "max_total_tokens")
WINDOWS = ("context_length", "max_model_len", "context_len", "max_context_len")
_PAGES = ("page_size", "block_size")
_LIMITS = ("max_req_input_len",)
_SGLANG = {"max_total_num_tokens", "internal_states"}
_SIDES = ("prefill", "decode")
_RESERVE = 6
"""SGLang rejects at ``min(context, pool) - 6``."""


@dataclass(frozen=True)
class _Server:
    """One server's part of an answer, and the window that the caller states."""

    said: Said
    stated: int | None
    name: str | None = None

    @property
    def window(self) -> int:
        """What is advertised: the larger of what is said and what is stated."""
        found = [value for value, _ in self.said.counts(WINDOWS)] + self._of_ranks()
        if len(set(found)) > 1:
            raise UnreadableError(f"{self.said.path}two windows that differ")
        found += [self.stated] if self.stated else []
        if not found:
            raise UnreadableError(
                f"{self.said.path}no window: none of {', '.join(WINDOWS)} is there"
            )
        return max(found)

    def _of_ranks(self) -> list[int]:
        """Windows that ranks say by themselves."""
        states = self.said.values.get("internal_states")
        listed = states if isinstance(states, list) else []
        parts = [part for part in listed if isinstance(part, dict)]
        said = (Said(part, f"{self.said.path}internal_states.") for part in parts)
        return [value for part in said for value, _ in part.counts(WINDOWS)]


def ranks(data: bytes, window: int | None = None, pool_path: str | None = None) -> list[RankPool]:
    """Return the ranks in an answer of ``/server_info`` or the like.

    Args:
        data: the body, JSON.
        window: advertised context in tokens; a larger one in the answer counts instead.
        pool_path: dotted path to the pool, for engines whose field is not known. A number in it
            is the place of one rank: all others there are read too.

    Raises:
        UnreadableError: it is no JSON object, or pool, window or a rank are absent or odd.
    """
    document = parsed(data)
    if pool_path is not None:
        return _at_path(document, window, pool_path)
    found = [rank for server in _servers(document, window) for rank in _ranks(server)]
    if not found:
        raise UnreadableError("no server in the answer")
    return found


def _at_path(document: Mapping[str, Any], window: int | None, path: str) -> list[RankPool]:
    """Return every pool at a stated path, and those under known names, which count as well."""
    listed = any(isinstance(document.get(side), list) for side in _SIDES)
    servers = _servers(document, window) if listed else [_Server(Said(document), window)]
    known = [rank for server in servers if _says_pool(server.said) for rank in _ranks(server)]
    names = {rank.pool_field for rank in known}
    stated = [
        (counted(value, name), name) for value, name in every(document, path) if name not in names
    ]
    server = _Server(Said(document), window)
    there_are, _ = server.said.least(("dp_size",)) or (1, "")
    if len(stated) < there_are and not known:
        raise UnreadableError(f"{len(stated)} of {there_are} ranks say their pool")
    places = len(stated) + len(known)
    found = [_rank(server, pool) for pool in stated] + known
    return [replace(rank, place=at, places=places) for at, rank in enumerate(found, 1)]


def _says_pool(said: Said) -> bool:
    return said.least(POOLS) is not None or any(pool is not None for pool in _own(said))


def _servers(document: Mapping[str, Any], window: int | None) -> Iterator[_Server]:
    """Yield each server's part: a router's answer holds those of both sides."""
    sides = [side for side in _SIDES if document.get(side) is not None]
    for side in sides:
        if not isinstance(document[side], list):
            raise UnreadableError(f"{side} is no list of servers")
    if sides and Said(document).least(POOLS) is not None:
        raise UnreadableError("a pool beside those of the servers: whose it is is not said")
    if not sides:
        yield _Server(Said(document), window)
    for side in sides:
        for number, part in enumerate(document[side]):
            if not isinstance(part, dict):
                raise UnreadableError(f"{side}[{number}] is no object")
            values = {"disaggregation_mode": side, **part}
            yield _Server(Said(values, f"{side}[{number}]."), window, f"{side}-{number}")


def _ranks(server: _Server) -> Iterator[RankPool]:
    pools = _pools(server.said)
    for place, pool in enumerate(pools, 1):
        yield _rank(server, pool, place, len(pools))


def _pools(said: Said) -> list[tuple[int, str]]:
    """Return the pool of every rank there is; the server's own figure is its first rank's."""
    top, own = said.least(POOLS), _own(said)
    known = [pool for pool in own if pool is not None]
    there_are = max(len(own), (said.least(("dp_size",)) or (1, ""))[0])
    if known or there_are > 1:
        if len(known) != there_are:
            raise UnreadableError(f"{said.path}{len(known)} of {there_are} ranks say their pool")
        return [min(pool, top or pool) for pool in known]
    if top is None:
        raise UnreadableError(f"{said.path}no pool: none of {', '.join(POOLS)} is there")
    return [top]


def _own(said: Said) -> list[tuple[int, str] | None]:
    """Return the pool that each rank says it has."""
    states = said.values.get("internal_states")
    if states is None:
        return []
    if not isinstance(states, list) or len(states) > MOST_RANKS:
        raise UnreadableError(f"{said.path}internal_states is no list of ranks")
    paths = (f"{said.path}internal_states[{number}]" for number in range(len(states)))
    return [_of_state(state, path) for state, path in zip(states, paths, strict=True)]


def _of_state(state: Any, path: str) -> tuple[int, str] | None:
    if not isinstance(state, dict):
        raise UnreadableError(f"{path} is no object")
    found = Said(state, f"{path}.").counts(POOLS)
    usage = state.get("memory_usage")
    if isinstance(usage, dict) and "token_capacity" in usage:
        name = f"{path}.memory_usage.token_capacity"
        found.append((counted(usage["token_capacity"], name), name))
    return min(found, default=None)


def _rank(server: _Server, pool: tuple[int, str], place: int = 1, places: int = 1) -> RankPool:
    said, window = server.said, server.window
    page, stated = said.least(_PAGES), said.least(_LIMITS)
    sglang = stated is not None or not _SGLANG.isdisjoint(said.values)
    derived = max(1, min(pool[0], window) - _RESERVE) if sglang else min(pool[0], window) + 1
    mode = said.values.get("disaggregation_mode")
    return RankPool(
        *pool,
        window=window,
        # The reported limit is the first rank's too.
        limit=min(stated[0], derived) if stated else derived,
        limit_basis="reported" if stated and stated[0] <= derived else "derived",
        derived=derived,
        server=server.name,
        place=place,
        places=places,
        page=page[0] if page else None,
        role=mode if mode in ("prefill", "decode") else ("unified" if mode == "null" else None),
        engine="sglang" if sglang else None,
        version=_version(said.values.get("version")),
    )


def _version(value: Any) -> str | None:
    """Return what can be nothing but a version."""
    shape = r"v?\d+(\.\d+){1,3}[0-9A-Za-z.+_-]{0,24}"
    return value if isinstance(value, str) and re.fullmatch(shape, value) else None
