"""Blocks of a log from which the records of others were not taken yet.

To see that there are none among the records costs a decoding of its own. A reader that decodes
them anyway sees it along the way, and has only those blocks sifted where there may be some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from forensics.sources.blocks import Block, Source
from forensics.sources.ownkeys import OwnKeys


@dataclass(frozen=True)
class Mixed:
    """Blocks in which records of others may be.

    Args:
        blocks: of the whole log.
        keys: tells that all records of a block are the log's own.
        own: returns the log's own lines of a block, and keeps the others.
    """

    blocks: Iterator[Block]
    keys: OwnKeys
    own: Callable[[Block], Block]

    def __iter__(self) -> Iterator[Block]:
        return self.blocks


@runtime_checkable
class _Sifting(Protocol):
    def mixed(self, size: int | None = None) -> Iterable[Block]: ...


def mixed(source: Source, size: int | None = None) -> Iterable[Block]:
    """Return the blocks of a source, unsifted where they can be sifted while they are read."""
    return source.mixed(size) if isinstance(source, _Sifting) else source.blocks(size)
