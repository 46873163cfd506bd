"""Records that say two things: a key that is read comes twice, with different values.

Which of them counts is the decoder's choice; so none does, and the value is one that fits nothing.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
from msgspec import Raw

from forensics.sources.blocks import Block
from forensics.sources.jsonkeys import BlockKeys, Names
from forensics.sources.jsonpaths import Leaf, Tree
from forensics.sources.jsonrows import Values
from forensics.sources.twice import Spellings, Twice

_KEYS = msgspec.json.Decoder(dict[str, Raw])
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)
_SKIPPED = 15
"""Blocks of which the keys are not counted after one in which that told nothing."""
_NUMBERS = ("count", "measure", "time")


class Contradictions:
    """Finds the columns for which a line has different values.

    Args:
        tree: the keys that are read.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        names = _names(tree)
        self._named = Names(names)
        self._twice = Twice(names)
        self._skipped = 0

    def of(self, block: Block, values: Values | None) -> dict[int, list[str]]:
        """Return the columns by the place of their line in the block.

        Args:
            block: the lines.
            values: what was read of them; None where not all could be read at once.
        """
        keys = BlockKeys(block)
        if values is not None and self._once(keys, values):
            return {}
        starts = [*block.starts.tolist(), len(block.data)]
        found = {
            at: self._columns(block.data[starts[at] : starts[at + 1]], twice)
            for at, twice in self._twice.lines(keys).items()
        }
        return {at: columns for at, columns in sorted(found.items()) if columns}

    def _once(self, keys: BlockKeys, values: Values) -> bool:
        """Say whether there are no more keys of these than values: then none comes twice.

        Where there are more, as where content has such keys too, the next blocks are like that.
        """
        if self._skipped:
            self._skipped -= 1
            return False
        if keys.count(self._named) == values.number() and not self._named.may_be_escaped(keys):
            return True
        self._skipped = _SKIPPED
        return False

    def _columns(self, line: bytes, twice: Spellings) -> list[str]:
        if not _may(self._tree, line, {name.decode(): of for name, of in twice.items()}):
            return []
        try:
            # Numbers stay texts: what they amount to is for others to say.
            pairs = json.loads(line, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        except _FAULTS:
            return []  # no record at all: the reason is told where the line is read
        return _different(self._tree, pairs)


class _Pairs(list[tuple[str, Any]]):
    """An object's keys with their values, each as often as it comes."""


def _inner(tree: Tree) -> dict[str, Tree]:
    return {key: node for key, node in tree.items() if not isinstance(node, Leaf)}


def _names(tree: Tree) -> set[str]:
    return set(tree).union(*map(_names, _inner(tree).values()))


def _may(tree: Tree, data: bytes, twice: dict[str, list[bytes]]) -> bool:
    """Say whether a key of some level may come twice there, not once more further below.

    Args:
        tree: the keys of the level and of those below.
        data: an object.
        twice: the keys that may, with the ways in which they are written.
    """
    try:
        held = _KEYS.decode(data)
    except _FAULTS:
        return True
    inner = b" ".join([raw for raw in map(bytes, held.values()) if raw[:1] in _OPENING])
    for name, spellings in twice.items():
        if name in tree and name in held:
            marks = [b'"%s"' % written for written in spellings]
            if sum(map(data.count, marks)) - sum(map(inner.count, marks)) > 1:
                return True
    below = [(node, bytes(held[key])) for key, node in _inner(tree).items() if key in held]
    return any(raw[:1] == b"{" and _may(node, raw, twice) for node, raw in below)


_OPENING = (b"{", b"[")


def _different(tree: Tree, pairs: Any) -> list[str]:
    """Return the columns of a level, and of those below, that have different values."""
    found: list[str] = []
    if not isinstance(pairs, _Pairs):
        return found
    for key, node in tree.items():
        values = [value for name, value in pairs if name == key]
        if any(not _same(node, value, values[0]) for value in values[1:]):
            found += _columns(node)
        elif values and not isinstance(node, Leaf):
            found += _different(node, values[0])
    return found


def _same(node: Tree | Leaf, one: Any, other: Any) -> bool:
    """Say whether two values are the same; of numbers, whether they are equal."""
    if one == other:
        return True
    if not isinstance(node, Leaf) or node.kind not in _NUMBERS:
        return False
    try:
        return Decimal(one) == Decimal(other)
    except (InvalidOperation, TypeError, ValueError):
        return False


def _columns(node: Tree | Leaf) -> list[str]:
    if isinstance(node, Leaf):
        return [node.column]
    return [column for inner in node.values() for column in _columns(inner)]
