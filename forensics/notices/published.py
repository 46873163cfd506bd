"""What the public was shown by earlier revisions, which a new one is held against."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from forensics.errors import UsageError, VerificationError
from forensics.evidence.files import check
from forensics.evidence.folder import recorded
from forensics.exposure import Exposure


class Published(Struct, frozen=True):
    """Numbers as they were last shown in public; None, or no cell, where never."""

    cells: dict[str, int] = {}
    """Tenants by tier."""
    total: int | None = None
    requests: dict[str, int] = {}
    """Requests by the tier of their tenant."""
    all_requests: int | None = None
    unknown: int | None = None
    """Requests without a tenant."""
    low: int | None = None
    high: int | None = None


NEVER: Final = Published()
"""Nothing was published yet, or nothing is known of it: told by identity."""


class _Before(Struct, frozen=True):
    case_id: str
    revision: int = 0
    published: Published = Published()


def published(folder: Path | None, exposure: Exposure) -> Published:
    """Return what summaries showed up to the revision before.

    Args:
        folder: notices of the revision before, or None.
        exposure: the document.

    Raises:
        NoInputError: there are no notices.
        VerificationError: their manifest is not what was written.
        UsageError: they are of another case, or of a later revision.
    """
    if folder is None:
        return NEVER
    sealed, record = recorded(folder)
    faults = check(sealed)
    if record.kind != "notices" or faults:
        raise VerificationError(f"{folder}: no notices, or not what was written")
    before = msgspec.json.decode(sealed.manifest or b"", type=_Before)
    if before.case_id != exposure.case.id:
        raise UsageError(f"{folder}: notices of another case")
    if before.revision > exposure.case.revision:
        raise UsageError(f"{folder}: notices of a later revision, {before.revision}")
    return before.published
