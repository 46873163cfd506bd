"""What of a log was lost: told once, with what is known of it, and only where it may have been.

``rest`` is what followed in a generation that lies nowhere any more; ``between`` are whole
generations that came and went between two looks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from forensics.live.watch.generation import Generation
from forensics.live.watch.siblings import Beside

if TYPE_CHECKING:
    from forensics.live.watch.search import Look

_SURE = 2
"""Looks after which what is not found is not there: files may be on their way."""


class Told(Protocol):
    """Takes what happened to a generation of a log."""

    def __call__(self, event: str, number: int, **more: Any) -> None:
        """Tell it."""


class Losses:
    """Sees what is missing.

    Args:
        generations: the known ones, oldest first.
        told: called with what was lost.
        settle: seconds for which a file that is still being written is waited for.
    """

    def __init__(self, generations: list[Generation], told: Told, settle: float) -> None:
        self._all, self._told, self._settle = generations, told, settle
        self._homeless: dict[int, tuple[int, float]] = {}
        self._turned: Generation | None = None
        self._looks, self._adopted, self._filled = 0, 0, 0

    def adopted(self, made: Generation, *, empty: bool, whole: bool) -> None:
        """Count a generation that was missed; what it is packed in may break off."""
        self._adopted += 1
        self._filled += not empty
        if not whole:
            self._lost(made, "rest", certain=True)

    def look(self, look: Look, coming: list[Beside]) -> None:
        """Tell what was lost up to this look; what is coming may hold some of it yet."""
        self._rests(look, waiting=bool(coming))
        if look.turned is not None and self._turned is None:
            self._turned, self._looks = look.turned, 0
        if self._turned is None:
            self._adopted = self._filled = 0
            return
        self._looks += 1
        if look.last or self._looks >= _SURE:
            self._between(self._turned, look, len(coming))
            self._turned, self._adopted, self._filled = None, 0, 0

    def waits(self, generation: Generation) -> bool:
        """Say whether it is not sure yet what followed a generation: a later run has to ask."""
        return generation is self._turned

    def _rests(self, look: Look, *, waiting: bool) -> None:
        now = time.monotonic()
        homeless = [g for g in self._all if g.homeless]
        found = {g.number: self._homeless.get(g.number, (0, now)) for g in homeless}
        self._homeless = {n: (looks + 1, at) for n, (looks, at) in found.items()}
        for generation in homeless:
            looks, since = self._homeless[generation.number]
            coming = waiting and now - since < self._settle
            if look.last or (looks >= _SURE and not coming):
                self._lost(generation, "rest", certain=generation.rest > 0)
                generation.end()

    def _between(self, turned: Generation, look: Look, coming: int) -> None:
        """Tell whether generations that followed another lie nowhere, by how far it was moved."""
        here = look.here.identity if look.here is not None else None
        if turned not in self._all:
            return
        if here in turned.copies:
            if self._filled and not turned.size:  # an inode is used again, and it was empty
                self._lost(turned, "between", certain=False)
            return
        copies = [one for one in look.near if one.identity in turned.copies]
        counts = [one.position for one in copies if one.position is not None]
        after = len(self._all) - 1 - self._all.index(turned) + coming
        if counts and min(counts) > after:
            self._by_count(turned, look, min(counts), min(counts) - after)
        elif not copies and (self._adopted or coming) and not turned.finished:
            self._lost(turned, "between", certain=False)

    def _by_count(self, turned: Generation, look: Look, count: int, lacking: int) -> None:
        """Tell what lacks by a name's count, as far as names count rotations: some count days.

        Where a lower number is older, they count up, and say nothing of what lacks.
        """
        older = self._all[: self._all.index(turned)]
        lower = [one for one in look.near if one.position is not None and one.position < count]
        if any(one.identity in g.copies for one in lower for g in older):
            return
        if any(one.position == 1 for one in lower):
            self._lost(turned, "between", certain=True, generations=lacking)
        else:
            self._lost(turned, "between", certain=False)

    def _lost(self, generation: Generation, what: str, **more: Any) -> None:
        place = {"after_bytes": generation.offset, "after_lines": generation.lines}
        seen = {"bytes": generation.rest} if what == "rest" and generation.rest else {}
        self._told("lost", generation.number, what=what, **place, **seen, **more)
