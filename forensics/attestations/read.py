"""``verdicts.csv`` to attestations: a closed set of columns, and nothing that is not a code.

An error names file, line and column, never a value: who writes such a file has content at hand.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import category

import msgspec
import polars as pl

from forensics import fields
from forensics.attestations.record import Attestation
from forensics.errors import IncidentError
from forensics.guard import misfits

NEEDED = ("request_id", "verdict", "basis", "reviewer_role", "reviewed_at", "method")
COLUMNS = (*NEEDED, "tenant_id")


def read(path: Path) -> tuple[Attestation, ...]:
    """Return the attestations of a file, sorted by request.

    Raises:
        IncidentError: it cannot be read, has no row, has another column, lacks one, holds a value
            that is no code of its column, or says both of one request.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as source:
            found = tuple(_rows(path, csv.reader(source, strict=True)))
    except OSError as error:
        raise IncidentError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error):
        raise IncidentError(f"{path}: no CSV in UTF-8") from None
    if not found:
        raise IncidentError(f"{path}: there is no attestation in it, only the columns")
    _refuse_what_no_id_may_hold(path, found)
    _refuse_contradictions(path, found)
    return tuple(sorted(found, key=lambda row: (row.request_id, row.tenant_id or "", row.line)))


def _rows(path: Path, rows: Iterator[list[str]]) -> Iterator[Attestation]:
    header = next(rows, [])
    _refuse_other_columns(path, header)
    for number, cells in enumerate(rows, 2):
        if not cells:
            continue
        if len(cells) != len(header):
            raise IncidentError(f"{path}:{number}: not as many cells as columns")
        values = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
        yield _attestation(path, number, values)


def _refuse_other_columns(path: Path, header: list[str]) -> None:
    lacking = [name for name in NEEDED if name not in header]
    if lacking or len(set(header)) != len(header) or set(header) - set(COLUMNS):
        raise IncidentError(
            f"{path}: the columns are {', '.join(NEEDED)} and, where needed, tenant_id; no other "
            "is taken, and there is no place for free text"
        )


def _attestation(path: Path, number: int, values: dict[str, str]) -> Attestation:
    for name in COLUMNS:
        part = {key: value for key, value in values.items() if key == name}
        if name in NEEDED and not part:
            raise IncidentError(f"{path}:{number}: {name} is empty")
    try:
        row = msgspec.convert({**values, "line": number}, Attestation, strict=False)
    except msgspec.ValidationError as error:
        name = _column(error)
        form = _FORMS.get(name, "")
        raise IncidentError(f"{path}:{number}: {name} is none that it may be{form}") from None
    _refuse_no_time_of_a_review(f"{path}:{number}", values["reviewed_at"], row.reviewed_at)
    return row


_FORMS = {
    "method": ": it names a document with a number, in three words at the most, such as REVIEW-7",
    "reviewer_role": ": it is a role in three words at the most, such as incident-lead",
}
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_FIRST = 2000
"""Year before which nobody reviewed an answer of these engines."""


def _refuse_no_time_of_a_review(place: str, text: str, moment: datetime) -> None:
    if not _WRITTEN.match(text):
        raise IncidentError(f"{place}: reviewed_at is a number, no time; write it in UTC with a Z")
    if moment.tzinfo is None:
        raise IncidentError(f"{place}: reviewed_at has no zone; write it in UTC with a Z")
    if moment.year < _FIRST or moment > datetime.now(UTC):
        raise IncidentError(f"{place}: reviewed_at is no time up to now")


def _column(error: msgspec.ValidationError) -> str:
    """Return the column that an error is about; its text may hold a value, its path does not."""
    _, _, where = str(error).rpartition("`$.")
    name = where.rstrip("`")
    return name if name in COLUMNS else "a value"


def _refuse_what_no_id_may_hold(path: Path, found: tuple[Attestation, ...]) -> None:
    for name, rule in (
        ("request_id", fields.identifier),
        ("tenant_id", fields.named),
        ("method", fields.identifier),
    ):
        texts = {value: row.line for row in reversed(found) if (value := getattr(row, name))}
        unfit = misfits(set(texts), rule) or any(map(_unseen, texts))
        if unfit:
            line = min(n for text, n in texts.items() if misfits({text}, rule) or _unseen(text))
            raise IncidentError(f"{path}:{line}: {name} holds what no identifier may hold")


def _unseen(text: str) -> bool:
    """Say whether a text has characters that do not show, or that turn others round."""
    return any(category(sign)[0] in "CZ" and sign != " " for sign in text)


def _refuse_contradictions(path: Path, found: tuple[Attestation, ...]) -> None:
    """Raise where one request has two verdicts; a row without a tenant speaks for all of them."""
    rows = pl.DataFrame(
        {"id": [row.request_id for row in found], "verdict": [row.verdict for row in found]}
        | {"tenant": [row.tenant_id for row in found], "line": [row.line for row in found]},
        schema={"id": pl.String, "verdict": pl.String, "tenant": pl.String, "line": pl.Int64},
    )
    both = rows.join(rows, on="id", suffix="_other").filter(
        (pl.col("verdict") != pl.col("verdict_other"))
        & (pl.col("tenant").eq_missing(pl.col("tenant_other")) | pl.col("tenant").is_null())
    )
    if both.height:
        one, other = sorted(both.select("line", "line_other").sort("line", "line_other").row(0))
        raise IncidentError(f"{path}: lines {one} and {other} contradict each other")
