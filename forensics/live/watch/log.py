"""One log under its name: its generations, wherever they lie, read one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from forensics.live.watch.generation import Generation
from forensics.live.watch.losses import Losses, Told
from forensics.live.watch.place import Chunk, Identity, Place
from forensics.live.watch.prints import Prints
from forensics.live.watch.readers import open_reader
from forensics.live.watch.search import Look, Search
from forensics.live.watch.siblings import Beside, at, beside


class Log:
    """Reads what a name stands for, one generation after the other.

    Args:
        path: the name.
        places: where an earlier run had come to, oldest generation first; () to begin.
        told: called with what happened to a generation.
        prints: what tells content.
        number: gives a new generation its number.
        settle: seconds after which what was moved aside is taken to be written no more.
    """

    def __init__(
        self,
        path: Path,
        places: Sequence[Place],
        told: Told,
        prints: Prints,
        number: Callable[[], int],
        settle: float,
    ) -> None:
        self.path = path
        self._told, self._prints, self._number, self._settle = told, prints, number, settle
        self._generations = [Generation(place, prints) for place in places]
        self._down = bool(places)
        self._losses = Losses(self._generations, told, settle)
        self._search = Search(self._generations, self._new, self._losses, settle)

    def look(
        self,
        *,
        asked: frozenset[Path],
        last: bool,
        logs: frozenset[Path],
        others: frozenset[Identity],
    ) -> None:
        """See what the name stands for now, and where its earlier generations lie.

        Args:
            asked: files that were asked for under their own names, as a folder asks for all.
            last: there will be no later look.
            logs: all logs that are followed.
            others: files that hold generations of other logs.
        """
        here = at(self.path)
        if here is not None and here.identity in others:
            here = None
        turned, down = self._turned(here), self._down
        near = [one for one in beside(self.path, logs) if one.identity not in others]
        self._search.look(Look(near, here, asked, turned, last, down))
        self._down = False
        for generation in self._generations:
            generation.look()

    def read(self, *, last: bool = False, on: bool = False) -> tuple[Generation, Chunk] | None:
        """Return the next whole lines: of what was moved aside first.

        Args:
            last: there will be no later look by this run.
            on: a later run goes on from here, so what is still written may end its last line.
        """
        for generation in self._generations:
            aside = generation is not self._generations[-1]
            ended = aside or generation.packed
            final = (last and (ended or not on)) or (aside and generation.rests(self._settle))
            chunk = generation.read(final=final)
            if chunk is not None:
                return generation, chunk
            if aside and final and not generation.rest and not self._losses.waits(generation):
                generation.end()
        return None

    def places(self) -> list[Place]:
        """Return where the next lines begin, in each generation."""
        return [generation.place for generation in self._generations]

    def identities(self) -> set[Identity]:
        """Return which files hold generations of this log, as far as is sure."""
        return self._search.sure

    def close(self) -> None:
        """Close the files."""
        for generation in self._generations:
            generation.leave()

    def _new(self) -> Generation:
        return Generation.new(self._number(), self._prints)

    def _turned(self, here: Beside | None) -> Generation | None:
        """Begin what the name stands for now; return what others may have followed since."""
        tail = self._generations[-1] if self._generations else None
        if tail is None:
            if here is not None:
                self._begin(here)
            return None
        if tail.homeless and here is not None and here.identity in tail.copies:
            if not tail.finds(self.path, here.copy) or tail.emptied():
                return self._emptied(tail, here)
        elif tail.emptied():
            return self._emptied(tail, here)
        if here is not None and not tail.holds(here.identity) and self._begin(here):
            self._told("rotated", tail.number)
            tail.turn()
            return tail
        return tail if self._down else None

    def _emptied(self, tail: Generation, here: Beside | None) -> Generation:
        """Begin again what was emptied in place; what was in it may have been copied before."""
        for identity in [i for i in tail.copies if tail.holds(i) or (here and i == here.identity)]:
            del tail.copies[identity]
        tail.leave()
        self._told("truncated", tail.number)
        if here is not None:
            self._begin(here)
        return tail

    def _begin(self, here: Beside) -> bool:
        try:
            reader = open_reader(self.path)
        except OSError:
            return False  # between being moved and made anew, or not to be read
        made = self._new()
        made.attach(reader, here.copy)
        self._generations.append(made)
        return True
