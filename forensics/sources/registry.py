"""The formats that can be read, and which of them a file is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from forensics.errors import UsageError
from forensics.incident import Incident
from forensics.sources import plain
from forensics.sources.blocks import Opened
from forensics.sources.context import Context
from forensics.sources.forms import Form
from forensics.sources.parsed import Parsed
from forensics.sources.sglang import node_log

_HEAD_LINES = 200
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Format:
    """One log format: how it is told, how it is read, what it can and cannot show."""

    name: str
    title: str
    shows: str
    never_shows: str
    read: Callable[[Opened, Context], Iterator[Parsed]]
    sniff: Callable[[bytes, Incident], str | None]
    forms: tuple[Form, ...] = ()


def _read_parquet(opened: Opened, context: Context) -> Iterator[Parsed]:
    """Yield the records of Parquet; the reader is imported when there is a file for it."""
    from forensics.sources.plain_parquet import read_parquet

    return read_parquet(opened, context)


def _is_parquet(head: bytes, _: Incident) -> str | None:
    return "Parquet magic number" if head.startswith(b"PAR1") else None


_SGLANG_LINE = re.compile(
    rb"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]{0,80}\] "
    rb"(?:server_args=|KV Cache is |Prefill batch|Decode batch|ReqTimeStats\(|Input length \(|"
    rb"INFO:  |Load weight |max_total_num_tokens=|The server is fired|len\(\w+_indices\)|"
    rb"(?:Prefill|Decode) (?:transfer|bootstrap|handshake) failed|\{)",
    re.MULTILINE,
)
_SGLANG_RECORD = re.compile(rb'"event": ?"request\.(?:received|finished)')
_SGLANG_TEXT = re.compile(rb"^(?:Receive|Finish|Receive OpenAI): obj=", re.MULTILINE)


def _is_sglang(head: bytes, _: Incident) -> str | None:
    if _SGLANG_RECORD.search(head):
        return "request.received and request.finished records"
    if _SGLANG_LINE.search(head) or _SGLANG_TEXT.search(head):
        return "line prefix and messages of SGLang"
    return None


def _is_ndjson(head: bytes, incident: Incident) -> str | None:
    if not re.search(rb"^\s*\{", head, re.MULTILINE):
        return None
    seen = plain.known_columns(head, incident)
    return f"JSON lines with {len(seen)} known columns" if plain.told_by(seen) else None


def _is_csv(head: bytes, incident: Incident) -> str | None:
    header = head.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    known = plain.names(incident)
    names = (name.strip().strip('"') for name in header.split(","))
    seen = {known[name] for name in names if name in known}
    return f"CSV header with {len(seen)} known columns" if plain.told_by(seen) else None


FORMATS: tuple[Format, ...] = (
    Format(
        "plain-parquet",
        "Plain records, Parquet",
        "whatever its columns hold",
        "anything no column was logged for",
        _read_parquet,
        _is_parquet,
    ),
    Format(
        "sglang",
        "SGLang 0.5.12-0.5.23 node logs and JSON request logs",
        "start-up: pool, page size, context, roles, settings. Time stats and request logs: both "
        "counts of a prompt joined by bootstrap_room, tokens generated, prefill time. Rejections",
        "page numbers, pages reserved, HTTP status; a tenant only where a header or label has it",
        node_log.read,
        _is_sglang,
    ),
    Format(
        "plain-ndjson",
        "Plain records, one JSON object a line",
        "whatever its columns hold",
        "anything no column was logged for",
        plain.read_ndjson,
        _is_ndjson,
    ),
    Format(
        "plain-csv",
        "Plain records, CSV with a header",
        "whatever its columns hold",
        "anything no column was logged for",
        plain.read_csv,
        _is_csv,
    ),
)


def by_name(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UsageError: there is none.
    """
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in FORMATS)
    raise UsageError(f"unknown format {name!r}; known: {names}")


def detect(opened: Opened, incident: Incident) -> tuple[Format, str] | str:
    """Return the format and why, or in words of our own what the file is instead."""
    magic = opened.magic
    if not magic:
        return "empty file"
    if magic[:1] == b"\x80" and magic[1:2] in b"\x02\x03\x04\x05":
        return "pickle: never opened, it holds content and can run code"
    head = opened.head()
    if head.startswith(_UTF_16):
        return "UTF-16 text: convert it to UTF-8"
    # Most files say it at once; some begin with pages of what other programs printed.
    for shown in (b"\n".join(head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES]), head):
        for candidate in FORMATS:
            reason = candidate.sniff(shown, incident)
            if reason is not None:
                return candidate, reason
    if not head.strip():
        return "no record: only blank lines"
    return "binary file of no known format" if b"\0" in head else "no known format"
