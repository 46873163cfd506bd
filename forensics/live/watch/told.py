"""What a watch has told: JSON lines, each finding once.

Into a file a finding goes before the state that no longer holds its rows, and the file
itself says what is in it: whenever a run is killed, the next one neither leaves a finding
out nor writes it twice. What was cut short in the middle of a line is taken off first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import polars as pl

from forensics import declared, tables
from forensics.guard import checked

_NAMES = (
    "tier", "rung", "request_id", "prefill_request_id", "transfer_id", "attempt", "tenant_id",
    "model", "received_at", "prefill_node", "decode_node", "prompt_tokens",
    "prefill_prompt_tokens", "decode_prompt_tokens", "input_limit_tokens", "reserved_pages",
    "transferred_pages", "completion_tokens", "reasons", "missing",
)  # fmt: skip
_BEGIN = b'{"event": '
_IDENTITY = ("request_id", "transfer_id", "attempt", "tenant_id", "received_at", "tier")


def lines(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return judged requests as findings, each under an id that is made of what it is.

    Raises:
        PrivacyError: a row holds what the table of requests may not hold.
    """
    table = checked(tables.request_table(rows), declared.REQUESTS).select(_NAMES)
    return [_finding(row) for row in table.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> dict[str, Any]:
    row = {name: _plain(value) for name, value in row.items()}
    identity = json.dumps([row[name] for name in _IDENTITY])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
    return {"event": "finding", "finding_id": digest, **row}


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else value


class Output:
    """Takes findings and events, to a file that is appended to or to standard output."""

    def __init__(self, path: Path | None, known: Iterable[str]) -> None:
        self._path = path
        self.told = set(known)
        if path is not None and path.exists():
            self.told |= _ids(path)

    def findings(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Write those that were not told before, and return them."""
        new = [item for item in found if item["finding_id"] not in self.told]
        self.told |= {item["finding_id"] for item in new}
        self.write(new)
        return new

    def write(self, events: list[dict[str, Any]]) -> None:
        """Write events, and see to it that they are on disk."""
        if not events:
            return
        text = "".join(json.dumps(event) + "\n" for event in events)
        if self._path is None:
            click.echo(text, nl=False)
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def _ids(path: Path) -> set[str]:
    """Return the ids of the findings in a file, and take off one of them that was cut short.

    A last line of somebody else's is ended, and stays.
    """
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    last = data[whole:]
    if last and (last.startswith(_BEGIN) or _BEGIN.startswith(last)):
        os.truncate(path, whole)
    elif last:
        with path.open("ab") as file:
            file.write(b"\n")
    found = set()
    for line in data[:whole].splitlines():
        try:
            found.add(json.loads(line).get("finding_id"))
        except (ValueError, AttributeError):
            continue  # another program's line
    return found - {None}
