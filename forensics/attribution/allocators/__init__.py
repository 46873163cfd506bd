"""Strategies of page reuse by name: one file each, one line here."""

from __future__ import annotations

from collections.abc import Mapping

from forensics.attribution.allocators import fifo, lifo, sorted_sweep
from forensics.attribution.allocators.base import Allocator

ALLOCATORS: tuple[Allocator, ...] = (
    Allocator(sorted_sweep.NAME, sorted_sweep.MEANING, sorted_sweep.replay),
    Allocator(lifo.NAME, lifo.MEANING, lifo.replay),
    Allocator(fifo.NAME, fifo.MEANING, fifo.replay),
    Allocator("unknown", "the order of reuse is not known", None),
)
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
        return fifo.NAME
    if facts["engine"] != "sglang" or facts["disaggregated"] is None:
        return None
    old = str(facts["engine_version"] or "").startswith("0.4.6")
    if facts["disaggregated"] and not old:
        return sorted_sweep.NAME
    return fifo.NAME if facts["page_tokens"] == 1 else lifo.NAME


def against(facts: Mapping[str, object]) -> str | None:
    """Return the reason why an engine's pages are not replayed by a strategy, or None.

    A strategy that is stated is believed where the engine is known to have it: no figure of an
    engine tells one order of reuse from another.

    Args:
        facts: those of :func:`expected`, and ``allocator`` where one is stated.
    """
    own, stated = expected(facts), facts["allocator"] or None
    if named(str(stated or own)).replay is None:
        return "allocator_unknown"
    if own is None:
        return "allocator_unchecked"
    return "allocator_conflict" if stated not in (None, own) else None
