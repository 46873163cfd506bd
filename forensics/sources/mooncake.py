"""Logs of Mooncake's store and transfer engine: lines of glog, none of which names a request.

They are told and counted by kind, so that a run says what it was given and why nothing
came of it. What failed in a transfer is told with the request by the engine that asked for
it, in its own log. Keys are fingerprints of prompts and are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.incident import Incident
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed, Unread

_PLACE = rb"[A-Za-z0-9_./-]{1,80}\.(?:cpp|cc|h):\d{1,6}"
_GLOG = rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d{1,10} " + _PLACE + rb"\] "
_LINE = re.compile(rb"^" + _GLOG)
_KINDS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (
        "Mooncake: a transfer that was given up, of no named request",
        re.compile(rb"Sync batch data transfer timeout after \d{1,20}ns\s*$"),
    ),
    (
        "Mooncake: a segment that was not found, of no named request",
        re.compile(rb"Failed to retrieve segment descriptor, name "),
    ),
    ("Mooncake: use of the store's pool", re.compile(rb"Master (?:Admin )?Metrics: role=")),
    (
        "Mooncake: statistics of the transfer engine",
        re.compile(rb"\[Metrics\] Transfer Engine Stats \(over last "),
    ),
    (
        "Mooncake: a key that the store could not serve, of no named request",
        re.compile(rb"key=[^\n]{1,4000}? error="),
    ),
)
OTHER = "other line"
_TOLD = re.compile(
    rb"^" + _GLOG + rb"(?:" + b"|".join(kind.pattern for _, kind in _KINDS[:4]) + rb")",
    re.MULTILINE,
)


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the log by messages that only Mooncake prints behind a prefix of glog."""
    return "messages of Mooncake behind a prefix of glog" if _TOLD.search(head) else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what the lines of each block were counted as."""
    del context  # nothing is taken of any line
    for block in opened.blocks():
        parsed = Parsed()
        if block.reason is not None:
            parsed.read = 1
            parsed.unread.append(Unread(block.line, block.offset, block.reason))
        else:
            lines = block.data.removesuffix(b"\n").split(b"\n")
            parsed.read = len(lines)
            for line in lines:
                parsed.ignored[_kind(line)] += 1
        yield parsed


def _kind(line: bytes) -> str:
    prefix = _LINE.match(line)
    if prefix is None:
        return OTHER if line.strip() else "blank line"
    return next((name for name, form in _KINDS if form.match(line, prefix.end())), OTHER)
