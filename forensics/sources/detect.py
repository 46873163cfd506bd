"""Which format a file is in, behind what wrappers, or what it is instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from forensics.incident import Incident
from forensics.sources import plain, printed
from forensics.sources.archives.listing import kind as is_archive
from forensics.sources.blocks import Block, Opened
from forensics.sources.blocksource import OneBlock
from forensics.sources.howmany import BLANK, EMPTY, RESULT, binary
from forensics.sources.notread import NOT_READ, PICKLE
from forensics.sources.registry import PARQUET, Format, by_name, header, known
from forensics.sources.shape import shape
from forensics.sources.weighed import weighed
from forensics.sources.wrappers import ahead
from forensics.sources.wrappers.kinds import LOOSELY, Head
from forensics.sources.wrappers.objects import in_a_list
from forensics.sources.wrappers.stack import Stack

_HEAD_LINES = 200
_NOR_OWN = "no known format, and no profile's: all that is in told_by must be in its records"

"""Why there is nothing in a file that could be lost."""


@dataclass(frozen=True)
class Detected:
    """What a file holds, in which format, and why it is taken for that.

    ``format`` is None where it is none that is known; ``reason`` then says in words of our
    own what the file is instead, and ``shape`` what its first lines look like. Otherwise the
    reason says how sure that is: ``certain`` by a signature, ``likely`` by columns alone.
    """

    stack: Stack
    format: Format | None
    reason: str
    shape: str = ""
    stated: bool = False


def detect(
    opened: Opened, incident: Incident, stated: str | None = None, stream: str | None = None
) -> Detected:
    """Return the format and why, or what the file is instead.

    Args:
        opened: the file.
        incident: for the names that its records may have.
        stated: name of a format that is not to be doubted; a pickle is refused all the same.
        stream: the pod or host whose lines are read, of a file that holds those of several.
    """
    # A packed pickle is no safer.
    stack = Stack(opened)
    if PICKLE.tells(opened.magic) or PICKLE.tells(opened.head()):
        return Detected(stack, None, PICKLE.reason)
    if is_archive(opened.head()) is not None:
        return Detected(stack, None, "archive within an archive or from a pipe: unpack it first")
    if stated is not None:
        if opened.magic and not opened.magic.startswith(PARQUET):
            stack.peel(plain.names(incident), stream)
        return Detected(stack, by_name(stated, incident), f"stated{stack.titles}", stated=True)
    if not opened.magic:
        return Detected(stack, None, EMPTY)
    found = unwrapped(stack, incident, stream)
    if found.shape or _has_more_ahead(found):
        inner = _within(found, incident, stream) or _late(found, incident)
        return inner or _behind(stack, incident, stream) or found
    return found


def unwrapped(stack: Stack, incident: Incident, stream: str | None = None) -> Detected:
    """Take off what wrappers there are, and return what the lines behind them are."""
    names = plain.names(incident)
    if not stack.source.magic.startswith(PARQUET):
        stack.peel(names, stream)
    found = tell(stack, incident)
    if found.format is None and stack.peel(names, stream, weak=True):
        found = tell(stack, incident)
    return found


_PROBED = 256 << 10
"""Bytes behind lines of something else by which it is told whether they are in a known format."""


def _has_more_ahead(found: Detected) -> bool:
    """Say whether the first name of a table's header has something before it: it is not read."""
    first = found.stack.source.head().split(b"\n", 1)[0]
    a_table = found.format is not None and not found.format.apart(first)
    return a_table and _NAME.match(first) is None


_NAME = re.compile(rb'"?[\w.]*"?\s*(?:,|$)|PAR1')


def _within(found: Detected, incident: Incident, stream: str | None) -> Detected | None:
    """Return what is within a wrapper by which alone it is not told; None where nothing known.

    Lines in it are of no form that shows them to be an engine's, but of a known format: of the
    same one where the file was taken for a table.
    """
    names, stack = plain.names(incident), found.stack
    head = stack.source.head()
    for kind in LOOSELY:
        if not kind.tells(Head(head), names):
            continue
        probed = Stack(OneBlock(Block(head[:_PROBED], 1, None)))
        probed.take_off(kind, names)
        inner = unwrapped(probed, incident)
        known = inner.format is not None and found.format in (None, inner.format)
        if known and not _has_more_ahead(inner):
            stack.take_off(kind, names, stream)
            return unwrapped(stack, incident, stream)
    return None


def _behind(stack: Stack, incident: Incident, stream: str | None) -> Detected | None:
    """Return what is behind a few lines of something else; None where that is nothing known."""
    head = stack.source.head()
    for count in ahead.starts(head):
        probe = Block(ahead.rest(head, count)[:_PROBED], 1, None)
        if probe.data and unwrapped(Stack(OneBlock(probe)), incident).format is not None:
            stack.take_off(ahead.wrapper(count), plain.names(incident), stream)
            return unwrapped(stack, incident, stream)
    return None


def _late(found: Detected, incident: Incident) -> Detected | None:
    """Return what the lines are as their processes printed them; None where nothing known."""
    head = found.stack.source.head()
    lines = printed.plain(head)
    late = tell(found.stack, incident, lines) if lines is not head else found
    return late if found.format is None and late.format is not None else None


def tell(stack: Stack, incident: Incident, head: bytes | None = None) -> Detected:
    """Return what the lines behind the wrappers are: those of ``head``, or all."""
    head = stack.source.head() if head is None else head
    if plain.is_result(header(head), incident):
        return Detected(stack, None, RESULT)
    a_list = in_a_list(head)
    # Most files say it at once; some begin with pages of what other programs printed.
    first = head.split(b"\n", 1)[0]
    formats = known(incident)
    # What is a table is one from its first line on, whatever was put behind it.
    tables = tuple(one for one in formats if not one.apart(first))
    begun = b"\n".join(head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES])
    for shown, asked in ((first, tables), (begun, formats), (head, formats)):
        for candidate in asked:
            reason = candidate.sniff(shown, incident)
            if reason is not None and (candidate.lists or not a_list):
                told, reason = weighed(candidate, reason, formats, head, incident)
                sure = "certain: " if told.certain else "likely: "
                return Detected(stack, told, f"{sure}{reason}{stack.titles}")
    if not head.strip():
        return Detected(stack, None, BLANK)
    if b"\0" in head:
        return Detected(stack, None, binary(head))
    reason = _NOR_OWN if incident.logs.profiles else "no known format"
    reason = next((other.reason for other in NOT_READ if other.tells(head)), reason)
    return Detected(stack, None, reason, shape(head))
