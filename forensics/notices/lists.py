"""The sender's own tables: which pseudonym is which tenant, and what to send to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from forensics import declared
from forensics.encode import csv_bytes
from forensics.exposure import Exposure
from forensics.notices.contacts import Contact
from forensics.notices.facts import Told

RECIPIENTS: Final = "recipients.csv"
NOTIFICATIONS: Final = "notifications.csv"
_NOBODY: Final = Contact("", "", "")


@dataclass(frozen=True)
class Made:
    """What is known of a packet once it is made."""

    variant: str
    sha256: str
    """Of its ``SHA256SUMS``, which names every other file."""


def recipients(told: Told) -> bytes:
    """Return ``recipients.csv``: one row per tenant and population, told or not."""
    kinds = declared.NOTICE_NAMES.dtypes
    rows = [
        {
            **{name: fact.get(name) for name in kinds},
            "tenant_id": fact["account"],
            "state": "packet",
        }
        for fact in told.facts.iter_rows(named=True)
    ]
    rows += [
        {
            **{name: getattr(tenant, name, None) for name in kinds},
            "state": "no packet: tenant not known",
        }
        for tenant in told.unnamed
    ]
    return csv_bytes(pl.DataFrame(rows, schema=kinds, orient="row"), declared.NOTICE_NAMES)


def notifications(
    told: Told,
    made: Mapping[str, Made],
    known: Mapping[str, list[Contact]],
    exposure: Exposure,
) -> bytes:
    """Return ``notifications.csv``: one row per packet and contact, for a mail merge."""
    kinds = declared.NOTICE_MERGE.dtypes
    rows = [
        {name: row.get(name) for name in kinds}
        for fact in told.facts.iter_rows(named=True)
        for row in _rows(fact, made[fact["notice"]], known, exposure)
    ]
    return csv_bytes(pl.DataFrame(rows, schema=kinds, orient="row"), declared.NOTICE_MERGE)


def _rows(
    fact: Mapping[str, Any],
    made: Made,
    known: Mapping[str, list[Contact]],
    exposure: Exposure,
) -> list[dict[str, Any]]:
    several = known.get(fact["account"], [])
    return [
        {
            **fact,
            "variant": made.variant,
            "window_start": exposure.scope.window_start,
            "window_end": exposure.scope.window_end,
            "same_tenant": fact["same_tenant_only"],
            "revision": exposure.case.revision,
            "packet": f"packets/{fact['notice']}",
            "packet_sha256": made.sha256,
            "contact_state": "contact" if several else "no contact",
            "contact": contact.contact,
            "contact_role": contact.role,
            "locale": contact.locale,
        }
        for contact in several or [_NOBODY]
    ]
