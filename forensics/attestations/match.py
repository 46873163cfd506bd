"""Which requests each attestation speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from forensics.attestations.record import Attestation

FLAGS = {"foreign": "reviewed_foreign", "own": "reviewed_own"}
"""The column that says that a request was attested, by verdict."""
MATCHED: dict[str, pl.DataType] = {
    "line": pl.Int64(),
    "verdict": pl.String(),
    "handoff": pl.UInt32(),
}


@dataclass(frozen=True)
class Attested:
    """Attestations and the requests that they name, one row of ``matched`` per pair."""

    rows: tuple[Attestation, ...]
    matched: pl.DataFrame

    @property
    def unmatched(self) -> tuple[Attestation, ...]:
        """Attestations of requests that no log holds."""
        known = set(self.matched["line"])
        return tuple(row for row in self.rows if row.line not in known)


def match(rows: Sequence[Attestation], requests: pl.DataFrame) -> Attested:
    """Return which hand-offs each attestation names: every attempt under its id and tenant.

    Where a request was retried, nobody but the last attempt answered; all of them are its own.
    """
    if not rows:
        return Attested((), pl.DataFrame(schema=MATCHED))
    said = pl.DataFrame(
        [(row.line, row.verdict, row.request_id, row.tenant_id) for row in rows],
        schema={"line": pl.Int64, "verdict": pl.String, "request_id": pl.String, "of": pl.String},
        orient="row",
    )
    known = requests.select("handoff", "request_id", "tenant_id")
    found = said.join(known, on="request_id").filter(
        pl.col("of").is_null() | (pl.col("of") == pl.col("tenant_id"))
    )
    return Attested(tuple(rows), found.select(*MATCHED).sort("line", "handoff"))


def attach(requests: pl.DataFrame, attested: Attested) -> pl.DataFrame:
    """Flag the requests that were attested; without any the frame is returned as it is."""
    if not attested.matched.height:
        return requests
    keys = {
        name: attested.matched.filter(pl.col("verdict") == verdict)["handoff"]
        for verdict, name in FLAGS.items()
    }
    return requests.with_columns(
        pl.col("handoff").is_in(handoffs.implode()).alias(name) for name, handoffs in keys.items()
    )
