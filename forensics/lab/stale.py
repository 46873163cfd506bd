"""Whose pages a hand-off read: the truth that no log holds."""

from __future__ import annotations

from collections import Counter

from forensics.lab.pages import NOBODY, PagePool
from forensics.lab.records import Handoff, Stale

PROBE = -2
"""Writer of a page that a probe or warm-up filled: no tenant."""


def read_stale(
    pages: list[int], pool: PagePool, handoffs: list[Handoff]
) -> tuple[tuple[Stale, ...], int]:
    """Return the earlier writers of `pages`, oldest first, and how many nobody had written."""
    writers = Counter(pool.writer[page] for page in pages)
    unwritten = writers.pop(NOBODY, 0)
    writers.pop(PROBE, 0)
    return tuple(_stale(handoffs[w], writers[w]) for w in sorted(writers)), unwritten


def tail_of(page: int, pool: PagePool, handoffs: list[Handoff]) -> Stale | None:
    """Return who left rows in the prefill page that a placeholder fills by one row only."""
    writer = pool.writer[page]
    return _stale(handoffs[writer], 0) if writer >= 0 else None


def _stale(handoff: Handoff, pages: int) -> Stale:
    return Stale(handoff.intent.request_id, handoff.intent.tenant_id, pages)
