"""One log under its name: the file that is there now, and those that were moved aside."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path

from forensics.live.watch.follow import MOST, Chunk, Event, Followed, Place, is_at

_Told = Callable[[Event], None]
Ends = MutableMapping[tuple[int, int], dict[int, float]]
End = tuple[tuple[int, int], int]
"""Where a name ends: device and inode of its latest file, and that one's size."""


class Log:
    """Reads what a name stands for, one file after the other.

    Args:
        path: the name.
        places: where an earlier run had come to, oldest file first; () to begin.
        told: called with what happened to the file.
        ends: where the pieces ended that an earlier run read, and when it did, by device and
            inode: they are read again piece by piece; forgotten where the file was emptied.
    """

    def __init__(
        self, path: Path, places: tuple[Place, ...], told: _Told, ends: Ends | None = None
    ) -> None:
        self.path = path
        self._told = told
        self._ends = {} if ends is None else ends
        self._files: list[Followed] = []
        for place in places:
            found = self._find(place)
            if found is None:
                told("lost")
            else:
                self._files.append(Followed(found, place))

    def read(self, *, last: bool = False) -> Chunk | None:
        """Return the next whole lines: of a file that was moved aside, to its end, first."""
        self._look()
        while len(self._files) > 1:
            chunk = self._files[0].read(last=True, most=self._most())
            if chunk is not None:
                return chunk
            self._files.pop(0).close()
        if not self._files:
            return None
        if self._files[0].emptied():
            self._ends.pop(self._files[0].identity, None)
            self._told("truncated")
        return self._files[0].read(last=last, most=self._most())

    def end(self) -> End | None:
        """Return where the name ends now; None where it stands for no file."""
        self._look()
        return (self._files[-1].identity, self._files[-1].size) if self._files else None

    def reached(self, end: End | None) -> bool:
        """Say whether all was read up to what was its end once: what came since can wait."""
        if end is None or end[0] not in {file.identity for file in self._files}:
            return True
        first = self._files[0]
        return first.identity == end[0] and first.place.offset >= end[1]

    def _most(self) -> int:
        """Return how many bytes may be read at once: up to where an earlier run had come."""
        place = self._files[0].place
        ends = self._ends.get((place.device, place.inode), ())
        return min((end - place.offset for end in ends if end > place.offset), default=MOST)

    def back(self, chunk: Chunk) -> None:
        """Read a chunk again the next time."""
        self._files[0].back(chunk.begin)

    def places(self) -> tuple[Place, ...]:
        """Return where the next lines begin, in each file that is not read to its end."""
        return tuple(file.place for file in self._files)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            self._files.pop().close()

    def _look(self) -> None:
        """Open the file that the name stands for now, if it is another one."""
        try:
            found = self.path.stat()
        except OSError:
            return  # between being moved and made anew, or gone
        if (found.st_dev, found.st_ino) in {file.identity for file in self._files}:
            return
        try:
            self._files.append(Followed(self.path))
        except OSError:
            return
        if len(self._files) > 1:
            self._told("rotated")

    def _find(self, place: Place) -> Path | None:
        """Return where a file lies now: under its name, or moved aside in the same folder."""
        beside = sorted(self.path.parent.glob(f"{_escaped(self.path.name)}*"))
        return next((path for path in [self.path, *beside] if is_at(path, place)), None)


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
