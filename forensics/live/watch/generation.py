"""One generation of a log: what was written to it between two rotations, wherever it lies now."""

from __future__ import annotations

import time
from pathlib import Path

from forensics.live.watch.place import Chunk, Copy, Identity, Place
from forensics.live.watch.prints import WINDOW, Prints
from forensics.live.watch.readers import Reader, alike, mark, open_reader
from forensics.sources.blocks import LONGEST_LINE

MOST = 8 << 20
"""Bytes that are read of a file in one go, unless a line is longer."""
_TELLING = 2 * WINDOW
"""Bytes from which two generations that begin alike are the same."""


class Generation:
    """A generation, and where reading it has come to.

    Args:
        place: where an earlier run had come to, or the beginning.
        prints: what tells content.
    """

    def __init__(self, place: Place, prints: Prints) -> None:
        self.number, self.offset, self.lines = place.number, place.offset, place.lines
        self.finished, self.skipped = place.finished, place.skipped
        self.copies: dict[Identity, Copy] = {(c.device, c.inode): c for c in place.copies}
        self.reader: Reader | None = None
        self.prints = prints
        self.mark, self.size = place.mark, place.size
        self._goal, self._grown = 0, time.monotonic()

    @classmethod
    def new(cls, number: int, prints: Prints) -> Generation:
        """Return one of which nothing was read."""
        return cls(Place(number, "", 0, 0, 0, False, False, ()), prints)

    @property
    def rest(self) -> int:
        """Bytes that were seen of it and not read."""
        return max(0, self.size - self.offset)

    @property
    def place(self) -> Place:
        """Where the next line begins."""
        copies = tuple(self.copies.values())
        ended = self.finished, self.skipped
        return Place(self.number, self.mark, self.offset, self.lines, self.size, *ended, copies)

    @property
    def homeless(self) -> bool:
        """Say whether there is more of it to come, from nobody knows where."""
        return self.reader is None and not self.finished

    @property
    def packed(self) -> bool:
        """Say whether it is read from a packed file, which nobody adds to."""
        return self.reader is not None and self.reader.packed

    def holds(self, identity: Identity) -> bool:
        """Say whether it is read from a file now, which is kept from being another thereby."""
        return self.reader is not None and self.reader.identity == identity

    def attach(self, reader: Reader, copy: Copy) -> None:
        """Read on from a file that holds it."""
        self.leave()
        self.reader, self.finished = reader, False
        self.copies[reader.identity] = copy
        self._grown = time.monotonic()

    def finds(self, path: Path, copy: Copy) -> bool:
        """Say whether what was seen is in the file of a path, and read on there if need be.

        A copy that is as it was holds it, even if more was seen of the log before it was emptied.
        """
        try:
            reader = open_reader(path)
        except OSError:
            return False
        identity = copy.device, copy.inode
        known = self.copies.get(identity) == copy or self.is_in(reader)
        if reader.identity == identity and known:
            self.found(reader, copy)
            return True
        reader.close()
        return False

    def found(self, reader: Reader, copy: Copy) -> None:
        """Take a file that holds it, and read on there if it is not read elsewhere."""
        more = not self.skipped and reader.size > self.offset
        if self.homeless or (self.reader is None and more):
            self.attach(reader, copy)
        else:
            self.copies[reader.identity] = copy
            reader.close()

    def skip(self, reader: Reader, copy: Copy) -> None:
        """Leave a file unread that was there before."""
        self.copies[reader.identity] = copy
        self.finished = self.skipped = True
        if not reader.packed:  # a packed one is moved, and not packed again
            self.offset = self.size = reader.size
            self.mark = mark(reader, self.size, self.prints)
        reader.close()

    def turn(self) -> None:
        """Take it for moved aside now: who wrote to it may go on there for a while."""
        self._grown = time.monotonic()

    def leave(self) -> None:
        """Let go of the file."""
        if self.reader is not None:
            self.reader.close()
        self.reader = None

    def end(self) -> None:
        """Be done with it."""
        self.leave()
        self.finished = True

    def is_in(self, reader: Reader) -> bool:
        """Say whether a file begins with what was seen."""
        return not self.size or mark(reader, self.size, self.prints) == self.mark != ""

    def is_same(self, reader: Reader) -> bool:
        """Say whether a file that begins with what was seen holds this, and no other generation.

        Many begin alike: with a header, or with what an engine says as it starts.
        """
        if self.homeless or self.size >= _TELLING:
            return True
        if self.reader is None:
            return reader.size == self.size
        return alike(reader, self.reader, min(reader.size, self.reader.size))

    def equals(self, reader: Reader) -> bool:
        """Say whether a file holds the same bytes as the one that this is read from."""
        mine = self.reader
        return mine is not None and reader.size == mine.size > 0 and alike(reader, mine, mine.size)

    def begins_with(self, reader: Reader) -> bool:
        """Say whether all that is in a file is the beginning of this."""
        mine, size = self.reader, reader.size
        if mine is None or mine.packed or reader.packed or size > mine.size:
            return False
        return alike(reader, mine, size)

    def emptied(self) -> bool:
        """Say whether what was seen is in its file no more."""
        if self.reader is None or self.reader.packed:
            return False
        return self.reader.size < self.size or not self.is_in(self.reader)

    def look(self) -> None:
        """See how far it goes now: a busy one is never read to its end."""
        if self.reader is None:
            return
        size = self.reader.size
        if size != self.size:
            self.mark, self.size = mark(self.reader, size, self.prints), size
            self._grown = time.monotonic()
        self._goal = size

    def rests(self, settle: float) -> bool:
        """Say whether nothing more is likely to be written to it, once it was moved aside."""
        quiet = time.monotonic() - self._grown >= settle
        return self.reader is not None and (self.reader.packed or quiet)

    def read(self, *, final: bool) -> Chunk | None:
        """Return the whole lines that are new, up to where it ended when it was looked at.

        A line that is longer than any may be comes in pieces, as no reader takes it.

        Args:
            final: no more will be written: a line without an end counts.
        """
        if self.reader is None or self.offset >= self._goal:
            return None
        most, data = MOST, self.reader.read_at(self.offset, MOST)
        while len(data) == most <= LONGEST_LINE and b"\n" not in data:
            most = min(2 * most, LONGEST_LINE + 1)
            data = self.reader.read_at(self.offset, most)
        end = data.rfind(b"\n") + 1
        if (final and len(data) < most) or (not end and len(data) == most):
            end = len(data)
        if not end:
            self._goal = self.offset
            return None
        chunk = Chunk(data[:end], self.number, self.offset, self.lines)
        self.offset += end
        self.lines += data.count(b"\n", 0, end)
        return chunk

    def back(self, chunk: Chunk) -> None:
        """Go back to where a chunk began: it cannot be used before there is more of it."""
        self.offset, self.lines, self._goal = chunk.offset, chunk.lines, chunk.offset

    def first_line(self, most: int) -> bytes:
        """Return its first line."""
        data = self.reader.read_at(0, most) if self.reader is not None else b""
        return data[: data.find(b"\n") + 1]
