"""Strategies of page reuse by name: one file each, one line here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from forensics.attribution.allocators import fifo, lifo, sorted_sweep
from forensics.attribution.allocators.base import Allocator

ALLOCATORS: tuple[Allocator, ...] = (
    Allocator(
        sorted_sweep.NAME, sorted_sweep.MEANING, sorted_sweep.replay, sorted_sweep.replay_all
    ),
    Allocator(lifo.NAME, lifo.MEANING, lifo.replay),
    Allocator(fifo.NAME, fifo.MEANING, fifo.replay),
    Allocator(fifo.TAIL_FIRST, fifo.TAIL_FIRST_MEANING, fifo.replay_tail_first),
    Allocator("unknown", "the order of reuse is not known", None),
)
_OLD = re.compile(r"v?0\.([0-3]|4\.[0-6])(?![0-9])")
"""Versions of SGLang whose pages are not sorted in, though decode runs apart."""
_BY_NAME = {allocator.name: allocator for allocator in ALLOCATORS}


def named(name: str | None) -> Allocator:
    """Return a strategy; whatever is not known by its name is ``unknown``."""
    return _BY_NAME.get(name or "unknown", _BY_NAME["unknown"])


def expected(facts: Mapping[str, object]) -> str | None:
    """Return the strategy that an engine has by its own facts, or None where these do not tell.

    Args:
        facts: ``engine``, ``engine_version``, ``disaggregated`` and ``page_tokens``.
    """
    if facts["engine"] == "vllm":
        return fifo.TAIL_FIRST
    if facts["engine"] != "sglang" or facts["disaggregated"] is None:
        return None
    old = _OLD.match(str(facts["engine_version"] or "")) is not None
    if facts["disaggregated"] and not old:
        return sorted_sweep.NAME
    return fifo.NAME if facts["page_tokens"] == 1 else lifo.NAME


def chosen(facts: Mapping[str, object]) -> str | None:
    """Return the strategy that is stated, in the form that the engine has of it, or its own."""
    own, stated = expected(facts), str(facts["allocator"] or "") or None
    same = own == fifo.TAIL_FIRST and stated == fifo.NAME
    return own if stated is None or same else stated


def against(facts: Mapping[str, object]) -> str | None:
    """Return the reason why an engine's pages are not replayed by a strategy, or None.

    A strategy that is stated is believed where the engine is known to have it: no figure of an
    engine tells one order of reuse from another.

    Args:
        facts: those of :func:`expected`, and ``allocator`` where one is stated.
    """
    own, stated = expected(facts), chosen(facts)
    if named(str(stated or own)).replay is None:
        return "allocator_unknown"
    if own is None:
        return "allocator_unchecked"
    return "allocator_conflict" if stated not in (None, own) else None
