"""The limits that a request was held against, and the epochs that they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from msgspec import Struct

from forensics.arrivals import LONGEST
from forensics.evidence.beliefs import Seen
from forensics.limits import epoch_nodes
from forensics.schema import REFUSAL_LIMIT, TIMED_LATE

Logged = Mapping[str, Sequence[Seen]]
"""By column, what was logged of a request."""


class Limit(Struct, frozen=True):
    """One limit in force: tokens, how it is known, and its line in ``capacity.csv``."""

    tokens: int | None
    basis: str
    node: str | None = None
    since: str | None = None
    until: str | None = None
    pool_tokens: int | None = None
    context_tokens: int | None = None
    inferred: bool = False
    capacity_line: int | None = None


def in_force(document: dict[str, Any], row: dict[str, Any], logged: Logged) -> list[Limit]:
    """Return the limits that a request stood against: one where node and time are known.

    Args:
        document: ``report.json``.
        row: the request in its table.
        logged: its values, by column.
    """
    threshold = document["scope"]["threshold_tokens"]
    if threshold is not None:
        return [Limit(threshold + 1, "stated threshold, on every node")]
    limit = row["input_limit_tokens"]
    if any(seen.value == str(limit) for seen in logged.get(REFUSAL_LIMIT, ())):
        return [Limit(limit, "quoted in its own refusal", row["prefill_node"])]
    first, last = _moments(row["received_at"], logged)
    return [
        Limit(
            tokens=epoch["input_limit_tokens"],
            basis=epoch["limit_basis"],
            node=epoch["node"],
            since=epoch["effective_at"],
            until=epoch["until"],
            pool_tokens=epoch["pool_tokens"],
            context_tokens=epoch["context_tokens"],
            inferred=epoch["inferred"],
            capacity_line=line,
        )
        for line, epoch in _epochs(document, row["prefill_node"])
        if _covers(epoch, first, last)
    ]


def _moments(at: datetime | None, logged: Logged) -> tuple[datetime | None, datetime | None]:
    """Return when a request came to prefill: at the earliest, and at the latest."""
    if at is None:
        return None, None
    late = {(seen.file, seen.line) for seen in logged.get(TIMED_LATE, ()) if seen.value == "true"}
    told = logged.get("received_at", ())
    arrived = any((seen.file, seen.line) not in late for seen in told)
    by_prefill = any(seen.hop == "prefill" for seen in told)
    taken = any(_time(seen.value) == at for seen in logged.get("reserved_at", ()))
    if arrived or by_prefill or (taken and not told):
        return at, at
    last = min((seen.value for seen in told), default=None)
    return at - timedelta(microseconds=LONGEST), at if last is None else _time(last)


def _epochs(document: dict[str, Any], node: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the node's epochs, or those of all prefill nodes, with their line in the table."""
    own = _speaks_for(node, [epoch["node"] for epoch in document["epochs"]])
    for line, epoch in enumerate(document["epochs"], 2):  # after the header
        # Of a node that no capacity is known of, another log may speak under another name.
        if epoch["node"] == own or (own is None and epoch["role"] in (None, "prefill")):
            yield line, epoch


def _speaks_for(node: str | None, known: list[str]) -> str | None:
    if node is None:
        return None
    epochs = pl.DataFrame({"node": known}, schema={"node": pl.String})
    return epoch_nodes(pl.Series([node], dtype=pl.String), epochs).get(node)


def _covers(epoch: dict[str, Any], first: datetime | None, last: datetime | None) -> bool:
    if first is None or last is None:
        return True
    since, until = (_time(epoch[name]) for name in ("effective_at", "until"))
    return (since is None or since <= last) and (until is None or first < until)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
