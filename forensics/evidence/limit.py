"""The limit that a request was judged by, and the epoch that it came from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import polars as pl
from msgspec import Struct

from forensics.limits import epoch_nodes


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


def in_force(document: dict[str, Any], row: dict[str, Any]) -> list[Limit]:
    """Return the limits that a request stood against: one where node and time are known.

    Args:
        document: ``report.json``.
        row: the request in its table.
    """
    threshold = document["scope"]["threshold_tokens"]
    if threshold is not None:
        return [Limit(threshold + 1, "stated threshold, on every node")]
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
        if _covers(epoch, row["received_at"])
    ]


def _epochs(document: dict[str, Any], node: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the node's epochs, or those of all prefill nodes, with their line in the table."""
    own = _speaks_for(node, [epoch["node"] for epoch in document["epochs"]])
    for line, epoch in enumerate(document["epochs"], 2):  # after the header
        prefill = node is None and epoch["role"] in (None, "prefill")
        if prefill or (own is not None and epoch["node"] == own):
            yield line, epoch


def _speaks_for(node: str | None, known: list[str]) -> str | None:
    if node is None:
        return None
    epochs = pl.DataFrame({"node": known}, schema={"node": pl.String})
    return epoch_nodes(pl.Series([node], dtype=pl.String), epochs).get(node)


def _covers(epoch: dict[str, Any], at: datetime | None) -> bool:
    if at is None:
        return True
    since, until = (_time(epoch[name]) for name in ("effective_at", "until"))
    return (since is None or since <= at) and (until is None or at < until)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
