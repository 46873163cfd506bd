"""Stable names of notices."""

from __future__ import annotations

import hashlib


def notice_id(case: str, population: str, tenant: str | None) -> str:
    """Return the same id for the same case, population and tenant, whatever the run.

    A tenant that is unknown and a tenant called the empty text get different ids.
    """
    known = "0" if tenant is None else "1"
    text = "\x1f".join((case, population, known, tenant or ""))
    return "N-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
