"""Names for tenants that nobody can turn back without the key.

One key gives different names for another case or another audience, so that two readers
cannot join what they were given. A plain hash of a tenant's id could be guessed.
"""

from __future__ import annotations

import base64
import hmac
from typing import Final

PATTERN: Final = "t-[a-z2-7]{20}"
AUDIENCE: Final = "tenants"


def pseudonym(key: bytes, case: str, audience: str, tenant: str) -> str:
    """Return ``t-`` and 100 bits of an HMAC-SHA-256 in base 32."""
    parts = [part.encode("utf-8", "surrogatepass") for part in ("v1", case, audience, tenant)]
    text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    digest = hmac.digest(key, text, "sha256")
    return "t-" + base64.b32encode(digest).decode("ascii").lower()[:20]
