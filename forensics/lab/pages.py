"""A pool of KV pages in which every page remembers who wrote it last.

Order of reuse as in disaggregated SGLang up to 0.5.19 ("sorted sweep"): pages are taken
from the head of the free list; freed pages wait in a release list, which is merged and
sorted in only when the head list runs short. Pages are not cleared when they are freed,
so a page that is reserved and not written still holds what its last writer left there.
"""

from __future__ import annotations

NOBODY = -1
"""The page was not written since the engine started."""


class PagePool:
    """Pages 1 to `pages` of one rank; page 0 is the engine's padding."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.writer = [NOBODY] * (pages + 1)
        self.merges = 0
        self._free = list(range(1, pages + 1))
        self._head = 0
        self._released: list[int] = []

    @property
    def available(self) -> int:
        """Pages that nobody holds."""
        return len(self._free) - self._head + len(self._released)

    def take_prompt(self, tokens: int, page_tokens: int, pages: int) -> list[int]:
        """Take `pages` for a prompt extension of `tokens`; the engine looks two pages ahead."""
        self._merge_if_shorter_than(tokens // page_tokens + 2)
        return self._take(pages)

    def take_step(self, batch: int) -> int:
        """Take the page that one of `batch` running requests grows by."""
        self.before_step(batch)
        return self._take(1)[0]

    def before_step(self, batch: int) -> None:
        """A decode step needs at most one page for each of `batch` running requests."""
        self._merge_if_shorter_than(batch)

    def give_back(self, pages: list[int]) -> None:
        """Free `pages`: they keep their contents and wait for the next merge."""
        self._released += pages

    def write(self, pages: list[int], writer: int) -> None:
        """Note that `writer` filled `pages`."""
        for page in pages:
            self.writer[page] = writer

    def _merge_if_shorter_than(self, pages: int) -> None:
        if pages > len(self._free) - self._head and self._released:
            self._free = sorted(self._free[self._head :] + self._released)
            self._head = 0
            self._released = []
            self.merges += 1

    def _take(self, pages: int) -> list[int]:
        taken = self._free[self._head : self._head + pages]
        if len(taken) < pages:
            raise RuntimeError("a pool handed out more pages than it has")
        self._head += pages
        return taken
