"""What a watch tells: findings and events as JSON lines, each under an id.

Into a file they go after a state that says that they are about to, and the file itself says
what is in it: whenever a run is killed, the next one neither leaves one out nor writes it
twice. What was cut short in the middle of a line is taken off first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import polars as pl

from forensics import declared, tables
from forensics.analysis import REQUEST_ORDER
from forensics.duplicates import UNNAMED
from forensics.guard import checked
from forensics.live.watch.known import Finding, Record, told_id

_NAMES = (
    "tier", "rung", "request_id", "prefill_request_id", "transfer_id", "attempt", "tenant_id",
    "model", "received_at", "prefill_node", "decode_node", "prompt_tokens",
    "prefill_prompt_tokens", "decode_prompt_tokens", "input_limit_tokens", "reserved_pages",
    "transferred_pages", "completion_tokens", "reasons", "missing",
)  # fmt: skip
_BEGIN = b'{"event": '
_IDENTITY = ("request_id", "transfer_id", "attempt", "tenant_id", "received_at", "tier")


def findings(rows: pl.DataFrame, records: pl.DataFrame) -> list[Finding]:
    """Return judged requests as they are told.

    Args:
        rows: judged requests.
        records: those behind them, with ``handoff``, ``file`` and ``line``.

    Raises:
        PrivacyError: a row holds what the table of requests may not hold.
    """
    rows = rows.sort(REQUEST_ORDER, nulls_last=True)
    table = checked(tables.request_table(rows), declared.REQUESTS).select(_NAMES)
    behind: dict[Any, list[Record]] = {}
    for handoff, file, line in records.select("handoff", "file", "line").unique().iter_rows():
        behind.setdefault(handoff, []).append((file, line))
    both = zip(table.iter_rows(named=True), rows["handoff"], strict=True)
    return [_finding(row, tuple(sorted(behind.get(handoff, ())))) for row, handoff in both]


def _finding(row: dict[str, Any], records: tuple[Record, ...]) -> Finding:
    row = {name: _plain(value) for name, value in row.items()}
    identity = [row[name] for name in _IDENTITY]
    if str(row["request_id"] or UNNAMED).startswith(UNNAMED) and row["transfer_id"] is None:
        # Named by its values, and counted among its equals: where it stands tells it from them.
        identity[0] = str(row["request_id"]).rpartition(":")[0]
        identity += [list(record) for record in records]
    return Finding({"event": "finding", "finding_id": told_id(identity), **row}, records)


def happened(event: str, log: str, number: int, more: dict[str, Any]) -> dict[str, Any]:
    """Return what happened to a generation of a log, as it is told."""
    told = told_id([event, log, number, more])
    return {"event": event, "event_id": told, "log": log, **more}


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else value


class Output:
    """Takes findings and events, to a file that is appended to or to standard output."""

    def __init__(self, path: Path | None, known: Iterable[str] = ()) -> None:
        self.path = path
        self.ids = set(known)
        self.torn = False
        """The last line of the file was cut short, and taken off."""
        if path is not None and path.exists():
            self.torn = _mended(path)
            self.ids |= _ids(path)

    def write(self, told: list[dict[str, Any]]) -> None:
        """Write what was not written before, and see to it that it is on disk."""
        new = [one for one in told if _id(one) not in self.ids]
        if not new:
            return
        text = "".join(json.dumps(one) + "\n" for one in new)
        if self.path is None:
            click.echo(text, nl=False)
        else:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        self.ids |= {_id(one) for one in new}


def _id(told: dict[str, Any]) -> str:
    return str(told.get("finding_id") or told.get("event_id"))


def _mended(path: Path) -> bool:
    """Take off a last line that was cut short; one of somebody else's is ended, and stays."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    last = data[whole:]
    own = last != b"" and (last.startswith(_BEGIN) or _BEGIN.startswith(last))
    if own:
        os.truncate(path, whole)
    elif last:
        with path.open("ab") as file:
            file.write(b"\n")
    return own


def _ids(path: Path) -> set[str]:
    """Return the ids of what a file holds."""
    found = set()
    for line in path.read_bytes().splitlines():
        try:
            found.add(_id(json.loads(line)))
        except (ValueError, AttributeError):
            continue  # another program's line
    return found
