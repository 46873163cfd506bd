"""Pages that hold the tokens last written to them; nothing clears them unless told to."""

from __future__ import annotations

from forensics.lab.pages import PagePool

Row = str | None


class Memory:
    """One rank's KV pool: pages in the engine's order of reuse, rows token by token."""

    def __init__(self, pool_tokens: int, page_tokens: int, *, clear: bool) -> None:
        self.page_tokens = page_tokens
        self._pool = PagePool(pool_tokens // page_tokens)
        self._rows: dict[int, list[Row]] = {}
        self._clear = clear

    @property
    def available(self) -> int:
        """Pages that nobody holds."""
        return self._pool.available

    @property
    def pages(self) -> int:
        """Pages there are."""
        return self._pool.pages

    def take(self, tokens: int) -> list[int]:
        """Take the pages of a prompt of that many tokens."""
        count = -(-tokens // self.page_tokens)
        return self._pool.take_prompt(tokens, self.page_tokens, count)

    def grow(self, pages: list[int]) -> None:
        """Take one more page for generated tokens."""
        pages.append(self._pool.take_step(1))

    def give_back(self, pages: list[int]) -> None:
        """Free pages; what they hold stays unless the pool clears them."""
        if self._clear:
            for page in pages:
                self._rows.pop(page, None)
        self._pool.give_back(pages)

    def write(self, pages: list[int], at: int, token: str) -> None:
        """Write one token into the row ``at`` of a request's pages."""
        self.page(pages[at // self.page_tokens])[at % self.page_tokens] = token

    def page(self, number: int) -> list[Row]:
        """Return the rows of one page, to read or to overwrite."""
        return self._rows.setdefault(number, [None] * self.page_tokens)

    def read(self, pages: list[int], tokens: int) -> list[Row]:
        """Return the first rows of a request's pages, whoever wrote them."""
        rows: list[Row] = []
        for page in pages:
            rows += self._rows.get(page, [None] * self.page_tokens)
        return rows[:tokens]
