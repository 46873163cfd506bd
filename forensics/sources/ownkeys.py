"""Whether all records of a block are the file's own: by their keys, and all at once.

A record of another format has certain keys. To skip all values of a block, and to see that
none of these keys is among them, costs a fraction of what reading the block costs; where one
is there, or a line is no JSON, each line is told by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw

from forensics.sources.jsonrows import FAULTS

_NEVER = Annotated[int, Meta(ge=1, le=0)]
"""No value at all, not even null: a key tells by being there."""


class OwnKeys:
    """Says of a block whether each record has some keys, and none has certain others.

    Args:
        must: the keys, with the values that each may have: any where empty.
        never: the others.
    """

    def __init__(self, must: Mapping[str, tuple[str, ...]], never: Collection[str]) -> None:
        keys = [*must, *sorted(never)]
        types: list[Any] = [Literal[values] if values else Raw for values in must.values()]
        fields = [(f"f{at}", of) for at, of in enumerate(types)]
        others = [(f"f{at}", _NEVER, None) for at in range(len(must), len(keys))]
        rename = {f"f{at}": key for at, key in enumerate(keys)}
        struct = msgspec.defstruct("Keys", [*fields, *others], rename=rename, gc=False)
        self._decoder = msgspec.json.Decoder(struct)

    def __call__(self, data: bytes) -> bool:
        """Say so; what is no JSON object at all is none of it."""
        try:
            self._decoder.decode_lines(data)
        except FAULTS:
            return False
        return True


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
