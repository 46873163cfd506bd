"""Records that say two things: a count of tokens or pages comes twice, with different values.

Which of them counts is the decoder's choice; so none does, and the value is one that fits nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from forensics.sources.blocks import Block
from forensics.sources.jsonpaths import Leaf, Tree
from forensics.sources.jsonrows import Values
from forensics.sources.twice import Twice

_KEYS = msgspec.json.Decoder(dict[str, Raw])
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)


_ENDS = ("tokens", "pages")
"""Of which columns: what a prompt's length is told by, and whether all of it arrived."""


class Contradictions:
    """Finds the counts of tokens and pages for which a line has different values.

    Of other keys the last value holds: to count all of them costs a sixth of the reading pass.

    Args:
        tree: the keys that are read.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = _counts(tree)
        self._named = _by_mark(self._tree)
        self._twice = Twice(_names(self._tree))

    def of(self, block: Block, values: Values | None) -> dict[int, list[str]]:
        """Return the columns by the place of their line in the block.

        Args:
            block: the lines.
            values: what was read of them; None where not all could be read at once.
        """
        if not self._named or (values is not None and self._once(block, values)):
            return {}
        starts = [*block.starts.tolist(), len(block.data)]
        suspects = self._twice.lines(block)
        lines = {at: block.data[starts[at] : starts[at + 1]] for at in suspects}
        found = {at: self._columns(line) for at, line in lines.items()}
        return {at: columns for at, columns in found.items() if columns}

    def _once(self, block: Block, values: Values) -> bool:
        """Say whether there are no more keys of these than values: then none comes twice."""
        for mark, columns in self._named.items():
            known = sum(_known(values[name]) for name in columns if name in values)
            if block.data.count(mark) != known:
                return False
        return True

    def _columns(self, line: bytes) -> list[str]:
        if not _may(self._tree, line):
            return []
        try:
            # Numbers stay texts: what they amount to is for others to say.
            pairs = json.loads(line, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        except _FAULTS:
            return []  # no record at all: the reason is told where the line is read
        return _different(self._tree, pairs)


class _Pairs(list[tuple[str, Any]]):
    """An object's keys with their values, each as often as it comes."""


def _known(values: Sequence[Any]) -> int:
    """Return how many values there are."""
    try:
        sum(values)  # quicker than to compare each with None, which few columns hold
    except TypeError:
        return len(values) - values.count(None)
    return len(values)


def _counts(tree: Tree) -> Tree:
    """Return the part of a tree that leads to counts of tokens and pages."""
    found: Tree = {}
    for key, node in tree.items():
        if not isinstance(node, Leaf):
            if inner := _counts(node):
                found[key] = inner
        elif node.kind == "count" and (node.column.endswith(_ENDS) or key.endswith(_ENDS)):
            found[key] = node
    return found


def _by_mark(tree: Tree) -> dict[bytes, list[str]]:
    """Return the columns by the bytes that their keys end in, as few of them as tell a key."""
    found: dict[bytes, list[str]] = {}
    for key, node in tree.items():
        if isinstance(node, Leaf):
            end = next((one for one in _ENDS if key.endswith(one)), key)
            found.setdefault(msgspec.json.encode(end)[1:], []).append(node.column)
            continue
        for mark, columns in _by_mark(node).items():
            found.setdefault(mark, []).extend(columns)
    return found


def _names(tree: Tree) -> set[str]:
    inner = (_names(node) for node in tree.values() if not isinstance(node, Leaf))
    return set(tree).union(*inner)


def _may(tree: Tree, data: bytes) -> bool:
    """Say whether a key of some level may come twice there, not once more further below."""
    try:
        held = _KEYS.decode(data)
    except _FAULTS:
        return True
    if b"\\u" in data:
        return True  # a key may be written in another way
    inner = b" ".join(bytes(raw) for raw in held.values() if bytes(raw)[:1] in (b"{", b"["))
    for key, node in tree.items():
        if key not in held:
            continue
        text = msgspec.json.encode(key)
        if data.count(text) - inner.count(text) > 1:
            return True
        below = bytes(held[key])
        if not isinstance(node, Leaf) and below[:1] == b"{" and _may(node, below):
            return True
    return False


def _different(tree: Tree, pairs: Any) -> list[str]:
    """Return the columns of a level, and of those below, that have different values."""
    found: list[str] = []
    if not isinstance(pairs, _Pairs):
        return found
    for key, node in tree.items():
        values = [value for name, value in pairs if name == key]
        if any(value != values[0] for value in values[1:]):
            found += _columns(node)
        elif values and not isinstance(node, Leaf):
            found += _different(node, values[0])
    return found


def _columns(node: Tree | Leaf) -> list[str]:
    if isinstance(node, Leaf):
        return [node.column]
    return [column for inner in node.values() for column in _columns(inner)]
