"""What the public was shown by earlier revisions, which a new one is held against."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from forensics.errors import NoInputError, UsageError, VerificationError
from forensics.evidence.files import check
from forensics.evidence.folder import recorded
from forensics.exposure import Exposure


class Summary(Struct, frozen=True, omit_defaults=True):
    """Numbers that one revision has shown; None, or no cell, where it did not."""

    revision: int = 1
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


class Published(Struct, frozen=True):
    """All summaries so far: what was once read is known for good."""

    summaries: tuple[Summary, ...] = ()

    def of(self, number: str) -> list[int]:
        """Return every value that was shown of a number, such as ``total``."""
        return [value for one in self.summaries if (value := getattr(one, number)) is not None]

    def cell(self, name: str) -> list[int]:
        """Return every value that was shown of the tenants of a tier."""
        return [one.cells[name] for one in self.summaries if name in one.cells]

    def lacks(self, revision: int) -> list[int]:
        """Return the revisions before one of which no summary is known."""
        known = {one.revision for one in self.summaries}
        return [number for number in range(1, revision) if number not in known]


NEVER: Final = Published()
"""Nothing was published yet, or nothing is known of it."""


class _Before(Struct, frozen=True):
    case_id: str
    revision: int
    published: Published


def published(folder: Path | None, exposure: Exposure) -> Published:
    """Return what summaries showed up to now.

    Args:
        folder: notices of the revision before, or None. They hold what all before them showed.
        exposure: the document.

    Raises:
        NoInputError: there are no notices, or they are of another version.
        VerificationError: their manifest is not what was written.
        UsageError: they are of another case or of a later revision, or a revision is left out.
    """
    if folder is None:
        return NEVER
    before = _before(folder)
    now = exposure.case.revision
    if before.case_id != exposure.case.id:
        raise UsageError(f"{folder}: notices of another case")
    if before.revision > now:
        raise UsageError(f"{folder}: notices of a later revision, {before.revision}")
    if before.revision < now - 1:
        raise UsageError(
            f"{folder}: notices of revision {before.revision}, but this is revision {now}; what "
            f"revision {now - 1} showed has to be known: give its notices, made with --previous"
        )
    return before.published


def _before(folder: Path) -> _Before:
    sealed, record = recorded(folder)
    faults = check(sealed)
    if record.kind != "notices" or faults:
        raise VerificationError(f"{folder}: no notices, or not what was written")
    try:
        return msgspec.json.decode(sealed.manifest or b"", type=_Before)
    except msgspec.DecodeError:
        raise NoInputError(f"{folder}: of another version; make the notices again") from None
