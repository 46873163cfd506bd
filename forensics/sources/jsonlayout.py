"""How a line of JSON is laid out: which keys it begins and ends with, and what is between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec import Raw

from forensics.sources.jsonkeys import WORD, Names
from forensics.sources.jsonpaths import Leaf, Tree, names_of

_KEYS = msgspec.json.Decoder(dict[str, Raw])
_ANY_KEY = re.compile(rb'"([^"\\]*)"\s*:')
_LONG = 64
"""Bytes of a value that nobody reads, beyond which it is not passed over but taken for content."""
_Entry = tuple[str, bytes]


@dataclass(frozen=True)
class Layout:
    """The keys at the begin of a line and at its end, and the bytes between their values.

    Attributes:
        keys: how many keys a line has at the least.
        first: which keys of a line those at its begin are.
        last: which those at its end are, counted from behind.
        between: what stands before each value, or before the key that ends the begin.
        behind: how far behind the last quote of each key that ends.
        lengths: of ``between``.
        values: which of the keys have a value that is cut out.
        counts: which of these are counts.
        leaves: their columns; None where nobody reads them.
        own: all keys that are read, but for those inside of content.
        named: how many of the line's own keys look like one of these.
        all: all keys that are read.
        inside: keys that are read of a record, and stand inside of this one's content.
        words: how far before, of which keys, the words that stand there, and their masks.
    """

    keys: int
    first: np.ndarray
    last: np.ndarray
    between: tuple[bytes, ...]
    behind: np.ndarray
    lengths: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    leaves: tuple[Leaf | None, ...]
    own: Names
    named: int
    all: Names
    inside: frozenset[str]
    words: tuple[tuple[int, np.ndarray, np.ndarray, np.ndarray], ...]


def layout(line: bytes, tree: Tree) -> Layout | None:
    """Return how a line is laid out; None where not all that is read of it is at its begin or end.

    Args:
        line: one record.
        tree: the keys that are read.
    """
    line = line.removesuffix(b"\n")
    try:
        record = [(key, bytes(raw)) for key, raw in _KEYS.decode(line).items()]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    begin = _begin(line, record, tree)
    if begin is None:
        return None
    heads, at = begin
    left = record[len(heads) :]
    tails = _end(line, at, left[1:], tree) if left else []
    middle = left[: len(left) - len(tails)]
    if any(key in tree for key, _ in middle) or not (heads or tails):
        return None
    return _told(heads, middle, tails, tree, line[at:])


def _scalar(key: str, raw: bytes, tree: Tree) -> bool:
    """Say whether a value may be cut out, or passed over: a short one that is no content."""
    if key in tree:
        return raw[:1] not in (b"{", b"[") and isinstance(tree[key], Leaf)
    return raw[:1] not in (b"{", b"[") and len(raw) <= _LONG


def _begin(
    line: bytes, record: Sequence[_Entry], tree: Tree
) -> tuple[list[tuple[str, bytes]], int] | None:
    """Return keys with what stands before their values, and where the last value ends."""
    found: list[tuple[str, bytes]] = []
    at = 0
    for key, raw in record:
        opening = (b"{",) if not found else (b", ", b",")
        between = _between(line, at, opening, key)
        if between is None or not _scalar(key, raw, tree):
            break
        value = at + len(between)
        if line[value : value + len(raw)] != raw:
            return None
        found.append((key, between))
        at = value + len(raw)
    return found, at


def _between(line: bytes, at: int, openings: Sequence[bytes], key: str) -> bytes | None:
    quoted = msgspec.json.encode(key)
    if b"\\" in quoted:
        return None
    for opening in openings:
        for colon in (b": ", b":"):
            text = opening + quoted + colon
            if line.startswith(text, at):
                return text
    return None


def _end(line: bytes, least: int, record: Sequence[_Entry], tree: Tree) -> list[tuple[str, bytes]]:
    """Return keys with what stands before their values, from the first to the last."""
    found: list[tuple[str, bytes]] = []
    at = len(line) - 1
    for key, raw in reversed(record):
        value = at - len(raw)
        quoted = msgspec.json.encode(key)
        if value < least or line[value:at] != raw or not _scalar(key, raw, tree) or b"\\" in quoted:
            break
        texts = [o + quoted + colon for o in (b", ", b",") for colon in (b": ", b":")]
        text = next((text for text in texts if line.endswith(text, least, value)), None)
        if text is None:
            break
        found.append((key, text))
        at = value - len(text)
    return found[::-1]


def _told(
    heads: Sequence[_Entry],
    middle: Sequence[_Entry],
    tails: Sequence[_Entry],
    tree: Tree,
    rest: bytes,
) -> Layout | None:
    entries = [*heads, *tails]
    between, behind = [text for _, text in entries], [_behind(text) for _, text in entries]
    values = list(range(len(entries)))
    if middle:
        quoted = msgspec.json.encode(middle[0][0])
        openings = (b", ", b",") if heads else (b"{",)
        stop = next((o + quoted for o in openings if rest.startswith(o + quoted)), None)
        if stop is None or b"\\" in quoted:
            return None
        between.insert(len(heads), stop)
        behind.insert(len(heads), 1)
        values = [at + (at >= len(heads)) for at in values]
    names = [key for key, _ in entries] + [key for key, _ in middle[:1]]
    if len(set(names)) != len(names):
        return None
    if not any(key in tree for key, _ in entries):
        return None
    every = Names(names_of(tree))
    if not every.plain:
        return None
    inside = {key.decode("utf-8", "replace") for key in _ANY_KEY.findall(rest)} - set(names)
    own = Names(names_of(tree) - inside)
    return Layout(
        keys=len(between),
        first=np.arange(len(between) - len(tails)),
        last=np.arange(len(tails), 0, -1),
        between=tuple(between),
        behind=np.array(behind),
        lengths=np.array([len(text) for text in between]),
        values=np.array(values),
        counts=np.array([n for n, (key, _) in enumerate(entries) if _is_count(tree, key)], np.intp),
        leaves=tuple(_leaf(tree, key) for key, _ in entries),
        own=own,
        named=sum(own.may_be(b'"' + key.encode()) for key in names),
        all=every,
        inside=frozenset(tree.keys() & inside),
        words=tuple(_words(between)),
    )


def _leaf(tree: Tree, key: str) -> Leaf | None:
    node = tree.get(key)
    return node if isinstance(node, Leaf) else None


def _is_count(tree: Tree, key: str) -> bool:
    node = tree.get(key)
    return isinstance(node, Leaf) and node.kind == "count"


def _behind(text: bytes) -> int:
    """Return how many bytes are behind the quote that ends the key, and the quote."""
    return len(text) - text.rindex(b'"')


def _words(between: Sequence[bytes]) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    found = []
    for depth in range(0, max(map(len, between)), WORD):
        some = [at for at, text in enumerate(between) if len(text) > depth]
        ends = [between[at][: len(between[at]) - depth][-WORD:] for at in some]
        wanted = [int.from_bytes(end, "little") << 8 * (WORD - len(end)) for end in ends]
        masks = [((1 << 8 * len(end)) - 1) << 8 * (WORD - len(end)) for end in ends]
        found.append(
            (depth + WORD, np.array(some), np.array(wanted, np.uint64), np.array(masks, np.uint64))
        )
    return found
