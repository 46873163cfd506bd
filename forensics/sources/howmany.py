"""How many requests may be in what was not read: none, one, or any number."""

from __future__ import annotations

from forensics.sources.blocks import TOO_LONG
from forensics.sources.parsed import Unread

EMPTY, BLANK = "empty file", "no record: only blank lines"
RESULT = "table of verdicts, not a log: what was found is no evidence of itself"
_PROGRAM, _PICTURE = "program or core dump, not a log", "picture, not a log"
_NO_LOG = frozenset({EMPTY, BLANK, RESULT, _PROGRAM, _PICTURE})
_MARKS = {
    b"\x7fELF": _PROGRAM,
    b"\x89PNG\r\n\x1a\n": _PICTURE,
    b"\xff\xd8\xff": _PICTURE,
    b"GIF8": _PICTURE,
}


def binary(head: bytes) -> str:
    """Return what a file in no known format is that is no text.

    Any other than these few kinds may be a log under a cipher, or in a form of its own.
    """
    for mark, kind in _MARKS.items():
        if head.startswith(mark):
            return kind
    return "binary file of no known format"


def any_number(unread: Unread) -> bool:
    """Say whether it may hold any number of requests: a file, the rest of one, a stretch."""
    return unread.reason not in _NO_LOG and (unread.line is None or unread.reason == TOO_LONG)


def one_at_most(unread: Unread) -> bool:
    """Say whether it is a record, so one request at the most."""
    return unread.reason not in _NO_LOG and not any_number(unread)
