"""The guard before every write: a frame leaves only as the table that it was declared to be.

Whatever is turned into bytes passes here: tables of a report, parts of the reading
pass, an evidence set. Extra columns, foreign codes, over-long identifiers and the like
mean that something is wrong upstream and that content may be in the frame; nothing is
written then. Messages name table, column and count, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from forensics.errors import PrivacyError
from forensics.fields import HARMLESS, Field, Rule, identifier, named


@dataclass(frozen=True)
class Table:
    """A table that may be written: its name in messages, and exactly these columns."""

    name: str
    fields: tuple[Field, ...]

    @cached_property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The Polars schema, in order."""
        return {field.name: field.dtype for field in self.fields}


def table(name: str, *fields: Field | Iterable[Field]) -> Table:
    """Return a table of some fields, in order; groups of fields are laid flat."""
    flat: list[Field] = []
    for item in fields:
        flat += [item] if isinstance(item, Field) else item
    return Table(name, tuple(flat))


def checked(frame: pl.DataFrame, declared: Table) -> pl.DataFrame:
    """Return the frame where it is exactly the declared table.

    Raises:
        PrivacyError: a column, a type or a value is none of the table's.
    """
    shaped(frame, declared)
    missing = len(declared.dtypes.keys() - set(frame.columns))
    if missing:
        raise PrivacyError(f"{declared.name}: {missing} of its columns are missing")
    for field in declared.fields:
        if field.fits is not None and _misfits(frame, field, field.fits, distinct=True):
            count = _misfits(frame, field, field.fits, distinct=False)
            where = f"{declared.name}: {count} value(s) of column {field.name}"
            raise PrivacyError(f"{where} are none that it may hold")
    return frame


def _misfits(frame: pl.DataFrame, field: Field, fits: Rule, *, distinct: bool) -> int:
    """Count the texts of a column that do not fit; of equal ones, one is asked for."""
    texts = frame.select(field.name, *([] if field.beside is None else [field.beside]))
    if isinstance(field.dtype, pl.List):
        texts = texts.explode(field.name)
    if fits in (identifier, named):
        texts = texts.filter(~pl.col(field.name).str.contains(HARMLESS))
    if texts[field.name].null_count() == texts.height:
        return 0
    if distinct:
        texts = texts.unique()
    return int(texts.select((~fits(pl.col(field.name))).sum()).item() or 0)


def shaped(frame: pl.DataFrame, declared: Table) -> pl.DataFrame:
    """Return the frame where its columns are among the table's, each of its type.

    The cheap half of the check, for rows that pass the other half later. A column without
    any value may be of no type yet.

    Raises:
        PrivacyError: a column or a type is none of the table's.
    """
    extra = len(set(frame.columns) - declared.dtypes.keys())
    if extra:  # a column's name may itself be out of a record
        raise PrivacyError(f"{declared.name}: {extra} column(s) that it does not have")
    for name, dtype in frame.schema.items():
        if dtype not in (declared.dtypes[name], pl.Null):
            raise PrivacyError(f"{declared.name}: column {name} is of a type that it cannot be")
    return frame


def misfits(texts: Iterable[str], rule: Rule) -> int:
    """Return how many of some texts a rule does not let pass."""
    values = pl.DataFrame({"text": pl.Series(list(texts), dtype=pl.String)})
    return int(values.select((~rule(pl.col("text"))).sum()).item() or 0)
