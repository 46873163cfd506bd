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
from forensics.sources.sglang import (
    detection,
    exporter,
    metrics,
    node_log,
    request_log,
    router_log,
    server_info,
    spans,
)
from forensics.sources.sglang.forms import TEXT_FORMS

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
        "SGLang 0.4.6-0.5.23, node logs and request logs, text and JSON",
        "start-up: pool, page size, context, roles, settings. Time stats and request logs: both "
        "counts of a prompt joined by bootstrap_room, tokens generated, prefill time. Rejections, "
        "failed and corrupted hand-offs, load per quarter of an hour",
        "page numbers, pages reserved, HTTP status; a tenant only where a header or label has it",
        node_log.read,
        detection.sniff,
        (*TEXT_FORMS, *request_log.FORMS),
    ),
    Format(
        "sglang-metrics",
        "SGLang, scrapes of /metrics",
        "pool, page size and window of each DP rank, when they changed where samples have times",
        "requests; the limit itself; ranks that do not report",
        metrics.read,
        metrics.sniff,
        metrics.FORMS,
    ),
    Format(
        "sglang-spans",
        "SGLang, request traces as OTLP/JSON",
        "both counts of a prompt joined by room or trace, generated tokens, prefill forward time, "
        "rank, aborts; in UTC",
        "pool, pages, tenant; the node only by the file's path",
        spans.read,
        spans.sniff,
        spans.FORMS,
    ),
    Format(
        "sglang-server-info",
        "SGLang, answers of /server_info",
        "pool, page size, window, the smallest rejected prompt, role and settings of one boot",
        "requests; when the boot began; which rank has which pool",
        server_info.read,
        server_info.sniff,
        server_info.FORMS,
    ),
    Format(
        "sglang-exporter",
        "SGLang, per-request metrics of --export-metrics-to-file",
        "both counts of a prompt joined by bootstrap_room, generated tokens, prefill time, rank",
        "pool, pages, HTTP status, refused arrivals; a tenant only where a label has it; host "
        "and side only by the file's path and the shape of answers",
        exporter.read,
        exporter.sniff,
        exporter.FORMS,
    ),
    Format(
        "sglang-router",
        "SGLang, log of the router in front (sglang_router, smg)",
        "HTTP status and time of arrival of each request; how often engines failed; in UTC",
        "room, tenant, token counts, the id that engines know a request by",
        router_log.read,
        router_log.sniff,
        router_log.FORMS,
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


def _is_pickle(head: bytes) -> bool:
    """Tell a pickle of protocol 2 or later, as engines dump requests on a crash."""
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def detect(
    opened: Opened, incident: Incident, stated: str | None = None
) -> tuple[Format, str] | str:
    """Return the format and why, or in words of our own what the file is instead.

    Args:
        opened: the file.
        incident: for the names that its records may have.
        stated: name of a format that is not to be doubted; a pickle is refused all the same.
    """
    # A packed pickle is no safer.
    if _is_pickle(opened.magic) or _is_pickle(opened.head()):
        return "pickle: never opened, it holds content and can run code"
    if stated is not None:
        return by_name(stated), "stated"
    if not opened.magic:
        return "empty file"
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
