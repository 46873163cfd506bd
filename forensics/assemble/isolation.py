"""Validations of changed epochs: a gate and a canary, each with its time, or not cleared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

from forensics import exposure as doc
from forensics.analysis import Analysis
from forensics.assemble.differences import differences
from forensics.capacity import END
from forensics.columns import ensure
from forensics.exposure import stamp

UNKNOWN = "unknown"
"""Stands for the engine of capacity records that name none: no canary is known to be of it."""


def validations(analysis: Analysis) -> list[doc.Validation]:
    """Return one row for each epoch that began with a changed setting."""
    canaries = _canaries(analysis)
    found = []
    epochs = analysis.capacity.epochs.sort("node", "effective_at")
    for (node,), rows in epochs.group_by("node", maintain_order=True):
        spans = list(_spans(list(rows.iter_rows(named=True))))
        own = canaries.filter(pl.col("node") == node) if node is not None else canaries.clear()
        found += [_validation(str(node or UNKNOWN), *span, own) for span in spans]
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
        yield rows[first]["effective_at"], end, changed, rows[first:after]


def _validation(
    node: str, begin: int, end: int, names: str, rows: list[dict[str, Any]], canaries: pl.DataFrame
) -> doc.Validation:
    gates = [row for row in rows if row["gate"] is not None]
    failed = sum(row["gate"] is False for row in gates)
    passed = [row["effective_at"] for row in gates if row["gate"]]
    during = canaries.filter(pl.col("at").is_between(begin, end, closed="left"))
    foreign = int(during["foreign"].sum())
    kept = during.filter(~pl.col("foreign"))["at"]
    gate_at = max(passed) if passed and not failed else None
    canary_at = int(kept.max()) if len(kept) and not foreign else None  # type: ignore[arg-type]
    lacking = [
        *([] if gate_at is not None else ["a gate failed" if failed else "no gate is recorded"]),
        *(
            []
            if canary_at is not None
            else ["a canary found a foreign marker" if foreign else "no canary is recorded"]
        ),
    ]
    return doc.Validation(
        node=node,
        changed_at=stamp(begin) or "",
        changed=names,
        gate_at=stamp(gate_at),
        canary_at=stamp(canary_at),
        result="not cleared" if lacking else "cleared",
        reason="; ".join(lacking) or "a gate and a canary, both after the change",
    )


_ASKED = ["prefill_node", "decode_node", "request_id", "handoff"]


def _canaries(analysis: Analysis) -> pl.DataFrame:
    """Return node, time and outcome of the canary records whose request names its nodes.

    A canary goes through a front end: by itself it says nothing of which engine answered.
    """
    records = analysis.markers.records
    rows = ensure(analysis.requests, [*_ASKED, "http_status", "completion_tokens"])
    # Nothing can be seen in the answer to a request that got none.
    answered = (pl.col("http_status") < 400).fill_null(value=True)
    answered &= (pl.col("completion_tokens") > 0).fill_null(value=True)
    seen = rows.select(
        "handoff",
        answered.alias("answered"),
        seen_request_id="request_id",
        prefill="prefill_node",
        decode="decode_node",
    )
    both = records.join(seen, on="seen_request_id", how="inner")
    foreign = pl.col("handoff").is_in(analysis.markers.handoffs.implode())
    both = both.filter(foreign | pl.col("answered"))
    named = [
        both.select(node=side, at="seen_at", foreign=foreign) for side in ("prefill", "decode")
    ]
    return pl.concat(named).drop_nulls(["node", "at"]).rechunk()
