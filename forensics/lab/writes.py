"""The same run under the opposite fault: a placeholder whose rows go where others' pages are.

What a run logs does not change: the request that was rejected still counts one token on prefill
and its whole prompt on decode. What changes is what its rows did. Here they are not read from
pages that others had left; they are written, past the one page that was meant for them, into the
pages that follow it on the decode rank, whoever holds those while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from forensics.lab.clock import Micros
from forensics.lab.records import Handoff, LabRun


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An answer that was computed over pages which another request had written into."""

    request_id: str
    tenant_id: str
    by_request: str
    by_tenant: str
    pages: int


def overwritten(run: LabRun) -> list[Overwritten]:
    """Return the answers that hold data of a writer; the run must keep its pages.

    Raises:
        ValueError: the run did not keep pages.
    """
    if not run.config.keep_pages:
        raise ValueError("simulate with keep_pages=True")
    found = []
    for writer in run.handoffs:
        if not (writer.placeholder and writer.short and writer.reserved_at is not None):
            continue
        strayed = _strayed(writer)
        for other in run.handoffs:
            hit = _hit(other, writer, strayed)
            if hit:
                found.append(_row(other, writer, hit))
    return found


def _strayed(writer: Handoff) -> range:
    """Return the pages after the writer's own into which the rows of its placeholder go."""
    last = max(page for page, _ in writer.held)
    assert writer.reserved_pages is not None  # noqa: S101 -- short says so
    return range(last + 1, last + 1 + writer.reserved_pages - writer.transferred_pages)


def _hit(other: Handoff, writer: Handoff, strayed: range) -> int:
    """Return how many of the pages another request of the same rank held in the meantime."""
    same = (other.decode_node, other.decode_rank) == (writer.decode_node, writer.decode_rank)
    if not same or other is writer or not other.delivered:
        return 0
    begun, over = writer.reserved_at or 0, writer.released_at or _NEVER
    until = other.released_at or _NEVER
    return sum(page in strayed and since < over and begun < until for page, since in other.held)


_NEVER: Micros = 2**62


def _row(other: Handoff, writer: Handoff, pages: int) -> Overwritten:
    mine, theirs = other.intent, writer.intent
    return Overwritten(mine.request_id, mine.tenant_id, theirs.request_id, theirs.tenant_id, pages)
