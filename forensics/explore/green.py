"""What has to be green after a fix: gate, canary, report and watch, each in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from forensics.live.verdict import sentence
from forensics.schema import AFFECTED_TIERS
from forensics.wording import count

if TYPE_CHECKING:
    from forensics.case import Case
    from forensics.live.gate import Gate
    from forensics.live.verdict import Canary
    from forensics.live.watch.asked import Counts


def verdicts(gate: Gate, canary: Canary, case: Case, watched: Counts) -> pl.DataFrame:
    """Return the four checks in the order in which they are made after a fix."""
    found = sum(watched.tiers[tier] for tier in AFFECTED_TIERS)
    told = f"{count(found, 'finding')} in {count(watched.records, 'record')}"
    undecided = len(case.affected) + len(case.not_assessable)
    rows = [
        ("gate", gate.passed, _pools(gate)),
        ("canary", canary.passed, sentence(canary)),
        ("report", not undecided, case.exposure().headline.sentence),
        ("watch", not found and watched.records > 0, told),
    ]
    return pl.DataFrame(rows, schema=["check", "passed", "sentence"], orient="row")


def _pools(gate: Gate) -> str:
    said = [f"{row.label} {row.sentence}" for row in gate.rows if not row.passed]
    return "; ".join([*said, *gate.chain]) or "every pool covers its window"
