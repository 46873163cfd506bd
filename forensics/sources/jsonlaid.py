"""Lines of JSON that are all laid out alike, to columns without an object for any value.

One program writes a log: its lines begin with the same keys in the same order, and end with the
same ones; between stands what is not read. So the keys at the begin and the end of one line are
held against those of all lines of a block, as bytes, and what stands between them is cut out
where it lies. That every line is JSON is for a decoder to say, which skips all values.

That a value was cut out right is sure, or the block is left to the reader of single values:

* from the begin of a line, or back from its end, key follows value follows key without a bracket,
  so that all are keys of the record itself;
* a text that is cut out holds no quote and no backslash, and is ASCII; a number is digits;
* none of these keys stands anywhere else in any line, at whatever depth, and none of the others
  that are read stands in the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from forensics.sources.blocks import Block
from forensics.sources.jsoncut import Cut, Cutter
from forensics.sources.jsonkeys import BlockKeys
from forensics.sources.jsonlayout import Layout, layout
from forensics.sources.jsonpaths import Asked, Tree, expecting
from forensics.sources.jsonrows import FAULTS, one_each
from forensics.sources.ownkeys import NEVER, OwnKeys

_SKIPPED = 7
"""Blocks that are not looked at after one that was laid out otherwise."""


class Laid:
    """Cuts columns out of blocks.

    Args:
        tree: the keys that are read.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: _Known | None = None
        self._skipped = 0

    def read(self, block: Block, keys: OwnKeys | None = None) -> dict[str, Cut] | None:
        """Return the values of the block's lines by their column; None where that is not sure.

        Args:
            block: whole lines.
            keys: what tells that all of them are the log's own; None where they are.
        """
        if self._skipped:
            self._skipped -= 1
            return None
        try:
            found = self._read(block, keys)
        except FAULTS:
            found = None
        if found is None:
            self._known, self._skipped = None, _SKIPPED
        return found

    def _read(self, block: Block, own: OwnKeys | None) -> dict[str, Cut] | None:
        lines = one_each(block)
        if not lines:
            return None
        keys, known = BlockKeys(block), self._known
        if known is None or known.keys is not own:
            like = layout(block.data[block.starts[-1] :], self._tree)
            if like is None:
                return None
            self._known = known = _Known(like, own, _decoder(like, own))
        like = known.like
        if keys.count(like.own, quoted=False) != lines * like.named:
            return None
        if keys.escaped() and like.all.may_be_escaped(keys):
            return None
        spans = _spans(block, keys, like)
        if spans is None or len(known.decoder.decode_lines(block.data)) != lines:
            return None
        return Cutter(block.data, keys.octets, keys.words, lines).all(like, *spans)


@dataclass(frozen=True)
class _Known:
    """How lines are laid out, and what skips their values."""

    like: Layout
    keys: OwnKeys | None
    decoder: msgspec.json.Decoder[Any]


def _decoder(like: Layout, keys: OwnKeys | None) -> msgspec.json.Decoder[Any]:
    """Return a decoder of records in which keys that are read stand inside of content alone.

    It takes no value of any: what it is for is to say that there is such a record on each line.
    """
    asked = Asked() if keys is None else keys.asked({}, ())
    types = dict(asked.types) | dict.fromkeys(sorted(like.inside), NEVER)
    return msgspec.json.Decoder(expecting({}, asked=Asked(types, asked.needed)))


def _spans(block: Block, keys: BlockKeys, like: Layout) -> tuple[np.ndarray, np.ndarray] | None:
    """Return where the values begin and end, line by line; None where a line is other than that."""
    cuts = keys.cuts
    if len(cuts) != len(block.starts) + 1 or (np.diff(cuts) < like.keys).any():
        return None
    at = keys.ends[
        np.concatenate([cuts[:-1, None] + like.first, cuts[1:, None] - like.last], axis=1)
    ]
    behind = at + like.behind  # where what is between two values ends
    begins = behind - like.lengths
    if (begins[:, 0] != block.starts).any() or (begins[:, 1:] <= behind[:, :-1]).any():
        return None
    if not _same(block.data, keys.words, behind, like):
        return None
    closed = np.append(block.starts[1:] - 1, len(block.data) - block.data.endswith(b"\n")) - 1
    ends = np.concatenate([begins[:, 1:], closed[:, None]], axis=1)
    return behind[:, like.values], ends[:, like.values]


def _same(data: bytes, words: np.ndarray, behind: np.ndarray, like: Layout) -> bool:
    """Say whether the same bytes stand before some places of each line."""
    for end, text in zip(behind[0].tolist(), like.between, strict=True):
        if end < len(text) or data[end - len(text) : end] != text:
            return False
    rest = behind[1:]
    return not any(
        ((words[rest[:, some] - depth] ^ wanted) & masks).any()
        for depth, some, wanted, masks in like.words
    )
