"""Two reports: who entered, left or moved, and what may have caused it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
from msgspec import Struct

from forensics import fields
from forensics.errors import NoInputError
from forensics.evidence.documentdiff import Change, document_changes
from forensics.evidence.inputdiff import input_changes
from forensics.evidence.reporttables import finished
from forensics.evidence.requestdiff import CHANGES, RequestChange, request_changes
from forensics.fields import count, of, text
from forensics.guard import table
from forensics.schema import REQUEST_COLUMNS, by_name

_KINDS = ("request", "headline", "tenant", "epoch", "setting", "input", "tool")
_OTHER_CHANGES = ("entered", "left", "changed", "added", "removed")

DIFFERENCES = table(
    "differences",
    text("kind", fields.one_of(_KINDS)),
    text("change", fields.one_of({*CHANGES, *_OTHER_CHANGES})),
    text("name", fields.place),
    count("attempt"),
    of(by_name(REQUEST_COLUMNS)["tenant_id"]),
    *(text(name, fields.place) for name in ("before", "after", "added", "removed", "why")),
)
"""One row for everything that differs; lists are joined by ``;``."""


class Diff(Struct, frozen=True):
    """Everything that differs between two reports."""

    old: str
    new: str
    requests: list[RequestChange]
    others: list[Change]

    def __str__(self) -> str:
        counted = Counter(change.change for change in self.requests)
        found = [f"{n:,} {change}" for change, n in counted.items()]
        others = Counter(f"{change.kind} {change.change}" for change in self.others)
        rest = [f"{n:,} {name}" for name, n in others.items()]
        head = f"{self.old} -> {self.new}: requests: {', '.join(found) or 'none differs'}"
        return f"{head}; {', '.join(rest) or 'nothing else differs'}"


def diff(old: Path, new: Path) -> Diff:
    """Compare two finished reports; no log is read.

    Raises:
        NoInputError: one of them is no report, or its files are not what was written.
    """
    before, after = finished(old), finished(new)
    try:
        others = [*document_changes(before, after), *input_changes(before.record, after.record)]
        return Diff(str(old), str(new), request_changes(before, after), others)
    except (LookupError, TypeError, pl.exceptions.PolarsError):
        raise NoInputError(f"{old}, {new}: one is not in the form of this version") from None


def rows(found: Diff) -> pl.DataFrame:
    """Return a diff as the table :data:`DIFFERENCES`."""
    requests = [_request(change) for change in found.requests]
    others = [_row(change) for change in found.others]
    return pl.DataFrame([*requests, *others], schema=DIFFERENCES.dtypes, orient="row")


def _request(change: RequestChange) -> tuple[str | int | None, ...]:
    key = (change.request_id, change.attempt, change.tenant_id)
    lists = (";".join(part) for part in (change.added, change.removed, change.why))
    return ("request", change.change, *key, change.before, change.after, *lists)


def _row(change: Change) -> tuple[str | int | None, ...]:
    tenant = change.name if change.kind == "tenant" else None
    name = change.population if change.population is not None else change.name
    both = (change.before, change.after)
    return (change.kind, change.change, name, None, tenant, *both, None, None, None)
