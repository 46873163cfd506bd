"""The guard before every write: a frame leaves only as the table that it was declared to be.

Whatever is turned into bytes passes here: tables of a report, parts of the reading
pass, an evidence set. Extra columns, foreign codes, over-long identifiers and the like
mean that something is wrong upstream and that content may be in the frame; nothing is
written then. Messages name table, column and count, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import polars as pl

from forensics.errors import PrivacyError
from forensics.fields import HARMLESS, Field, Rule, identifier, model, named

_Key = TypeVar("_Key")


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
    missing = len(declared.dtypes.keys() - set(frame.columns))
    if missing:
        raise PrivacyError(f"{declared.name}: {missing} of its columns are missing")
    return held(frame, declared)


def held(frame: pl.DataFrame, declared: Table) -> pl.DataFrame:
    """Return the frame where it is the declared table, or some columns of it.

    Raises:
        PrivacyError: a column, a type or a value is none of the table's.
    """
    shaped(frame, declared)
    fields = [field for field in declared.fields if field.name in frame.columns]
    ruled = [field for field in fields if _has_texts(frame, field)]
    alone = [field for field in ruled if field.beside is None]
    texts = frame.select(_doubted(field).unique().implode().alias(field.name) for field in alone)
    wrong = misfits_by({f.name: (texts[f.name][0], f.fits) for f in alone if f.fits is not None})
    for field in ruled:
        if field.name in wrong or (
            field.beside is not None and _misfits(_each_once(frame, field), field)
        ):
            where = f"{declared.name}: {_misfits(frame, field)} value(s) of column {field.name}"
            raise PrivacyError(f"{where} are none that it may hold")
    return frame


def _has_texts(frame: pl.DataFrame, field: Field) -> bool:
    return field.fits is not None and frame[field.name].null_count() < frame.height


def _each_once(frame: pl.DataFrame, field: Field) -> pl.DataFrame:
    return frame.select(field.name, field.beside).unique()


def _misfits(frame: pl.DataFrame, field: Field) -> int:
    """Count the texts of a column that do not fit."""
    misfit = field.fits(_texts(field)).not_() if field.fits else pl.lit(value=False)
    return int(frame.select(misfit.sum()).item() or 0)


def _doubted(field: Field) -> pl.Expr:
    texts = _texts(field)
    harmless = field.fits in (identifier, model, named)
    return texts.filter(~texts.str.contains(HARMLESS)) if harmless else texts


def _texts(field: Field) -> pl.Expr:
    texts = pl.col(field.name)
    return texts.explode() if isinstance(field.dtype, pl.List) else texts


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
    return misfits_by({None: (texts, rule)}).get(None, 0)


def misfits_by(asked: Mapping[_Key, tuple[Iterable[str], Rule]]) -> dict[_Key, int]:
    """Return how many of some texts do not fit their rule, where any does not.

    All are asked in one go: most are few, and each question has a price of its own.
    """
    columns = [(_column(texts), rule) for texts, rule in asked.values()]
    counts = [(~rule(pl.lit(c))).sum().alias(f"{n}") for n, (c, rule) in enumerate(columns)]
    found = pl.select(counts).row(0) if counts else ()
    return {key: count for key, count in zip(asked, found, strict=True) if count}


def _column(texts: Iterable[str]) -> pl.Series:
    return texts if isinstance(texts, pl.Series) else pl.Series(list(texts), dtype=pl.String)
