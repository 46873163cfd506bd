"""Logs of Mooncake's store and transfer engine: lines of glog, none of which names a request.

They are told and counted by kind, so that a run says what it was given and why nothing
came of it. What failed in a transfer is told with the request by the engine that asked for
it, in its own log. Keys are fingerprints of prompts and are never read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from forensics.incident import Incident
from forensics.sources.blocks import Block, Source
from forensics.sources.blocksource import each_block, lines_of
from forensics.sources.context import Context
from forensics.sources.otherlines import OTHER, count_lines
from forensics.sources.parsed import Parsed

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
_TOLD = re.compile(
    rb"^" + _GLOG + rb"(?:" + b"|".join(kind.pattern for _, kind in _KINDS[:4]) + rb")",
    re.MULTILINE,
)


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the log by messages that only Mooncake prints behind a prefix of glog."""
    return "messages of Mooncake behind a prefix of glog" if _TOLD.search(head) else None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what the lines of each block were counted as."""
    return each_block(opened, partial(_block, context))


def _block(context: Context, block: Block, parsed: Parsed) -> None:
    lines = lines_of(block)
    parsed.read = len(lines)
    kinds = [_kind(line) for line in lines]
    parsed.ignored += Counter(kind for kind in kinds if kind is not None)
    others = [at for at, kind in enumerate(kinds) if kind is None]
    numbers = [block.number(at) for at in others]
    count_lines([lines[at] for at in others], numbers, context, parsed)


def _kind(line: bytes) -> str | None:
    """Return what a line behind a prefix of glog is counted as; None: it has no such prefix."""
    prefix = _LINE.match(line)
    if prefix is None:
        return None
    return next((name for name, form in _KINDS if form.match(line, prefix.end())), OTHER)
