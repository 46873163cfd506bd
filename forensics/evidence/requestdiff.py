"""Requests that entered, left, moved or changed between two reports, each with why."""

from __future__ import annotations

from typing import Any

import polars as pl
from msgspec import Struct

from forensics.evidence.matching import kin, pair
from forensics.evidence.reporttables import EVIDENCE_FILE, ReportTables
from forensics.evidence.rules import decided_by
from forensics.evidence.why import Why
from forensics.schema import AFFECTED_TIERS

NOT_LISTED = "not listed"


class RequestChange(Struct, frozen=True):
    """One request that is not as it was; :data:`NOT_LISTED` stands for the tier of no row.

    ``change`` is ``entered`` or ``left`` for the affected tiers, ``moved`` from one tier to
    another, ``changed`` within its tier, ``joined`` with another listed request or ``parted``
    from one, ``listed`` or ``unlisted`` among the others.
    """

    change: str
    request_id: str
    attempt: int
    tenant_id: str | None
    transfer_id: str | None
    before: str
    after: str
    added: list[str]
    removed: list[str]
    why: list[str]


_COMPARED = ("tier", "reasons", "missing")
_KEPT = (
    "request_id", "attempt", "tenant_id", "transfer_id", "model", "received_at",
    "prompt_tokens", *_COMPARED, "rule",
)  # fmt: skip


def request_changes(old: ReportTables, new: ReportTables) -> list[RequestChange]:
    """Return every listed request that differs, sorted by kind of change, then by id."""
    before, after = (_with_rule(report.requests()) for report in (old, new))
    pairs = pair(before, after)
    left = _side(before, "old").join(pairs, on="old_at", how="left")
    both = left.join(_side(after, "new"), on="new_at", how="full", coalesce=True)
    differ = both.filter(
        pl.any_horizontal(pl.col(f"old_{n}").ne_missing(pl.col(f"new_{n}")) for n in _COMPARED)
    )
    differ = _with_kin(differ, before, after)
    differ = _with_files(_with_files(differ, old, "old"), new, "new")
    why = Why(old, new)
    found = [_change(row, why) for row in differ.iter_rows(named=True)]
    return sorted(found, key=_order)


def _with_rule(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(rule=decided_by(rows["reasons"]))


def _side(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    named = rows.select(pl.col(name).alias(f"{side}_{name}") for name in _KEPT)
    return named.with_row_index(f"{side}_at")


def _with_kin(differ: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Add the row of the other report that a row without its like is part of there."""
    found = []
    for side, other, own, theirs in (
        ("old", "new", before, after),
        ("new", "old", after, before),
    ):
        alone = differ.filter(pl.col(f"{other}_tier").is_null())[f"{side}_at"]
        rows = own.with_row_index("at").filter(pl.col("at").is_in(alone.implode()))
        relatives = kin(rows, theirs)
        found.append(differ.join(relatives, left_on=f"{side}_at", right_on="at", how="inner"))
    known = pl.concat(found)
    rest = differ.join(known, on=["old_at", "new_at"], how="anti", nulls_equal=True)
    return pl.concat([known, rest], how="diagonal_relaxed")


def _with_files(differ: pl.DataFrame, report: ReportTables, side: str) -> pl.DataFrame:
    """Add the files that a request was read from, where only this side lists it."""
    other = "new" if side == "old" else "old"
    keys = [f"{side}_{name}" for name in ("request_id", "attempt", "tenant_id")]
    alone = differ.filter(pl.col(f"{other}_tier").is_null()).select(keys)
    evidence = report.table(EVIDENCE_FILE).select(
        *(pl.col(key.removeprefix(f"{side}_")).alias(key) for key in keys), "file"
    )
    files = (
        evidence.join(alone, on=keys, how="semi", nulls_equal=True)
        .group_by(keys)
        .agg(pl.col("file").unique().alias(f"{side}_files"))
    )
    return differ.join(files, on=keys, how="left", nulls_equal=True)


CHANGES = ("entered", "left", "moved", "changed", "joined", "parted", "listed", "unlisted")


def _order(found: RequestChange) -> tuple[int, str, str, int]:
    return CHANGES.index(found.change), found.request_id, found.tenant_id or "", found.attempt


def _change(row: dict[str, Any], why: Why) -> RequestChange:
    side = "old" if row["new_tier"] is None else "new"
    added, removed = _codes(row)
    return RequestChange(
        change=_kind(row),
        request_id=row[f"{side}_request_id"],
        attempt=row[f"{side}_attempt"],
        tenant_id=row[f"{side}_tenant_id"],
        transfer_id=row[f"{side}_transfer_id"],
        before=row["old_tier"] or row["kin_tier"] or NOT_LISTED,
        after=row["new_tier"] or row["kin_tier"] or NOT_LISTED,
        added=added,
        removed=removed,
        why=why.of(row),
    )


def _kind(row: dict[str, Any]) -> str:
    before, after = (row[f"{side}_tier"] or row["kin_tier"] for side in ("old", "new"))
    was, is_ = before in AFFECTED_TIERS, after in AFFECTED_TIERS
    if row["new_tier"] is None:
        alone = "unlisted" if row["kin_tier"] is None else "joined"
        return "left" if was and not is_ else alone
    if row["old_tier"] is None:
        alone = "listed" if row["kin_tier"] is None else "parted"
        return "entered" if is_ and not was else alone
    if was != is_:
        return "entered" if is_ else "left"
    return "changed" if before == after else "moved"


def _codes(row: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return reason codes, and values missing, that are there on one side alone."""
    before, after = (_marks(row, side) for side in ("old", "new"))
    if row["kin_tier"] is None and (row["old_tier"] is None or row["new_tier"] is None):
        return (after, []) if row["old_tier"] is None else ([], before)
    return [m for m in after if m not in before], [m for m in before if m not in after]


def _marks(row: dict[str, Any], side: str) -> list[str]:
    if row[f"{side}_tier"] is None:
        return list(row["kin_reasons"] or ())
    missing = [f"missing {name}" for name in row[f"{side}_missing"] or ()]
    return [*(row[f"{side}_reasons"] or ()), *missing]
