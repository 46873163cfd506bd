"""Validations of changed epochs: a gate and a canary, each with its time, or not cleared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.assemble.differences import differences
from forensics.assemble.tested import canaries, incident_limit, short_of
from forensics.capacity import END
from forensics.exposure import stamp

UNKNOWN = "unknown"
"""Stands for the engine of capacity records that name none: no canary is known to be of it."""


def validations(analysis: Analysis) -> list[doc.Validation]:
    """Return one row for each epoch that began with a changed setting."""
    seen, limit = canaries(analysis), incident_limit(analysis)
    found = []
    epochs = analysis.capacity.epochs.sort("node", "effective_at")
    for (node,), of_node in epochs.group_by("node", maintain_order=True):
        spans = list(_spans(list(of_node.iter_rows(named=True))))
        # A foreign marker of an unknown engine can be of this one.
        own = seen.filter(pl.col("node").is_null() | pl.col("node").is_in([node or ""]))
        for begin, end, names, rows in spans:
            during = own.filter(pl.col("seen_at").is_between(begin, end, closed="left"))
            # What ran before the change says nothing of what came after, whenever it was seen.
            during = during.filter(pl.col("foreign") | (pl.col("received_at") >= begin))
            found.append(
                doc.Validation(
                    str(node or UNKNOWN),
                    stamp(begin) or "",
                    names,
                    **_outcome(_gate(rows), _canary(during, limit)),
                )
            )
    return sorted(found, key=lambda row: (row.changed_at, row.node))


def _spans(rows: list[dict[str, Any]]) -> Iterator[tuple[int, int, str, list[dict[str, Any]]]]:
    """Yield start, end, names of the changed settings and own rows of each changed epoch.

    A record that does not hold a setting says nothing of it: no change begins there.
    """
    begins = []
    known = dict(rows[0])
    for at, row in enumerate(rows[1:], 1):
        names = [name for name, old, new in differences(known, row) if old and new]
        if names:
            begins.append((at, ", ".join(names)))
        known |= {name: value for name, value in row.items() if value is not None}
    for (first, changed), (after, _) in pairwise([*begins, (len(rows), "")]):
        end = rows[after]["effective_at"] if after < len(rows) else END
        yield rows[first]["effective_at"], end, changed, _filled(rows[first:after])


def _filled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of one epoch with its pool and window; those from before do not count."""
    known = {"pool_tokens": None, "context_tokens": None}
    found = []
    for row in rows:
        known = {name: old if row[name] is None else row[name] for name, old in known.items()}
        found.append(row | known)
    return found


Outcome = tuple[int | None, str]
"""When a validation was good enough, or None and why none was."""


def _outcome(gate: Outcome, canary: Outcome) -> dict[str, Any]:
    lacking = "; ".join(why for at, why in (gate, canary) if at is None)
    return {
        "gate_at": stamp(gate[0]),
        "canary_at": stamp(canary[0]),
        "result": "not cleared" if lacking else "cleared",
        "reason": lacking or "a gate and a canary, both after the change",
    }


def _gate(rows: list[dict[str, Any]]) -> Outcome:
    role = rows[0]["role"]
    gates = [row for row in rows if row["gate"] is not None and role in (None, row["role"])]
    if not gates:
        return None, "no gate is recorded"
    if not all(row["gate"] for row in gates):
        return None, "a gate failed"
    short = [short_of(row) for row in gates]
    good = [row["effective_at"] for row, why in zip(gates, short, strict=True) if why is None]
    return (max(good), "") if good else (None, str(short[-1]))


def _canary(during: pl.DataFrame, limit: int | None) -> Outcome:
    if during["foreign"].any():
        return None, "a canary found a foreign marker"
    if not during.height:
        return None, "no canary is recorded of one answered request after the change"
    if limit is None:
        return None, "how long a canary has to be is not known: no limit of the incident is"
    good = during.filter(pl.col("tokens") >= limit)["seen_at"]
    if not len(good):
        return None, f"no canary had a prompt of {limit:,} tokens, the limit of the incident"
    return int(good.max()), ""  # type: ignore[arg-type]
