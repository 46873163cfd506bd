"""Which of two engines' logs a file is, where lines of both are in it.

One line of another engine, which a client or a second process put there, makes no log of a
file: the one that most lines speak for is read, and lines of the other are unreadable in it. A
router that the engine's process starts prints into its stream: that is the engine's log,
whoever prints more, and what the router printed is read apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.incident import Incident

if TYPE_CHECKING:
    from forensics.sources.registry import Format

_LINES = 2_000


def weighed(
    found: Format, reason: str, formats: tuple[Format, ...], head: bytes, incident: Incident
) -> tuple[Format, str]:
    """Return which of the logs of text most lines of a file's beginning speak for, and why.

    Args:
        found: the format that was told first; it stays where as many lines speak for it.
        reason: why.
        formats: all formats; those whose records are text are weighed.
        head: the file's beginning.
        incident: for the names that records may have.
    """
    if not found.words:
        return found, reason
    lines = head.split(b"\n", _LINES)[:_LINES]
    text = b"\n".join(lines)
    rivals = [one for one in formats if one.words and one.name != found.name]
    reasons = {one.name: one.sniff(text, incident) for one in rivals}
    several = [found, *(one for one in rivals if reasons[one.name] is not None)]
    if len(several) == 1:
        return found, reason
    # Of as many lines the one that was told first: it stands first.
    votes = [_votes(one, lines, incident) for one in several]
    most = several[votes.index(max(votes))]
    most = next((one for one in several if one.name == most.host), most)
    return most, reasons.get(most.name) or reason


def _votes(one: Format, lines: list[bytes], incident: Incident) -> int:
    own = (line for line in lines if one.shared is None or not one.shared.match(line))
    return sum(one.sniff(line, incident) is not None for line in own)
