"""Rows of a report's lineage against the records that they name.

A line of a file that is a record as it lies there is looked at; of all else the input is read
once more. That each value is what the line says is shown by ``rerun`` alone. Here a row is a
fault if its file has no such line, or if the line is that of another request: it lacks the
identifier that the row read there, which another line of the file has, or other requests alone
were read there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl
from msgspec import Struct

from forensics.evidence import linelook
from forensics.evidence.faults import Fault
from forensics.evidence.files import untouched
from forensics.evidence.folder import Sealed
from forensics.evidence.inputs import Located
from forensics.evidence.linereread import IDS as _IDS
from forensics.evidence.linereread import again
from forensics.evidence.record import Record
from forensics.evidence.reporttables import EVIDENCE_FILE, ReportTables
from forensics.sources.reread import REDACTED
from forensics.wording import count

_MOST_NAMED = 20
_REQUEST = ["request_id", "attempt"]


class NotChecked(Struct, frozen=True):
    """Rows of the lineage that were compared with nothing: of inputs of which format, and why."""

    format: str
    why: str
    rows: int


class Lineage(Struct, frozen=True):
    """How many rows of the lineage were compared with the records that they name."""

    checked: int = 0
    unchecked: list[NotChecked] = []

    def __str__(self) -> str:
        if not self.unchecked:
            return count(self.checked, "row") + " of lineage"
        rest = ", ".join(f"{one.rows:,} of {one.format} ({one.why})" for one in self.unchecked)
        return f"{count(self.checked, 'row')} of lineage, but not {rest}"


def check(sealed: Sealed, inputs: Sequence[Located]) -> tuple[list[Fault], Lineage]:
    """Return a fault for each row that names a record which is none of its request's.

    Args:
        sealed: the folder; where its lineage is not what was written, that is named already.
        inputs: where the inputs lie; of those that are not what was read, no row is looked at.

    Returns:
        The faults, and how many rows were looked at.
    """
    trusted = untouched(sealed)
    if sealed.record is None or sealed.record.kind != "report":
        return [], Lineage()
    if EVIDENCE_FILE not in trusted:
        return [], Lineage(0, [NotChecked("all", f"{EVIDENCE_FILE} is not what was written", 0)])
    try:
        rows = ReportTables(sealed.path, trusted, sealed.record).table(EVIDENCE_FILE)
        rows = rows.with_row_index("row", offset=1)
        by_name = {item.source.name: item for item in inputs}
        looks = [
            _look(by_name.get(name), own, sealed.record)
            for (name,), own in sorted(rows.group_by("file"))
        ]
    except (LookupError, TypeError, ValueError, OSError, pl.exceptions.PolarsError):
        return [Fault(EVIDENCE_FILE, "cannot be compared with the inputs: not in its form")], (
            Lineage(0, [NotChecked("all", "not in its form", 0)])
        )
    found = sorted(fault for look in looks for fault in look.faults)
    left: Counter[tuple[str, str]] = Counter()
    for look in looks:
        left.update(look.left)
    unchecked = [NotChecked(form, why, number) for (form, why), number in sorted(left.items())]
    return _named(found), Lineage(sum(look.checked for look in looks), unchecked)


def _named(found: list[tuple[int, str]]) -> list[Fault]:
    faults = [Fault(EVIDENCE_FILE, f"row {row}: {what}") for row, what in found[:_MOST_NAMED]]
    more = len(found) - len(faults)
    if more:
        faults.append(Fault(EVIDENCE_FILE, f"{more:,} further rows name lines of others"))
    return faults


@dataclass
class _Look:
    """What was found at the rows of one file, and how many were left out, by format and why."""

    faults: list[tuple[int, str]] = field(default_factory=list)
    checked: int = 0
    left: Counter[tuple[str, str]] = field(default_factory=Counter)


def _look(item: Located | None, rows: pl.DataFrame, record: Record) -> _Look:
    look = _Look()
    form = (item.source.format if item is not None else None) or "unknown format"
    placed = rows.filter(pl.col("line").is_not_null())
    if placed.height < rows.height:
        look.left[form, "they name no line"] += rows.height - placed.height
    if not placed.height:
        return look
    if item is None or item.state != "same":
        why = "the manifest has no such input" if item is None else f"its input {item.what}"
        look.left[form, why] += placed.height
        return look
    faults = _of_file(item, placed, record)
    if faults is None:
        look.left[form, "its input cannot be read as it was"] += placed.height
    else:
        look.faults, look.checked = list(faults), placed.height
    return look


def _of_file(item: Located, rows: pl.DataFrame, record: Record) -> list[tuple[int, str]] | None:
    """Return number and fault of the rows that name a wrong record of one file."""
    found = linelook.looked(item, rows) if item.stored is None else None
    others = list(_of_others(item.source.name, rows))
    if found is None:
        form = record.arguments.get("format")
        again_read = again(item, record.incident, form if isinstance(form, str) else None)
        if again_read is None:
            return None
        return [*_by_records(item.source.name, rows, again_read), *others]
    return [*linelook.misplaced(item, rows, found), *others]


def _by_records(name: str, rows: pl.DataFrame, records: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield the rows that name no record, or one without the identifier that was read there."""
    for row, line in rows.join(records, on="line", how="anti").select("row", "line").rows():
        yield row, f"{name} has no record {line}"
    ids = rows.filter(pl.col("column").is_in(_IDS), pl.col("value").is_not_null())
    ids = ids.filter(~pl.col("value").str.starts_with(REDACTED))
    known = records.select("line").unique()
    strange = ids.join(known, on="line", how="semi").join(
        records, left_on=["line", "value"], right_on=["line", "id"], how="anti"
    )
    strange = strange.join(
        records.select("id").unique(), left_on="value", right_on="id", how="semi"
    )
    for row, line in strange.select("row", "line").rows():
        yield row, f"record {line} of {name} is none of its request's"


def _of_others(name: str, rows: pl.DataFrame) -> Iterator[tuple[int, str]]:
    for row, line in _others(rows).select("row", "line").rows():
        yield row, f"line {line} of {name} is that of another request"


def _others(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows at lines whose identifiers are all of other requests."""
    known = rows.filter(pl.col("column").is_in(_IDS)).select(*_REQUEST, "line").unique()
    strange = rows.join(known, on=[*_REQUEST, "line"], how="anti", nulls_equal=True)
    return strange.join(known.select("line").unique(), on="line", how="semi")
