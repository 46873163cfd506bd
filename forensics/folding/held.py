"""Records of hand-offs between linking and folding, on disk, by what identifiers tell of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from forensics import fields, guard
from forensics.believed import JOINED
from forensics.fields import Field
from forensics.joins.gaps import ENGINE
from forensics.schema import ENGINE_HOP, HOPS
from forensics.sources.layout import PART
from forensics.spill import spill

CALL, OWN, BOTH = "call", "engine", "both"
"""A hand-off that a gateway alone logged, that engines alone did, and every other."""
KINDS = (CALL, OWN, BOTH)
_KEY = fields.text("handoff", fields.matching(r"[it]:.*"))
_MORE = (
    fields.text("hop", fields.one_of((*HOPS, ENGINE_HOP, JOINED))),
    *fields.flag("assumed", "earlier", "inferred", "attached", "agreed"),
    Field("observation", pl.UInt32()),
)
_OTHERS = [one for one in PART.fields if one.name != "hop"]
LINKED = guard.table("linked records", _OTHERS, _MORE, _KEY)
NUMBERED = guard.table("numbered records", _OTHERS, _MORE, Field("handoff", pl.UInt32()))
NUMBERS = guard.table("numbers of hand-offs", _KEY, Field("number", pl.UInt32()))


@dataclass(frozen=True)
class Held:
    """Files with records of some hand-offs, and how these are numbered.

    ``numbers`` is a file under :data:`NUMBERS`; None where the records have their numbers. Those
    of ``apart``, by key, are among them no longer.
    """

    files: tuple[Path, ...]
    numbers: Path | None
    apart: pl.Series = field(default_factory=lambda: pl.Series("handoff", [], dtype=pl.String))

    def read(self, handoffs: pl.Series | None = None) -> pl.DataFrame:
        """Return the records, or those of some hand-offs, with the number of their hand-off."""
        rows = [pl.read_parquet(file) for file in self.files]
        if self.numbers is None:
            return _among(pl.concat(rows, how="diagonal_relaxed"), "handoff", handoffs)
        numbers = _among(pl.read_parquet(self.numbers), "number", handoffs)
        if handoffs is not None:
            rows = [own.join(numbers, on="handoff", how="semi") for own in rows]
        every = pl.concat(rows, how="diagonal_relaxed")
        if self.apart.len():
            every = every.filter(~pl.col("handoff").is_in(self.apart.implode()))
        return numbered(every, numbers)


def _among(rows: pl.DataFrame, column: str, wanted: pl.Series | None) -> pl.DataFrame:
    return rows if wanted is None else rows.filter(pl.col(column).is_in(wanted.implode()))


def numbered(rows: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Return records with the number of their hand-off in place of its key."""
    rows = rows.join(numbers, on="handoff", how="left", maintain_order="left")
    return rows.drop("handoff").rename({"number": "handoff"}).rechunk()


def keep(rows: pl.DataFrame, folder: Path, name: str) -> dict[str, Path]:
    """Write linked records to a file for each of :data:`KINDS` that there is."""
    found: dict[str, Path] = {}
    for kind, own in _parted(rows).items():
        if own.height or (kind == BOTH and not found):
            found[kind] = folder / f"{name}-{kind}.parquet"
            spill(found[kind], own, LINKED)
    return found


def _parted(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    client, engine = rows["hop"] == "gateway", rows["hop"].is_in(ENGINE)
    with_others = {
        CALL: rows.filter(~client)["handoff"].unique(),
        OWN: rows.filter(~engine)["handoff"].unique(),
    }
    alone = {kind: ~rows["handoff"].is_in(others.implode()) for kind, others in with_others.items()}
    masks = {**alone, BOTH: ~(alone[CALL] | alone[OWN])}
    return {kind: rows.filter(mask) for kind, mask in masks.items()}
