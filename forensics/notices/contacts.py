"""Contacts: a file of its own, joined to the list of what to send and to nothing else."""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path

from msgspec import Struct

from forensics.errors import UsageError

_NEEDED = ("tenant_id", "contact")
_LONGEST = 320


class Contact(Struct, frozen=True, order=True):
    """One person or mailbox of a tenant."""

    contact: str
    role: str
    locale: str


def contacts(path: Path | None) -> dict[str, list[Contact]]:
    """Return the contacts of each tenant, sorted.

    Args:
        path: CSV with ``tenant_id``, ``contact`` and, if known, ``role`` and ``locale``;
            other columns are not read.

    Raises:
        UsageError: it cannot be read, or a field is not one line of at most 320 characters.
    """
    found: dict[str, set[Contact]] = {}
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if not set(_NEEDED) <= set(rows.fieldnames or ()):
                raise UsageError(f"{path}: needs the columns {', '.join(_NEEDED)}")
            for row in rows:
                tenant, one = _contact(row, f"{path}: line {rows.line_num}")
                found.setdefault(tenant, set()).add(one)
    except (OSError, UnicodeDecodeError, csv.Error):
        raise UsageError(f"{path}: cannot be read as CSV in UTF-8") from None
    return {tenant: sorted(several) for tenant, several in found.items()}


def _contact(row: dict[str, str | None], where: str) -> tuple[str, Contact]:
    values = [row.get(name) or "" for name in (*_NEEDED, "role", "locale")]
    if not values[0] or not values[1]:
        raise UsageError(f"{where}: tenant_id or contact is empty")
    if any(len(value) > _LONGEST or not _one_line(value) for value in values[1:]):
        raise UsageError(f"{where}: a field is too long, or is not one line")
    return values[0], Contact(*values[1:])


def _one_line(value: str) -> bool:
    return not any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in value)
