"""The lengths that a canary aims at: as they are stated, else as the engine says."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.live.gate import Asked, ask
from forensics.live.local import is_local
from forensics.live.plan import Sizes
from forensics.live.target import Target


class UnknownSizesError(Exception):
    """The engine does not say its sizes; the text is one line and quotes nothing."""


@dataclass(frozen=True)
class Stated:
    """What the caller states of limit, pool and window, in tokens, and whom to ask for the rest."""

    engine: Target
    limit: int | None = None
    pool: int | None = None
    window: int | None = None
    seconds: float = 10.0

    @property
    def whole(self) -> Sizes | None:
        """The sizes, where all of them are stated."""
        if self.limit is None or self.pool is None or self.window is None:
            return None
        return Sizes(self.limit, self.pool, self.window)

    @property
    def near(self) -> bool:
        """Whether no other host has to be asked for them."""
        return self.whole is not None or is_local(self.engine.shown)

    async def sizes(self) -> Sizes:
        """Return the sizes; the engine is asked for what is not stated.

        Raises:
            UnknownSizesError: it does not say them.
        """
        if self.whole is not None:
            return self.whole
        gate = await ask([self.engine], Asked(window=self.window, seconds=self.seconds))
        known = [row.pool for row in gate.rows if row.pool is not None]
        if not known or len(known) != len(gate.rows):
            why = next(row.sentence for row in gate.rows if row.pool is None)
            raise UnknownSizesError(f"{why.removeprefix('failed: ')}")
        least = min(known, key=lambda rank: rank.limit)
        return Sizes(
            self.limit or least.limit, self.pool or least.pool, self.window or least.window
        )
