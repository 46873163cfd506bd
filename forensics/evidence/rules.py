"""Which line of the decision order decided, from the reason codes of a row alone."""

from __future__ import annotations

import polars as pl

from forensics.findings import FINDINGS
from forensics.verdicts import ORDER, Rule, flag


def decided_by(reasons: pl.Series) -> pl.Series:
    """Return, for lists of reason codes, the place in :data:`ORDER` of the rule that decided.

    A code that this version does not know counts for nothing.
    """
    names = {finding.code: flag(finding.code).meta.output_name() for finding in FINDINGS}
    flags = pl.select(reasons.list.contains(code).alias(name) for code, name in names.items())
    fired = [
        pl.when(rule.condition).then(pl.lit(at, dtype=pl.Int64)) for at, rule in enumerate(ORDER)
    ]
    return flags.select(pl.coalesce(fired).alias("rule"))["rule"]


def rule_of(reasons: list[str], tier: str) -> tuple[int, Rule] | None:
    """Return the rule that decided a row, with its place from 1.

    None where the rules of this version would have put the row into another tier: it was
    judged by those of another.
    """
    at = int(decided_by(pl.Series([reasons], dtype=pl.List(pl.String)))[0])
    return (at + 1, ORDER[at]) if ORDER[at].tier == tier else None
