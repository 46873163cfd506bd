"""The one reader of JSON lines: only named paths ever become objects.

A block is decoded in one go by a msgspec struct that has no field for content.
Where that fails, its lines are taken one by one: those that are no JSON go to the
ledger with the reason, and those whose values have an unexpected type are handed
on as text, for :mod:`forensics.sources.values` to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import polars as pl
from msgspec import Meta, Raw, Struct

from forensics.errors import IncidentError
from forensics.schema import CONFIG_KEYS, Kind
from forensics.sources.blocks import Block
from forensics.sources.parsed import Unread
from forensics.sources.values import NOT_A_VALUE

Path = tuple[str, ...]
_Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_SETTING_TYPE = str | int | float | bool | None
_CONFIG: type[Struct] = msgspec.defstruct(
    "Config", [(key, _SETTING_TYPE, None) for key in CONFIG_KEYS]
)
_STRICT: dict[Kind, Any] = {
    "id": str | int | None,
    "name": str | int | None,
    "code": str | None,
    "count": _Whole | None,
    "measure": float | None,
    "time": str | int | None,
    "flag": bool | None,
    "config": _CONFIG | str | None,
}


@dataclass
class Batch:
    """Raw columns of some lines, with the number and offset of each line."""

    columns: dict[str, pl.Series]
    lines: pl.Series
    offsets: pl.Series | None = None


@dataclass
class Lines:
    """What one block gave."""

    batches: list[Batch] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    blank: int = 0
    read: int = 0


@dataclass(frozen=True)
class _Leaf:
    kind: Kind
    column: str


_Tree = dict[str, "_Tree | _Leaf"]


class JsonColumns:
    """Named paths of JSON lines as raw columns.

    Args:
        paths: column name to the path of keys that leads to its value.
        kinds: column name to how its value is read.

    Raises:
        IncidentError: two paths lead to one value, or one runs through another's.
    """

    def __init__(self, paths: Mapping[str, Path], kinds: Mapping[str, Kind]) -> None:
        tree: _Tree = {}
        for column, path in paths.items():
            node = tree
            for key in path[:-1]:
                inner = node.setdefault(key, {})
                if isinstance(inner, _Leaf):
                    raise IncidentError(f"{'.'.join(path)}: {key!r} is read as a value already")
                node = inner
            if path[-1] in node:
                raise IncidentError(f"{'.'.join(path)} is read as something else already")
            node[path[-1]] = _Leaf(kinds[column], column)
        self._tree = tree
        self._strict = msgspec.json.Decoder(_struct(tree, strict=True))
        self._lenient = _Lenient(tree)

    def read(self, block: Block) -> Lines:
        """Return the columns of a block's lines, and what could not be read."""
        if block.reason is not None:
            return Lines(unread=[Unread(block.line, block.offset, block.reason)], read=1)
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            # Not decode_lines(): it takes values apart at any white space, so that two
            # objects on one line, or one over two lines, would pass.
            rows = [self._strict.decode(line) for line in lines]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._one_by_one(block)
        if not rows:
            return Lines()
        last = block.line + len(rows)
        numbers = pl.int_range(block.line, last, dtype=pl.Int64, eager=True)
        return Lines([Batch(_columns(self._tree, rows), numbers)], read=len(rows))

    def _one_by_one(self, block: Block) -> Lines:
        found, offset = Lines(), block.offset
        good: list[Struct] = []
        good_at: list[tuple[int, int]] = []
        odd: list[dict[str, str | None]] = []
        odd_at: list[tuple[int, int]] = []
        for number, line in enumerate(split_lines(block.data), start=block.line):
            at, offset = offset, offset + len(line)
            line = line.rstrip(b"\r\n")  # inside an open string it would look like another fault
            if not line.strip():
                found.blank += 1
                continue
            found.read += 1
            try:
                good.append(self._strict.decode(line))
                good_at.append((number, at))
                continue
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                pass
            row = self._lenient.decode(line)
            if isinstance(row, str) and b"\\u" in line:
                row = self._lenient.decode(_paired(line))
            if isinstance(row, str):
                found.unread.append(Unread(number, at, row))
            else:
                odd.append(row)
                odd_at.append((number, at))
        if good:
            found.batches.append(_batch(_columns(self._tree, good), good_at))
        if odd:
            names = sorted({name for row in odd for name in row})
            texts = {
                name: pl.Series(name, [row.get(name) for row in odd], dtype=pl.String)
                for name in names
            }
            found.batches.append(_batch(texts, odd_at))
        return found


_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<alone>\\u[dD][89a-fA-F]\w\w)"
)


def _paired(line: bytes) -> bytes:
    """Replace halves of surrogate pairs: loggers cut texts in the middle of a character."""
    return _ESCAPES.sub(lambda m: b"\\ufffd" if m["alone"] else m[0], line)


def split_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of a block with their line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _batch(columns: dict[str, pl.Series], at: Sequence[tuple[int, int]]) -> Batch:
    lines = pl.Series([line for line, _ in at], dtype=pl.Int64)
    return Batch(columns, lines, pl.Series([offset for _, offset in at], dtype=pl.Int64))


