"""Which requests each attestation speaks for.

It names a request by its id, in whichever hop's log; where that was tried several times, or
several tenants use the id, one answer was looked at, and the id does not say which. A try of
which it is shown that nothing left for the client was answered by nobody. Of the others, foreign
data is taken for that of the last one of each tenant, as a client's answer is; data of its own
lowers none of them.
A review from before a try came was not of it, and says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from forensics.attestations.record import Attestation
from forensics.clock import ZONE_UNCERTAINTY
from forensics.columns import ensure
from forensics.findings.base import ATTACHED
from forensics.findings.not_delivered import NOT_DELIVERED
from forensics.incident import micros
from forensics.skew import FAR

READ = ("request_id",)
"""What is read of records."""
FLAGS = {"foreign": "reviewed_foreign", "own": "reviewed_own"}
"""The column that says that a request was attested, by verdict."""
NAMED: dict[str, pl.DataType] = {
    "line": pl.Int64(),
    "verdict": pl.String(),
    "handoff": pl.UInt32(),
    "taken": pl.Boolean(),
    "several": pl.Boolean(),
    "early": pl.Boolean(),
}
_SAID = {"line": pl.Int64, "verdict": pl.String, "request_id": pl.String, "of": pl.String}
_SAID |= {"reviewed_at": pl.Int64}
_WANTED = (
    *("attempt", "tenant_id", "completion_seen", "http_status", "stream_error"),
    *("received_at", "assumed"),
)


@dataclass(frozen=True)
class Attested:
    """Attestations and the requests that they name, one row of ``named`` per pair.

    ``taken`` says that the attestation decides there, ``several`` that it may be of another try,
    ``early`` that it was written before the request came.
    """

    rows: tuple[Attestation, ...]
    named: pl.DataFrame

    @property
    def unmatched(self) -> tuple[Attestation, ...]:
        """Attestations of requests that no log holds."""
        known = set(self.named["line"])
        return tuple(row for row in self.rows if row.line not in known)

    @property
    def early(self) -> tuple[Attestation, ...]:
        """Attestations from before each of the requests that they name."""
        late = set(self.named.filter(~pl.col("early"))["line"])
        early = set(self.named.filter("early")["line"]) - late
        return tuple(row for row in self.rows if row.line in early)

    def several(self, verdict: str) -> int:
        """Return how many attestations of a verdict may be of one try or of another."""
        rows = self.named.filter("several", pl.col("verdict") == verdict)
        return rows["line"].n_unique()


def match(rows: Sequence[Attestation], requests: pl.DataFrame, observed: pl.DataFrame) -> Attested:
    """Return which hand-offs each attestation names, and where it is taken.

    Args:
        rows: the attestations.
        requests: all requests with ``handoff``.
        observed: the records behind them: a client knows a request by its own record's id.
    """
    if not rows:
        return Attested((), pl.DataFrame(schema=NAMED))
    said = pl.DataFrame(
        [(r.line, r.verdict, r.request_id, r.tenant_id, micros(r.reviewed_at)) for r in rows],
        schema=_SAID,
        orient="row",
    )
    ids = pl.concat([held.select("handoff", "request_id") for held in (requests, observed)])
    named = said.join(ids.drop_nulls().unique(), on="request_id")
    found = named.join(_tries(requests), on="handoff").filter(
        pl.col("of").is_null() | (pl.col("of") == pl.col("tenant_id"))
    )
    return Attested(tuple(rows), _taken(found).select(*NAMED).sort("line", "handoff"))


def _tries(requests: pl.DataFrame) -> pl.DataFrame:
    """Return each hand-off with its id, and whether its answer, if any, may have been seen."""
    rows = ensure(requests, _WANTED)
    absent = [name for name in ATTACHED if name not in rows.columns]
    rows = rows.with_columns(pl.lit(value=False).alias(name) for name in absent)
    silent = NOT_DELIVERED.expression.fill_null(value=False)
    names = ("handoff", "tenant_id", pl.col("attempt").fill_null(0))
    assumed = pl.col("assumed").fill_null(value=False)
    margin = [name for name in ("clock_margin",) if name in requests.columns]
    off = pl.max_horizontal(pl.lit(FAR), *margin)
    unsure = pl.when(assumed).then(ZONE_UNCERTAINTY).otherwise(off)
    return rows.select(*names, answered=~silent, came=pl.col("received_at") - unsure)


def _taken(found: pl.DataFrame) -> pl.DataFrame:
    """Say where each attestation is taken, of the tries that may have been answered."""
    of_one = ("line", "tenant_id")
    found = found.with_columns(
        early=(pl.col("reviewed_at") < pl.col("came")).fill_null(value=False)
    )
    none = ~(pl.col("answered") & ~pl.col("early")).any().over(of_one)
    rows = found.with_columns(open=(pl.col("answered") | none) & ~pl.col("early"))
    tries = pl.col("open").sum().over("line")
    last = pl.col("attempt") == pl.col("attempt").filter("open").max().over(of_one)
    foreign = pl.col("verdict") == "foreign"
    return rows.with_columns(
        taken=pl.col("open") & pl.when(foreign).then(last).otherwise(tries == 1),
        several=pl.col("open") & (tries > 1),
    )


def attach(requests: pl.DataFrame, attested: Attested) -> pl.DataFrame:
    """Flag the requests that were attested; without any the frame is returned as it is."""
    if not attested.named["taken"].any():
        return requests
    keys = {
        name: attested.named.filter("taken", pl.col("verdict") == verdict)["handoff"]
        for verdict, name in FLAGS.items()
    }
    return requests.with_columns(
        pl.col("handoff").is_in(handoffs.implode()).alias(name) for name, handoffs in keys.items()
    )
