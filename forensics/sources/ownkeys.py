"""Whether all records of a block are the file's own: by their keys, and all at once.

A record of another format has certain keys. To skip all values of a block, and to see that
none of these keys is among them, costs a fraction of what reading the block costs; where one
is there, or a line is no JSON, each line is told by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec import Raw

from forensics.sources.jsonpaths import NEVER, Asked, Leaf, Path, Tree, expecting
from forensics.sources.jsonrows import FAULTS

_TEXTS = ("id", "name", "model", "code", "time")


class OwnKeys:
    """Says of a block whether each record has some keys, and none has certain others.

    Args:
        must: the keys, with the values that each may have: any where empty.
        never: the others.
    """

    def __init__(self, must: Mapping[str, tuple[str, ...]], never: Collection[str]) -> None:
        self._must: dict[str, Any] = {
            key: Literal[values] if values else Raw for key, values in must.items()
        }
        self._values = {key for key, values in must.items() if values}
        self._never: dict[str, Any] = dict.fromkeys(sorted(never), NEVER)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(expecting({}, asked=self.asked({}, ())))

    def __call__(self, data: bytes) -> bool:
        """Say so; what is no JSON object at all is none of it."""
        try:
            self._decoder.decode_lines(data)
        except FAULTS:
            return False
        return True

    def asked(self, tree: Tree, keys: Collection[Path]) -> Asked:
        """Return what is asked of a record of which some keys are read.

        Args:
            tree: the keys that are read.
            keys: the paths of those that may have a value.
        """
        types: dict[str, Any] = {key: of for key, of in self._must.items() if key not in tree}
        # A column's values have its type: the one that tells is asked of none but texts.
        for key in self._values & tree.keys():
            node = tree[key]
            text = isinstance(node, Leaf) and node.kind in _TEXTS and (key,) in keys
            types[key] = self._must[key] if text else NEVER
        return Asked(types | self._never, frozenset(self._must))


def telling(sets: Iterable[frozenset[str]], own: frozenset[str]) -> frozenset[str] | None:
    """Return few keys that no own record has, one of each set; None where a set has none."""
    left = [keys - own for keys in sets]
    chosen: set[str] = set()
    while left:
        counts = Counter(key for keys in left for key in keys)
        if not all(left):
            return None
        chosen.add(min(counts, key=lambda key: (-counts[key], key)))
        left = [keys for keys in left if not keys & chosen]
    return frozenset(chosen)
