"""The first difference between two files that ought to be the same.

Named by its place: a path in JSON, row and column in a table, a line elsewhere. Of the
values only numbers, times and identifiers are shown.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct

ABSENT = "(absent)"
_IDENTIFIER = re.compile(r"[\w.:/@+#=-]{1,128}")


class Difference(Struct, frozen=True):
    """Where two files first differ, and what stands there in each."""

    file: str
    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}: {self.where}: {self.before} -> {self.after}"


Place = tuple[str, str, str]
"""Where, and what stands there before and after."""


def first_difference(
    name: str, before: Path, after: Path, ignoring: Collection[str] = ()
) -> Difference | None:
    """Return where a file of two folders first differs in its values, or None.

    Args:
        name: of the file; its ending says how it is compared.
        before: the one file.
        after: the other.
        ignoring: paths in JSON that may differ.
    """
    if not before.is_file() or not after.is_file():
        there = ["is there" if path.is_file() else ABSENT for path in (before, after)]
        return Difference(name, "the file", *there)
    try:
        found = _KINDS.get(before.suffix, _by_line)(before, after, ignoring)
    except (msgspec.DecodeError, pl.exceptions.PolarsError, UnicodeDecodeError, csv.Error):
        found = ("the whole file", "cannot be read", "can be read")
    return None if found is None else Difference(name, *found)


def shown(value: Any) -> str:
    """Return a value that holds no prose; of any other only that there is one."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, pl.Series | list):
        return f"[{', '.join(map(shown, value))}]"
    text = isinstance(value, str) and _IDENTIFIER.fullmatch(value)
    return str(value) if text else f"({type(value).__name__})"


def _by_json(before: Path, after: Path, ignoring: Collection[str]) -> Place | None:
    one, other = (msgspec.json.decode(path.read_bytes()) for path in (before, after))
    for where, left, right in _json(one, other, ""):
        if where not in ignoring:
            return where, shown(left), shown(right)
    return None


def _json(one: Any, other: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            place = f"{where}.{shown(key)}".removeprefix(".")
            yield from _json(one.get(key, ABSENT), other.get(key, ABSENT), place)
    elif isinstance(one, list) and isinstance(other, list):
        for at, (left, right) in enumerate(zip_longest(one, other, fillvalue=ABSENT)):
            yield from _json(left, right, f"{where}[{at}]")
    elif type(one) is not type(other) or one != other:
        yield where, one, other


def _by_frame(before: Path, after: Path, _: Collection[str]) -> Place | None:
    one, other = (pl.read_parquet(path, glob=False) for path in (before, after))
    if one.schema != other.schema:
        return "columns", shown(one.columns), shown(other.columns)
    if one.height != other.height:
        return "rows", str(one.height), str(other.height)
    found = [
        (at, column) for column in one.columns if (at := _row(one[column], other[column])) >= 0
    ]
    if not found:
        return None
    at, column = min(found, key=lambda place: (place[0], one.columns.index(place[1])))
    return f"row {at + 1}, column {column}", shown(one[column][at]), shown(other[column][at])


def _row(one: pl.Series, other: pl.Series) -> int:
    """Return the first row at which two columns differ, or -1."""
    differ = one.ne_missing(other)
    first = differ.arg_max()
    return first if first is not None and differ[first] else -1


def _by_cell(before: Path, after: Path, _: Collection[str]) -> Place | None:
    one, other = (list(csv.reader(io.StringIO(_text(path)))) for path in (before, after))
    if len(one) != len(other):
        return "rows", str(len(one) - 1), str(len(other) - 1)
    for at, (left, right) in enumerate(zip(one, other, strict=True)):
        for number, (old, new) in enumerate(zip_longest(left, right, fillvalue=ABSENT)):
            if old != new:
                column = one[0][number] if number < len(one[0]) else str(number + 1)
                return f"row {at}, column {shown(column)}", shown(old), shown(new)
    return None


def _by_line(before: Path, after: Path, _: Collection[str]) -> Place | None:
    lines = zip_longest(*(_text(path).split("\n") for path in (before, after)), fillvalue=ABSENT)
    at = next((at for at, (one, other) in enumerate(lines, 1) if one != other), None)
    return None if at is None else (f"line {at}", "(str)", "(str)")


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


_KINDS = {".json": _by_json, ".parquet": _by_frame, ".csv": _by_cell}
