"""Lines of JSON whose values have the expected types, to raw columns.

Of the named keys, a file holds some, and the same ones throughout. So lines are
decoded into a struct that takes the keys met so far and allows any other named key
no value but null: a line with a new one does not fit, is noticed by that, and is read
again with all keys. The columns that a file does not have cost nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct

from forensics.schema import Kind
from forensics.sources import nestedsettings
from forensics.sources.blocks import Block
from forensics.sources.jsonpaths import Asked, Leaf, Path, Tree, expecting, met

if TYPE_CHECKING:
    from forensics.sources.ownkeys import OwnKeys

FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises. The texts of these may quote the record: never show them."""


class Values(dict[str, Sequence[Any]]):
    """The values of each column that occurs, one for each line; Python's own, not yet a column."""

    objects = 0
    """In how many objects the values stand, other than the records themselves."""

    def number(self) -> int:
        """Return how many values there are, and objects that hold them."""
        return self.objects + sum(map(_known, self.values()))


def _known(values: Sequence[Any]) -> int:
    """Return how many values are not null."""
    # To add all up is quicker than to compare each with None, which few columns hold.
    for add in (sum, "".join):
        try:
            add(values)
        except TypeError:
            continue
        return len(values)
    return len(values) - values.count(None)


class Rows:
    """Decodes lines of the named keys; remembers which of the keys occur."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._any = _Level(tree)
        self._met: frozenset[Path] = frozenset()
        self._usual = _Level(tree, self._met)
        self._own: tuple[OwnKeys, frozenset[Path], _Level] | None = None

    def read(self, block: Block) -> tuple[Values, int] | None:
        """Return the values of some lines, and the number of lines.

        None where a line is no JSON object, or a value is of no type that is expected.
        """
        rows_of = _decoding(block)
        usual = self._usual  # another thread may put another there
        try:
            rows = rows_of(usual)
            return usual.values(rows), len(rows)
        except FAULTS:
            pass
        try:
            rows = rows_of(self._any)
        except FAULTS:
            return None
        found = self._met.union(met(self._tree, rows))
        if found != self._met:
            self._met, self._usual = found, _Level(self._tree, found)
        return self._any.values(rows), len(rows)

    def of_own(self, block: Block, keys: OwnKeys) -> tuple[Values, int] | None:
        """Return as :meth:`read` does, but None where not all lines are surely a log's own.

        Args:
            block: the lines.
            keys: what tells the records of the log.
        """
        level = self._telling(keys)
        if level is None:
            return None
        try:
            rows = _decoding(block)(level)
        except FAULTS:
            return None
        return level.values(rows), len(rows)

    def _telling(self, keys: OwnKeys) -> _Level | None:
        """Return the level that takes a log's own records alone; None while no key was met."""
        known, met_keys = self._own, self._met
        if not met_keys:
            return None
        if known is None or known[0] is not keys or known[1] != met_keys:
            level = _Level(self._tree, met_keys, asked=keys.asked(self._tree, met_keys))
            self._own = known = (keys, met_keys, level)
        return known[2]

    def one(self, line: bytes) -> Struct | None:
        """Return one line as a row for :meth:`values`; None where :meth:`read` gives that."""
        try:
            return self._any.rows([line])[0]
        except FAULTS:
            return None

    def values(self, rows: Sequence[Struct]) -> Values:
        """Return the values of rows that were decoded one by one."""
        return self._any.values(rows)


class _Level:
    """The keys of one level that may have a value: their struct, and its rows as values."""

    def __init__(
        self,
        tree: Tree,
        keys: Collection[Path] | None = None,
        at: Path = (),
        asked: Asked | None = None,
    ) -> None:
        struct = expecting(tree, keys, at, asked)
        decoder = msgspec.json.Decoder(struct)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        self._empty: Any = struct() if at else None
        self._nodes: list[Leaf | _Level] = []
        fields = ["__class__", "__class__"]  # an attrgetter of one name would give no tuple
        for position, (key, node) in enumerate(tree.items()):
            path = (*at, key)
            if keys is None or path in keys:
                fields.append(f"f{position}")
                self._nodes.append(node if isinstance(node, Leaf) else _Level(node, keys, path))
        self._fields = attrgetter(*fields)

    def rows(self, lines: Sequence[bytes]) -> list[Struct]:
        decode = self._decode
        return [decode(line) for line in lines]

    def all_rows(self, data: bytes, count: int) -> list[Struct]:
        rows: list[Struct] = self._decode_lines(data)
        if len(rows) != count:
            raise msgspec.DecodeError("more than one value on a line")
        return rows

    def values(self, rows: Sequence[Struct]) -> Values:
        found = Values()
        # All fields of a row in one go: half the time of one field after the other.
        columns = list(zip(*map(self._fields, rows), strict=True))[2:]
        for node, values in zip(self._nodes, columns, strict=bool(columns)):
            nothing = node.absent if isinstance(node, Leaf) else None
            if not values or (values[0] == nothing and values.count(nothing) == len(values)):
                continue
            if isinstance(node, Leaf):
                found[node.column] = values
            else:
                empty = node._empty
                inner = node.values([empty if v is None else v for v in values])
                found |= inner
                found.objects += inner.objects + len(values) - values.count(None)
        return found


def _decoding(block: Block) -> Callable[[_Level], list[Struct]]:
    """Return what decodes the lines of a block, each of which has to hold one value."""
    count = _one_each(block)
    if count:
        return lambda level: level.all_rows(block.data, count)
    lines = _lines(block.data)
    return lambda level: level.rows(lines)


def _one_each(block: Block) -> int:
    """Return how many values there are if each line holds one; 0 if some line may not.

    Decoding all at once takes values apart at any white space, so that two objects on one
    line, or one over two lines, would pass. Between ``}`` and ``{`` no line can end inside
    a value; so where every line begins and ends like that, each holds whole values, and
    one each if there are as many values as lines.
    """
    data = np.frombuffer(block.data, np.uint8)
    ends = block.ends if data[-1] == _LINE_END else np.append(block.ends, len(data))
    begins = np.append(0, ends[:-1] + 1)
    whole = (data[begins] == _OPEN).all() and (data[ends - 1] == _CLOSE).all()
    return len(ends) if whole else 0


_OPEN, _CLOSE, _LINE_END = b"{}\n"


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


_DTYPES: dict[Kind, type[pl.DataType]] = {
    "count": pl.Int64,
    "measure": pl.Float64,
    "flag": pl.Boolean,
}


def series(column: str, kind: Kind, values: Sequence[Any]) -> pl.Series:
    """Return values of the expected types as a column."""
    if kind in _DTYPES:
        return pl.Series(column, values, dtype=_DTYPES[kind])
    if kind == "config":
        return pl.Series(
            column,
            [v if v is None else nestedsettings.told(bytes(v)) for v in values],
            dtype=pl.String,
        )
    try:
        return pl.Series(column, values, dtype=pl.String)
    except (TypeError, OverflowError):
        texts = [None if value is None else str(value) for value in values]
        return pl.Series(column, texts, dtype=pl.String)
