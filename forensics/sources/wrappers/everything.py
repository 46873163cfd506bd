"""A file that can only be taken apart once all of it is there."""

from __future__ import annotations

from forensics.sources.blocks import Block
from forensics.sources.wrappers.inner import Inners, Whole

LARGEST = 512 << 20
"""Bytes of one file that may be held."""


class Everything:
    """Holds the bytes of a file until its end."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def whole(self, _: Block) -> Whole | None:
        """Return None: an entry may stand in several blocks."""
        return None

    def take(self, block: Block) -> Inners:
        """Hold the bytes of a block."""
        self._size += LARGEST + 1 if block.reason is not None else len(block.data)
        if self._size <= LARGEST:
            self._held.append(block.data)
        else:
            self._held.clear()
        return Inners()

    def _all(self) -> bytes | None:
        """Return the bytes of the file; None where they were too many."""
        data, self._held = b"".join(self._held), []
        return None if self._size > LARGEST else data