def _struct(tree: _Tree, *, strict: bool) -> type[Struct]:
    """Return a struct with one field per key; keys may be any text."""
    fields = []
    for position, (_, node) in enumerate(tree.items()):
        if isinstance(node, _Leaf):
            kind: Any = _STRICT[node.kind] if strict else Raw
        else:
            kind = _struct(node, strict=True) | None if strict else Raw
        fields.append((f"f{position}", kind, None))
    rename = {f"f{position}": key for position, key in enumerate(tree)}
    return msgspec.defstruct("Row", fields, rename=rename, gc=False)


def _columns(tree: _Tree, rows: Sequence[Struct]) -> dict[str, pl.Series]:
    """Turn rows into raw series; columns that are null throughout are left out."""
    found: dict[str, pl.Series] = {}
    values = zip(*map(msgspec.structs.astuple, rows), strict=True)
    for node, column in zip(tree.values(), values, strict=True):
        if column.count(None) == len(column):
            continue
        if isinstance(node, _Leaf):
            found[node.column] = _series(node, column)
        else:
            found |= _nested(node, column)
    return found


def _nested(tree: _Tree, column: Sequence[Struct | None]) -> dict[str, pl.Series]:
    present = [position for position, value in enumerate(column) if value is not None]
    inner = _columns(tree, [value for value in column if value is not None])
    if len(present) == len(column):
        return inner
    rows = pl.Series(present, dtype=pl.Int64)
    return {
        name: pl.select(pl.repeat(None, len(column), dtype=series.dtype))
        .to_series()
        .scatter(rows, series)
        for name, series in inner.items()
    }


def _series(leaf: _Leaf, values: Iterable[Any]) -> pl.Series:
    if leaf.kind == "count":
        return pl.Series(leaf.column, values, dtype=pl.Int64)
    if leaf.kind == "measure":
        return pl.Series(leaf.column, values, dtype=pl.Float64)
    if leaf.kind == "flag":
        return pl.Series(leaf.column, values, dtype=pl.Boolean)
    if leaf.kind == "config":
        return pl.Series(leaf.column, [_config(value) for value in values], dtype=pl.String)
    try:
        return pl.Series(leaf.column, values, dtype=pl.String)
    except TypeError:
        texts = [None if value is None else str(value) for value in values]
        return pl.Series(leaf.column, texts, dtype=pl.String)


def _config(value: Any) -> str | None:
    if isinstance(value, Struct):
        pairs = zip(CONFIG_KEYS, msgspec.structs.astuple(value), strict=True)
        return ";".join(f"{key}={setting}" for key, setting in pairs if setting is not None)
    return value if isinstance(value, str) else None


class _Lenient:
    """Reads one line whose values may have any type; leaves come back as text."""

    def __init__(self, tree: _Tree) -> None:
        self._tree = tree
        self._decoder = msgspec.json.Decoder(_struct(tree, strict=False))
        self._inner = {
            key: _Lenient(node) for key, node in tree.items() if not isinstance(node, _Leaf)
        }

    def decode(self, line: bytes) -> dict[str, str | None] | str:
        """Return column to text, or the reason why the line is no record."""
        try:
            row = self._decoder.decode(line)
        except msgspec.ValidationError:
            return "not a JSON object"
        except UnicodeDecodeError:
            return "invalid UTF-8"
        except RecursionError:
            return "nested too deeply"
        except msgspec.DecodeError as error:
            return _reason(error, line)
        found: dict[str, str | None] = {}
        for (key, node), raw in zip(self._tree.items(), msgspec.structs.astuple(row), strict=True):
            if raw is None or bytes(raw) == b"null":
                continue
            if isinstance(node, _Leaf):
                found[node.column] = _scalar(raw, node.kind)
            else:
                inner = self._inner[key].decode(bytes(raw))
                found |= inner if isinstance(inner, dict) else self._inner[key].misfit()
        return found

    def misfit(self) -> dict[str, str | None]:
        """Return all columns below a key whose value is no object, as values that fit nothing."""
        found: dict[str, str | None] = {}
        for key, node in self._tree.items():
            if isinstance(node, _Leaf):
                found[node.column] = NOT_A_VALUE
            else:
                found |= self._inner[key].misfit()
        return found


def _reason(error: msgspec.DecodeError, line: bytes) -> str:
    """Name the fault in words of our own: messages of decoders may quote the record."""
    text = str(error)
    if "truncated" in text:
        return "truncated JSON"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "invalid UTF-8"
    return "not valid JSON"


def _scalar(raw: Raw, kind: Kind) -> str | None:
    if kind == "config":
        try:
            return _config(msgspec.json.decode(raw, type=_CONFIG | str | None))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return NOT_A_VALUE
    data = bytes(raw)
    if data == b"null":
        return None
    if data[:1] in b"{[":
        return NOT_A_VALUE
    if data[:1] != b'"':
        return data.decode("ascii")
    try:
        return msgspec.json.decode(data, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return NOT_A_VALUE
