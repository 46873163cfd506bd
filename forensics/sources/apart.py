"""Records of others among the lines of a file: two files that were put together.

Any file of lines may hold JSON of any program, and a log the text of what runs in the
same process. Where that is in another format, in which a
file of its own would be read, it is read in that one. In an engine's log all else is counted,
as a request where it has the fields of one.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import polars as pl

from forensics.incident import Incident
from forensics.sources import otherlines, registry
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import OneBlock
from forensics.sources.context import Context
from forensics.sources.mixed import Mixed
from forensics.sources.parsed import Parsed
from forensics.sources.strangers import ASKED, BESIDE, OTHER, OWN, Teller, begins_own

_BARE = b"{"
_INDENTED = b"{ \t"


class Apart:
    """A log without the records of others; those are handed on by themselves.

    Args:
        source: the log.
        own: its format; None where all lines are to be taken for the log's own.
        incident: for the names that records may have.
    """

    def __init__(self, source: Source, own: registry.Format | None, incident: Incident) -> None:
        self._source = source
        self._teller = None
        if own is not None and own.apart(source.head()):
            self._teller = Teller(own, incident, source.head())
        self._all_own = self._teller.all_own() if self._teller is not None else None
        guests = registry.known(incident) if self._teller is not None else ()
        self._guests = [one for one in guests if own is not None and one.host == own.name]
        self._begins = own is not None and own.name == "sglang"
        # Of plain records each line is one, whatever white space it begins with.
        self._opens = _INDENTED if own is not None and own.name == "plain-ndjson" else _BARE
        self._found: list[tuple[str, Block]] = []
        self._resumed: dict[Callable[[Context], registry.Resumed], registry.Resumed] = {}

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
            own = self.own(block)
            if own.data or own.reason is not None or not block.data:
                yield own

    def mixed(self, size: int | None = None) -> Iterable[Block]:
        """Return all blocks as they are where keys tell whose they are, else :meth:`blocks`."""
        keys = self._all_own
        return (
            self.blocks(size) if keys is None else Mixed(self._source.blocks(size), keys, self.own)
        )

    def own(self, block: Block) -> Block:
        """Return the log's own lines of a block, and keep the others."""
        if self._teller is None:
            return block
        return self._part(block, self._teller)

    def others(self, context: Context) -> Iterator[tuple[str | None, Parsed]]:
        """Yield what the records that were met since the last call hold.

        With the format that they are in; of those in none, their number alone.
        """
        found, self._found = self._found, []
        for name, block in found:
            known = self._teller.met.get(name) if self._teller is not None else None
            if known is None:
                yield None, _counted(name, block, context)
                continue
            told = None if name.endswith(BESIDE) else known.name
            for parsed in self._read(known, OneBlock(block), context):
                yield told, parsed

    def rest(self) -> Iterator[Parsed]:
        """Yield what could only be told of such records once the file was at its end."""
        for reader in self._resumed.values():
            yield reader.rest()

    def _read(self, known: registry.Format, source: Source, context: Context) -> Iterator[Parsed]:
        if known.resumed is None:
            yield from known.read(source, context)
            return
        if known.resumed not in self._resumed:
            self._resumed[known.resumed] = known.resumed(context)
        yield from self._resumed[known.resumed].add(source)

    def _part(self, block: Block, teller: Teller) -> Block:
        told = {at: name for at, name in self._told(block, teller).items() if name != OWN}
        told |= self._printed(block, teller)
        if not told:
            return block
        names = np.full(len(block.starts), OWN, dtype=object)
        names[list(told)] = list(told.values())
        for name in sorted({*told.values()}):
            self._found.append((name, _some(block, names == name)))
        return _some(block, names == OWN)

    def _printed(self, block: Block, teller: Teller) -> dict[int, str]:
        """Return which lines of text another part of the own process printed."""
        told: dict[int, str] = {}
        for one in self._guests:
            if one.line is None or not any(word.encode() in block.data for word in one.words):
                continue
            begins = [match.start() for match in one.line.finditer(block.data)]
            told |= dict.fromkeys(np.searchsorted(block.starts, begins).tolist(), one.name)
            if begins:
                teller.met[one.name] = one
        return told

    def _told(self, block: Block, teller: Teller) -> dict[int, str]:
        """Return whose the records of a block are, but for those that are surely its own."""
        places = _strange(block, self._opens)
        if not places or (self._all_own is not None and self._all_own(block.data)):
            return {}
        data, starts = block.data, block.starts
        ends = np.append(starts[1:], len(data))
        return {
            at: teller.told(data[starts[at] : ends[at]])
            for at in places
            if not (self._begins and begins_own(data, int(starts[at])))
        }


def _strange(block: Block, opens: bytes) -> list[int]:
    """Return which lines hold a record: those that begin with one of some bytes."""
    data = block.data
    # Most blocks are all text, or all requests: this is seen without a look at each line.
    if not (data[:1] in opens or any(b"\n%c" % one in data for one in opens)):
        return []
    begins = np.frombuffer(data, np.uint8)[block.starts]
    found: list[int] = np.flatnonzero(np.isin(begins, list(opens))).tolist()
    return found


def _counted(name: str, block: Block, context: Context) -> Parsed:
    """Count records in no known format; what they carry as a text may be a line of another log."""
    number = len(block.starts)
    parsed = Parsed(read=number)
    texts = pl.Series("body", block.data.decode("utf-8", "replace").split("\n")[:number])
    rows = texts.to_frame().with_columns(line=pl.Series(block.all_numbers(number), dtype=pl.Int64))
    otherlines.count(rows, context, parsed, OTHER)
    if name == ASKED:
        parsed.notes[ASKED] += parsed.ignored[OTHER]
    return parsed


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
