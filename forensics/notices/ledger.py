"""The form of the ledger of what was sent: each customer's clock starts at its delivery.

The notices are sealed, so the ledger is kept in a copy outside of them, one line a sending.
"""

from __future__ import annotations

from typing import Final

import msgspec

LEDGER: Final = "send_ledger.jsonl"
FIELDS: Final = {
    "notice": "name of the notice, as in notifications.csv",
    "packet_sha256": "hash of the packet that was sent, as in notifications.csv",
    "channel": "how it was sent: e-mail, console, post",
    "sent_at": "RFC 3339 in UTC",
    "delivered_at": "RFC 3339 in UTC, or null: not shown to have arrived",
    "bounced": "true or false",
    "ack_at": "RFC 3339 in UTC, or null",
    "ack_role": "role of whoever answered, not a name",
    "attestation": "deleted, not found, retained; or null",
    "attested_at": "RFC 3339 in UTC, or null",
}


def empty_ledger(case: str, report_sha256: str) -> bytes:
    """Return the header record, which states what the records after it hold."""
    header = {
        "record": "header",
        "schema_version": 1,
        "case_id": case,
        "report_manifest_sha256": report_sha256,
        "keep": "copy this file out of the sealed folder, then append one record a sending",
        "fields": FIELDS,
    }
    return msgspec.json.encode(header) + b"\n"
