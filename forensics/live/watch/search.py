"""Where the generations of a log lie: moved aside, copied, packed, or nowhere any more.

Between two looks, or while no watch ran, a log can be moved aside any number of times. A file
beside it that holds what was read of a generation is that one, whatever it is called; one
that holds no known generation, and is called like one, is a generation that was missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forensics.live.watch.generation import Generation
from forensics.live.watch.losses import Losses
from forensics.live.watch.place import Copy, Identity
from forensics.live.watch.readers import Reader, open_reader
from forensics.live.watch.siblings import Beside

_GONE = 3
"""Looks after which a file that is not found any more is gone: it may be on its way."""


@dataclass(frozen=True)
class Look:
    """What one look at a log found.

    Attributes:
        near: the files in its folder, but itself.
        here: the file under its own name.
        asked: files that were asked for under their own names, as a folder asks for all.
        turned: the generation that others may have followed since the last look.
        last: there will be no later look.
        down: no watch ran for a while.
    """

    near: list[Beside]
    here: Beside | None
    asked: frozenset[Path]
    turned: Generation | None
    last: bool
    down: bool


class Search:
    """Finds the generations of a log again, and those that were missed.

    Args:
        generations: the known ones, oldest first; they are changed.
        new: makes one.
        losses: tells what was lost.
        settle: seconds after which a file that does not change is as it will be.
    """

    def __init__(
        self,
        generations: list[Generation],
        new: Callable[[], Generation],
        losses: Losses,
        settle: float,
    ) -> None:
        self._all, self._new, self._losses = generations, new, losses
        self._settle = settle
        self._first = not generations
        self._missing: dict[Identity, int] = {}
        self._unsure: dict[Identity, tuple[Beside, float]] = {}
        self._copied: dict[Identity, tuple[Copy, Generation]] = {}
        self.sure: set[Identity] = set()
        """Files that were seen to hold a generation at the last look."""

    def look(self, look: Look) -> None:
        """Look through the files beside a log."""
        unknown = [one for one in look.near if not self._again(one)]
        coming = [one for one in unknown if self._meet(one, look)]
        self._first = False
        there = {one.identity for one in look.near}
        self.sure = {i for g in self._all for i in g.copies} & there
        if look.here is not None:
            there.add(look.here.identity)
            self.sure.add(look.here.identity)
        self._losses.look(look, coming)
        self._forget(there)

    def _again(self, one: Beside) -> bool:
        """Say whether a file is known, and still what it was."""
        holders = [g for g in self._all if one.identity in g.copies]
        if not holders:
            return False
        known = holders[-1]
        if known.reader is not None and known.reader.identity == one.identity:
            known.copies[one.identity] = one.copy
            return True
        if known.copies[one.identity] == one.copy and (known.finished or known.reader is not None):
            return True
        if not known.size and known.homeless:
            return False  # nothing tells its content, and inodes are used again
        if known.size and known.finds(one.path, one.copy):
            return True
        del known.copies[one.identity]
        return False

    def _meet(self, one: Beside, look: Look) -> bool:
        """Take a file in that was not known; say whether it is to be looked at again."""
        if not one.named and not any(g.homeless for g in self._all):
            return False
        try:
            reader = open_reader(one.path)
        except OSError:
            return False
        if reader.identity != one.identity:
            reader.close()
            return True
        return self._taken(one, reader, look)

    def _taken(self, one: Beside, reader: Reader, look: Look) -> bool:
        if self._first and one.path not in look.asked:
            return self._skip(one, reader)
        holder = self._holder(one, reader)
        if holder is None and one.named:
            begun = (g for g in self._all if g.homeless and not g.size)
            holder = next((g for g in begun if one.identity in g.copies), None)
        if holder is None and not one.named:
            reader.close()
            return False
        if holder is None and self._is_coming(one, reader, look):
            reader.close()
            return True
        if holder is None:
            return self._adopt(one, reader, look)
        holder.found(reader, one.copy)
        return False

    def _holder(self, one: Beside, reader: Reader) -> Generation | None:
        """Return the generation that a file holds, by its content."""
        seen = [g for g in self._all if g.size]
        marks = reader.marks([g.size for g in seen], seen[0].prints) if seen else {}
        found = [g for g in seen if marks.get(g.size) == g.mark and g.is_same(reader)]
        found += [g for g in self._all if not g.size and g.equals(reader)]
        copied = self._copied.get(one.identity)
        if copied is not None and copied[0] == one.copy and copied[1].homeless:
            found.append(copied[1])  # what came after the copying was read before the emptying
        return max(found, key=lambda g: (g.homeless, g.size), default=None)

    def _is_coming(self, one: Beside, reader: Reader, look: Look) -> bool:
        """Say whether a file is a copy in the making, or is being packed."""
        tail = self._all[-1] if self._all else None
        if reader.whole and not (tail is not None and tail.begins_with(reader)):
            return False
        before, since = self._unsure.get(one.identity, (None, time.monotonic()))
        same = before is not None and before.copy == one.copy
        if tail is not None and reader.whole and one.size:
            self._copied[one.identity] = one.copy, tail
        self._unsure[one.identity] = one, since if same else time.monotonic()
        if reader.whole:  # the beginning of what is there; a copy does not stay without a byte
            return not (same and not one.size)
        return not look.last and not (same and time.monotonic() - since >= self._settle)

    def _adopt(self, one: Beside, reader: Reader, look: Look) -> bool:
        """Take a file for a generation that was missed."""
        made = self._new()
        made.attach(reader, one.copy)
        tail = self._all[-1] if self._all else None
        current = tail is not None and look.here is not None and look.here.identity in tail.copies
        self._all.insert(len(self._all) - (1 if current else 0), made)
        self._losses.adopted(made, empty=not reader.size, whole=reader.whole)
        return False

    def _skip(self, one: Beside, reader: Reader) -> bool:
        """Leave a file alone that is older than the watch and was not asked for."""
        made = self._new()
        made.skip(reader, one.copy)
        self._all.insert(0, made)
        return False

    def _forget(self, there: set[Identity]) -> None:
        """Let go of generations that are done with and lie nowhere any more."""
        known = {i for g in self._all for i in g.copies if not g.holds(i)}
        self._missing = {i: self._missing.get(i, 0) + 1 for i in known - there}
        self._unsure = {i: seen for i, seen in self._unsure.items() if i in there}
        self._copied = {i: copied for i, copied in self._copied.items() if i in there}
        for generation in self._all:
            for identity in [i for i in generation.copies if self._missing.get(i, 0) >= _GONE]:
                del generation.copies[identity]
        tail = self._all[-1:]
        self._all[:] = [g for g in self._all if g.copies or not g.finished or g in tail]
