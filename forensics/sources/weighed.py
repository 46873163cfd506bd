"""Which log a file is, where lines of several formats are in it: what most of its lines say.

One line of another format, which a client or a second process put there, makes no log of a
file: the format that most lines speak for is read. A log of text has the records of others that
are JSON read apart, while a reader of records can do nothing with text: a few records, or a table,
that something put ahead of a log are not taken for the whole of it. A
router that the engine's process starts prints into its stream: that is the engine's log,
whoever prints more, and what the router printed is read apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forensics.incident import Incident

if TYPE_CHECKING:
    from forensics.sources.registry import Format

_LINES = 2_000


def weighed(
    found: Format, reason: str, formats: tuple[Format, ...], head: bytes, incident: Incident
) -> tuple[Format, str]:
    """Return which of the formats most lines of a file's beginning speak for, and why.

    Args:
        found: the format that was told first; it stays where as many lines speak for it.
        reason: why.
        formats: all formats; those whose records are text are weighed against it.
        head: the file's beginning.
        incident: for the names that records may have.
    """
    lines = head.split(b"\n", _LINES)[:_LINES]
    text = b"\n".join(lines)
    if not found.words and b"\0" in text:
        return found, reason
    rivals = [one for one in formats if one.words and one.name != found.name]
    reasons = {one.name: one.sniff(text, incident) for one in rivals}
    several = [found, *(one for one in rivals if reasons[one.name] is not None)]
    if len(several) == 1:
        return found, reason
    if not found.words:
        lines = list(_unquoted(lines))
    # Of as many lines the one that was told first: it stands first.
    votes = [_votes(one, lines, incident) for one in several]
    most = several[votes.index(max(votes))]
    most = next((one for one in several if one.name == most.host), most)
    return most, reasons.get(most.name) or reason


def _votes(one: Format, lines: Sequence[bytes], incident: Incident) -> int:
    if not one.apart(lines[0]):
        # Of a table each line may be a row that has as many fields as the header.
        return sum(line.count(b",") == lines[0].count(b",") for line in lines)
    own = (line for line in lines if one.shared is None or not one.shared.match(line))
    return sum(one.sniff(line, incident) is not None for line in own)


def _unquoted(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the lines that begin within no quoted cell: what a cell holds says nothing."""
    quotes = 0
    for line in lines:
        if quotes % 2 == 0:
            yield line
        # A text within JSON has its quotes escaped, and no line end.
        quotes += 0 if line[:1] == b"{" else line.count(b'"')
