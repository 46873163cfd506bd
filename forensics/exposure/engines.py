"""What engines were set to over time, and what they rejected."""

from __future__ import annotations

from msgspec import Struct

from forensics.exposure.times import Time


class Epoch(Struct, frozen=True):
    """One stretch of time in which an engine's pool and settings stood."""

    node: str
    role: str | None
    effective_at: Time | None
    until: Time | None
    pool_tokens: int | None
    page_tokens: int | None
    context_tokens: int | None
    input_limit_tokens: int | None
    limit_basis: str
    gap_tokens: int | None
    """``context - pool``: positive where the window is larger than the pool."""
    inferred: bool
    config: str | None
    engine: str | None
    engine_version: str | None


class Change(Struct, frozen=True):
    """A setting that changed between two epochs of a node."""

    node: str
    at: Time
    setting: str
    before: str | None
    after: str | None


class Rejections(Struct, frozen=True):
    """Rejections of one day and node: stopped there, or served all the same."""

    day: str
    node: str | None
    code: str
    stopped: int
    served: int
    unknown: int
