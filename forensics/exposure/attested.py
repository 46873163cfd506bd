"""Attestations in the document: who said what of which request, and what it changed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Tier = Literal["confirmed", "probable", "possible", "ruled_out", "not_assessable"]


class Review(Struct, frozen=True):
    """One attestation, by its line in ``verdicts.csv``; ``requests`` counts what it names.

    ``before`` is the surest tier of these requests without any attestation, ``after`` with all.
    """

    line: int
    request_id: str
    tenant_id: str | None
    verdict: Literal["foreign", "own"]
    basis: Literal["content-reviewed", "customer-review", "hash-compared", "replayed"]
    reviewer_role: str
    reviewed_at: str
    method: str
    requests: int
    before: Tier | None
    after: Tier | None
