"""Sources in the document: how they were found on each rank, and what a model adds to that."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class SourceRank(Struct, frozen=True):
    """One decode rank from a start to the next that has affected responses.

    ``replays`` is 0 where it was not replayed, for ``reasons``; ``hours`` with figures of the
    engine's own, ``hours_fitting`` in which the replayed occupancy agrees with them. Of a rank that
    is ``modelled, unchecked`` the ``reasons`` say why they do not confirm the replay: where there
    are some, whom it names is possible at the most.
    """

    node: str
    since: str | None
    requests: int
    responses: int
    allocator: str
    result: Literal["modelled", "modelled, unchecked", "co-residency only"]
    replays: int
    hours: int
    hours_fitting: int
    reasons: list[str]


class LookBack(Struct, frozen=True):
    """Other tenants that ran on the rank within so many hours before a read; None: since the start.

    ``median_tenants`` and ``most_tenants`` are over the affected responses.
    """

    hours: float | None
    median_tenants: int
    most_tenants: int
    responses: int

    @property
    def within(self) -> str:
        """How far back, in words."""
        return "since the start" if self.hours is None else f"{self.hours:g} h"


class PageOwner(Struct, frozen=True):
    """Who wrote pages that one response read, by the model; ``probability`` of the surest."""

    owner: Literal["tenant", "no tenant id", "never used", "other tenants"]
    tenant_id: str | None
    pages: int
    requests: int
    probability: float | None
    same_tenant: bool

    @property
    def who(self) -> str:
        """The tenant, or what the pages are instead of a tenant's."""
        return self.tenant_id if self.tenant_id is not None else self.owner


class OwnedPages(Struct, frozen=True):
    """The response of which most foreign pages are named, and who wrote them.

    Where figures of the engine's own do not confirm the replay, it is not ``believed``: each is
    possible at the most, whatever the probability.
    """

    request_id: str
    attempt: int
    decode_node: str
    pages: int
    owners: list[PageOwner]
    believed: bool = True


class Spread(Struct, frozen=True):
    """A way in which an affected answer may have gone on: possible, and in no other count."""

    way: Literal["follow-up turn", "decode prefix cache"]
    responses: int
    requests: int
    known: Literal["yes", "no", "not known"]
    sentence: str


class Attribution(Struct, frozen=True):
    """How the sources were found, and how far that can be believed."""

    sentence: str = ""
    ranks: list[SourceRank] = []
    lookback: list[LookBack] = []
    example: OwnedPages | None = None
    spread: list[Spread] = []
