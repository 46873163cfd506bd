"""Lines of JSON whose values have the expected types, to raw columns.

Of the named keys, a file holds some, and the same ones throughout. So lines are
decoded into a struct that takes the keys met so far and allows any other named key
no value but null: a line with a new one does not fit, is noticed by that, and is read
again with all keys. The columns that a file does not have cost nothing then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct

from forensics.schema import CONFIG_KEYS, Kind
from forensics.sources.jsonpaths import Leaf, Path, Tree, expecting, met

FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises. The texts of these may quote the record: never show them."""

Columns = dict[str, pl.Series]


class Rows:
    """Decodes lines of the named keys; remembers which of the keys occur."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._any = _Level(tree)
        self._met: frozenset[Path] = frozenset()
        self._usual = _Level(tree, self._met)

    def read(self, data: bytes) -> tuple[Columns, int]:
        """Return the columns of some lines and their number; empty columns are left out.

        Raises:
            FAULTS: a line is no JSON object, or a value is of no type that is expected.
        """
        lines = _one_each(data)
        try:
            rows = self._usual.rows(lines)
            return self._usual.columns(rows), len(rows)
        except FAULTS:
            rows = self._any.rows(lines)
        found = self._met.union(met(self._tree, rows))
        if found != self._met:
            self._met, self._usual = found, _Level(self._tree, found)
        return self._any.columns(rows), len(rows)

    def one(self, line: bytes) -> Struct:
        """Return one line as a row for :meth:`columns`; raises what :meth:`read` does."""
        return self._any.rows([line])[0]

    def columns(self, rows: Sequence[Struct]) -> Columns:
        """Return the columns of rows that were decoded one by one."""
        return self._any.columns(rows)


class _Level:
    """The keys of one level that may have a value: their struct, and its rows as columns."""

    def __init__(self, tree: Tree, keys: Collection[Path] | None = None, at: Path = ()) -> None:
        struct = expecting(tree, keys, at)
        decoder = msgspec.json.Decoder(struct)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        self._empty = struct()
        self._names: list[str] = []
        self._nodes: list[Leaf | _Level] = []
        for position, (key, node) in enumerate(tree.items()):
            path = (*at, key)
            if keys is None or path in keys:
                self._names.append(f"f{position}")
                self._nodes.append(node if isinstance(node, Leaf) else _Level(node, keys, path))

    def rows(self, lines: bytes | Sequence[bytes]) -> list[Struct]:
        if isinstance(lines, bytes):
            rows: list[Struct] = self._decode_lines(lines)
            if len(rows) != lines.count(b"\n"):
                raise msgspec.DecodeError("more than one value on a line")
            return rows
        decode = self._decode
        return [decode(line) for line in lines]

    def columns(self, rows: Sequence[Struct]) -> Columns:
        found: Columns = {}
        for node, values in zip(self._nodes, self._values(rows), strict=True):
            if isinstance(node, _Level):
                found |= node.columns([node._empty if v is None else v for v in values])
            else:
                series = _series(node, values)
                if series.null_count() < len(series):
                    found[node.column] = series
        return found

    def _values(self, rows: Sequence[Struct]) -> Iterable[Sequence[Any]]:
        """Return the values of each key. Several keys at once: a row is then touched once."""
        if len(self._names) > 1:
            return zip(*map(attrgetter(*self._names), rows), strict=True)
        return [list(map(attrgetter(name), rows)) for name in self._names]


def _one_each(data: bytes) -> bytes | list[bytes]:
    """Return the bytes as they are if each line holds one value, else the lines.

    Decoding all at once takes values apart at any white space, so that two objects on one
    line, or one over two lines, would pass. Between ``}`` and ``{`` no line can end inside
    a value; so where every line begins and ends like that, each holds whole values, and
    one each if there are as many values as lines.
    """
    whole = data if data.endswith(b"\n") else data + b"\n"
    inner = whole.count(b"\n") - 1
    if whole.startswith(b"{") and whole.endswith(b"}\n") and whole.count(b"}\n{") == inner:
        return whole
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


_DTYPES: dict[Kind, type[pl.DataType]] = {
    "count": pl.Int64,
    "measure": pl.Float64,
    "flag": pl.Boolean,
}


def _series(leaf: Leaf, values: Sequence[Any]) -> pl.Series:
    if leaf.kind in _DTYPES:
        return pl.Series(leaf.column, values, dtype=_DTYPES[leaf.kind])
    if leaf.kind == "config":
        return pl.Series(leaf.column, [config(value) for value in values], dtype=pl.String)
    try:
        return pl.Series(leaf.column, values, dtype=pl.String)
    except TypeError:
        texts = [None if value is None else str(value) for value in values]
        return pl.Series(leaf.column, texts, dtype=pl.String)


def config(value: Any) -> str | None:
    """Return settings as ``key=value`` joined by ``;``."""
    if isinstance(value, Struct):
        pairs = zip(CONFIG_KEYS, msgspec.structs.astuple(value), strict=True)
        return ";".join(f"{key}={setting}" for key, setting in pairs if setting is not None)
    return value if isinstance(value, str) else None
