"""Steps that end or limit the fault, as stated, each with what the logs show after it."""

from __future__ import annotations

import polars as pl

from forensics import exposure as doc
from forensics import tables
from forensics.analysis import Analysis
from forensics.exposure import stamp
from forensics.incident import micros
from forensics.verdicts import in_scope
from forensics.wording import count

_STEPS = {
    "detected": "the fault was noticed",
    "model_off": "the model was taken out of service",
    "fixed": "the fix was in place",
    "restored": "the model was back in service",
}


def containment(analysis: Analysis) -> list[doc.Containment]:
    """Return the stated steps in order, then what the logs show by themselves."""
    rows = in_scope(analysis.requests, "received_at", "tier", "rung")
    affected = tables.affected(rows)
    found = []
    for name, words in _STEPS.items():
        at = getattr(analysis.incident.timeline, name)
        if at is not None:
            moment = micros(at)
            evidence = f"after it: {count(_after(rows, moment), 'request')}, "
            evidence += count(_after(affected, moment), "affected response")
            found.append(doc.Containment(words, stamp(moment), "stated", evidence))
    found.sort(key=lambda step: step.at or "")
    return [*found, *_found(affected)]


def _after(rows: pl.DataFrame, moment: int) -> int:
    return rows.filter(pl.col("received_at") >= moment).height


def _found(affected: pl.DataFrame) -> list[doc.Containment]:
    last = affected["received_at"].drop_nulls().max()
    ended = "none was found" if last is None else "no later one is in these logs"
    undelivered = affected.filter((pl.col("rung") != "delivered").fill_null(value=False)).height
    return [
        doc.Containment(
            "last affected response",
            stamp(int(last)) if last is not None else None,  # type: ignore[arg-type]
            "found",
            ended,
        ),
        doc.Containment(
            "answers that did not leave",
            None,
            "found",
            f"{count(undelivered, 'affected response')} of {affected.height:,} are not known to "
            "have been delivered",
        ),
        doc.Containment(
            "copies at recipients",
            None,
            "found",
            "deleted, kept or not found: no log says it; the ledger of what was sent holds what "
            "recipients attest, and what is attested is not verified",
        ),
    ]
