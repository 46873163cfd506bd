"""What one rank of a running server says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RankPool:
    """What one rank of a server says. Tokens throughout; ``None`` is not said.

    Ranks answer in any order and without their number: ``place`` counts answers.
    """

    pool: int
    pool_field: str
    window: int
    limit: int
    limit_basis: str
    derived: int
    """The limit that follows from pool and window."""
    server: str | None = None
    """Which of the servers behind a router: ``prefill-0``."""
    place: int = 1
    places: int = 1
    page: int | None = None
    role: str | None = None
    engine: str | None = None
    version: str | None = None
