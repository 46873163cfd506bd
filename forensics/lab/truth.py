"""Writes what really happened: which answers were computed over whose pages.

`truth.csv` has one row for every hand-off that was over the prefill limit in force or
short; `affected` means that pages the request had not written were read and that tokens
left for the client. `truth_sources.csv` has the tenants whose pages an affected answer
read. Pages that nobody had written since the start are in neither: they are
`reserved_pages - transferred_pages` less the pages named there.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from forensics.lab.clock import rfc3339
from forensics.lab.records import Handoff, LabRun

_COLUMNS = (
    "request_id",
    "transfer_id",
    "attempt",
    "tenant_id",
    "received_at",
    "prompt_tokens",
    "decode_node",
    "reserved_pages",
    "transferred_pages",
    "delivered",
    "affected",
)


def write_truth(run: LabRun, out: Path) -> None:
    """Write `truth.csv` and `truth_sources.csv` into `out`; an empty cell is not known."""
    out.mkdir(parents=True, exist_ok=True)
    listed = [h for h in run.handoffs if h.over_limit or h.short]
    _write(out / "truth.csv", _COLUMNS, [_row(h) for h in listed])
    _write(
        out / "truth_sources.csv",
        ("request_id", "source_tenant_id", "pages"),
        [row for handoff in run.affected for row in _sources(handoff)],
    )


def _row(handoff: Handoff) -> tuple[str, ...]:
    reserved = handoff.reserved_pages
    return (
        handoff.intent.request_id,
        str(handoff.transfer_id),
        str(handoff.attempt),
        handoff.intent.tenant_id,
        rfc3339(handoff.intent.arrived_at),
        str(handoff.intent.prompt_tokens),
        f"{handoff.decode_node}/dp{handoff.decode_rank}",
        "" if reserved is None else str(reserved),
        str(handoff.transferred_pages),
        _flag(handoff.delivered),
        _flag(handoff.affected),
    )


def _sources(handoff: Handoff) -> list[tuple[str, ...]]:
    pages: Counter[str] = Counter()
    for stale in handoff.stale:
        pages[stale.tenant_id] += stale.pages
    return [(handoff.intent.request_id, tenant, str(n)) for tenant, n in sorted(pages.items())]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _write(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
