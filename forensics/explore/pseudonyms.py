"""Cases under pseudonyms: every table and sentence made from one names no tenant.

The names are replaced in what was judged, before anything is made from it. In what is shown
already they could not be found again: there they are cut off, escaped, or part of a sentence.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

import forensics
from forensics.case import Case, read_logs
from forensics.incident import Incident
from forensics.notices.key import key_from
from forensics.notices.pseudonyms import AUDIENCE, pseudonym

_WHO: Final = ("tenant", "slot_owner")
"""What the name of a column or field has in it whose texts say who somebody is."""
_Name = Callable[[str], str]


def use(key: str | Path, seen: str | Path | None = None) -> None:
    """Read every case from now on under the pseudonyms of a key, as notices name tenants.

    Args:
        key: the file of the key; made where it is absent.
        seen: a file in a private folder for the names that were replaced, to search for them.
    """
    known: set[str] = set()

    def read(*paths: Any, **options: Any) -> Case:
        case = read_logs(*paths, **options)
        known.update(names(case))
        if seen is not None:
            Path(seen).write_text(json.dumps(sorted(known)), "utf-8")
        return replaced(case, secret)

    secret = key_from(Path(key), ())
    forensics.read_logs = read


def replaced(case: Case, key: bytes) -> Case:
    """Return a case that names each tenant by its pseudonym."""
    name = partial(pseudonym, key, case.analysis.incident.case.id, AUDIENCE)
    return Case(_walked(case.analysis.finish(), name), case.run)


def names(case: Case) -> set[str]:
    """Return the names of all tenants of a case."""
    found: set[str] = set()

    def noted(text: str) -> str:
        found.add(text)
        return text

    _walked(case.analysis.finish(), noted)
    return found


def _walked(value: Any, name: _Name, *, who: bool = False) -> Any:
    """Return a value with ``name`` applied to each text that says who somebody is."""
    if isinstance(value, str):
        return name(value) if who else value
    if isinstance(value, pl.DataFrame):
        return value.with_columns(_renamed(value, name))
    if isinstance(value, Incident | Counter):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **_parts(value, name))
    if isinstance(value, list | tuple):
        return type(value)(_walked(item, name, who=who) for item in value)
    if isinstance(value, dict):
        return {key: _walked(item, name, who=who) for key, item in value.items()}
    return value


def _parts(value: Any, name: _Name) -> dict[str, Any]:
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return {field: _walked(getattr(value, field), name, who=_who(field)) for field in fields}


def _renamed(frame: pl.DataFrame, name: _Name) -> Iterator[pl.Series]:
    for column in frame.columns:
        if _who(column) and frame.schema[column] == pl.String:
            known = frame[column].unique().drop_nulls().to_list()
            made = [name(text) for text in known]
            yield frame[column].replace_strict(known, made, return_dtype=pl.String)


def _who(name: str) -> bool:
    return any(part in name for part in _WHO)
