"""One attestation: codes, a role, a time and a reference; no word of what was seen."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

_FEW_WORDS = r"(?![^A-Za-z]*(?:[A-Za-z]+[^A-Za-z]+){3}[A-Za-z])(?!.*[A-Za-z]{17})(?!.*[0-9]{9})"
"""No sentence with other signs between its words, nor run together, and no number of a person."""
Code = Annotated[str, Meta(pattern=rf"^{_FEW_WORDS}[a-z][a-z0-9_-]{{0,31}}$")]
Reference = Annotated[
    str, Meta(pattern=rf"^(?=.*[0-9]){_FEW_WORDS}[A-Za-z0-9][A-Za-z0-9._:/#-]{{0,63}}$")
]
"""A document's own number: three words at the most, and a digit."""
Identifier = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]{1,128}$")]
Basis = Literal["content-reviewed", "customer-review", "hash-compared", "replayed"]


class Attestation(Struct, frozen=True, forbid_unknown_fields=True):
    """What a reviewer says of one request.

    ``foreign`` raises it to confirmed, ``own`` lowers it to ruled out: the reviewer saw that
    the answer held data of others, or that it held none. ``method`` names where the way of
    reviewing is written down. ``tenant_id`` is needed where tenants share an id.
    """

    request_id: Identifier
    verdict: Literal["foreign", "own"]
    basis: Basis
    reviewer_role: Code
    reviewed_at: datetime
    method: Reference
    tenant_id: Annotated[str, Meta(max_length=128)] | None = None
    line: int = 0
    """Line of ``verdicts.csv``."""
