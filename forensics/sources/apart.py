"""Records of others among the lines of an engine's log: two files that were put together.

An engine's log may hold JSON of any program. Where it is in a format that a file of its own
would be read in, it is read in that one; else it is counted, as a request where it has the
fields of one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from forensics.incident import Incident
from forensics.sources.blocks import Block, Source
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.sources.strangers import ASKED, ENGINES, OTHER, OWN, Teller, begins_own

_OPEN = ord("{")


class Apart:
    """A log without the records of others; those are handed on by themselves.

    Args:
        source: the log.
        name: its format; None where all lines are to be taken for the log's own.
        incident: for the names that records may have.
    """

    def __init__(self, source: Source, name: str | None, incident: Incident) -> None:
        self._source = source
        self._teller = Teller(name, incident) if name is not None and name in ENGINES else None
        self._found: list[tuple[str, Block]] = []

    @property
    def magic(self) -> bytes:
        """The first bytes."""
        return self._source.magic

    def head(self) -> bytes:
        """Return the beginning; it is read again later."""
        return self._source.head()

    def whole(self) -> io.BytesIO:
        """Return all bytes in memory."""
        return self._source.whole()

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yield blocks of the log's own lines."""
        for block in self._source.blocks(size):
            own = block if self._teller is None else self._part(block, self._teller)
            if own.data or own.reason is not None or not block.data:
                yield own

    def others(self, context: Context) -> Iterator[tuple[str | None, Parsed]]:
        """Yield what the records that were met since the last call hold.

        With the format that they are in; of those in none, their number alone.
        """
        found, self._found = self._found, []
        for name, block in found:
            known = self._teller.met.get(name) if self._teller is not None else None
            if known is None:
                yield None, _counted(name, block)
                continue
            for parsed in known.read(_Lines(block), context):
                yield name, parsed

    def _part(self, block: Block, teller: Teller) -> Block:
        """Return the log's own lines of a block, and keep the others."""
        strange = _strange(block)
        if not strange:
            return block
        starts, ends = block.starts, np.append(block.starts[1:], len(block.data))
        told = [teller.told(block.data[starts[place] : ends[place]]) for place in strange]
        if all(name == OWN for name in told):
            return block
        names = np.full(len(starts), OWN, dtype=object)
        names[strange] = told
        for name in sorted({*told} - {OWN}):
            self._found.append((name, _some(block, names == name)))
        return _some(block, names == OWN)


def _strange(block: Block) -> list[int]:
    """Return which lines hold a record that does not begin as the engine's own do."""
    data = block.data
    # Most blocks are all text, or all requests: this is seen without a look at each line.
    if not (data.startswith(b"{") or b"\n{" in data):
        return []
    opened = np.flatnonzero(np.frombuffer(data, np.uint8)[block.starts] == _OPEN).tolist()
    starts = block.starts[opened].tolist()
    return [place for place, at in zip(opened, starts, strict=True) if not begins_own(data, at)]


def _counted(name: str, block: Block) -> Parsed:
    number = len(block.starts)
    parsed = Parsed(read=number)
    parsed.ignored[OTHER] += number
    if name == ASKED:
        parsed.notes[ASKED] += number
    return parsed


class _Lines:
    """One block as a source."""

    def __init__(self, block: Block) -> None:
        self._block = block

    @property
    def magic(self) -> bytes:
        return self._block.data[:8]

    def head(self) -> bytes:
        return self._block.data

    def whole(self) -> io.BytesIO:
        return io.BytesIO(self._block.data)

    def blocks(self, size: int | None = None) -> Iterator[Block]:  # noqa: ARG002
        yield self._block


def _some(block: Block, wanted: np.ndarray) -> Block:
    """Return some lines of a block, with their numbers."""
    starts, ends = block.starts[wanted], np.append(block.starts[1:], len(block.data))[wanted]
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    data = b"".join(block.data[start:end] for start, end in pairs)
    numbers = np.array(block.all_numbers(len(wanted)), dtype=np.int64)[wanted]
    times = block.times.filter(wanted) if block.times is not None else None
    first = int(numbers[0]) if len(numbers) else block.line
    # A new block: where its lines end is none of the old one's.
    return Block(data, first, None, numbers=numbers, times=times)
