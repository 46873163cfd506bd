"""What ``journalctl -o export`` writes: entries of ``NAME=value`` lines, a blank one between.

A value that holds a line end or a control character stands behind its name on a line of its own
and its length, eight bytes.
"""

from __future__ import annotations

import re
from itertools import product

from forensics.sources.blocks import LONGEST_LINE, TOO_LONG, Block
from forensics.sources.wrappers.inner import Inner, Inners, Whole

_FIELD = re.compile(rb"([A-Z_][A-Z0-9_]{0,63})(=[^\n]*)?(?:\n|\Z)")
_NEXT = re.compile(rb"(?:\n|[A-Z_][A-Z0-9_]{0,63}[=\n]|\Z)")
_LENGTH = 8
_FEW_DIGITS = 19
_FEED = b"\n"
_LEFT = re.compile(rb"\n\n(?=__CURSOR=|__REALTIME_TIMESTAMP=)")
"""Behind an entry that is damaged: the begin of the next."""
Fields = list[tuple[bytes, bytes]]


def told(head: bytes) -> bool:
    """Say whether a file begins as an entry."""
    begins = head.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP="))
    return begins and b"__REALTIME_TIMESTAMP=" in head and b"\nMESSAGE" in head


class Exported:
    """Takes entries apart; each is numbered by the line that it begins on."""

    def __init__(self) -> None:
        self._held = b""
        self._line = 1

    def whole(self, _: Block) -> Whole | None:
        """Return None: entries are looked at one by one."""
        return None

    def take(self, block: Block) -> Inners:
        """Return what the entries hold that end in a block."""
        found = Inners()
        if block.reason is not None:
            found.refuse(block.line, block.reason)
            return found
        self._held += block.data
        self._entries(found, last=False)
        return found

    def end(self) -> Inners:
        """Return what the last entry holds."""
        found = Inners()
        self._entries(found, last=True)
        return found

    def _entries(self, found: Inners, *, last: bool) -> None:
        data, at = self._held, 0
        while at < len(data):
            if data.startswith(_FEED, at):
                at, self._line = at + 1, self._line + 1
                continue
            fields, end = _entry(data, at)
            if fields is None or (end == len(data) and not last):
                if not last and len(data) - at <= LONGEST_LINE:
                    break
                following = _LEFT.search(data, at)
                end = following.start() + 1 if following else len(data)
            self._entry(fields, found)
            at, self._line = end, self._line + data.count(_FEED, at, end)
        self._held = data[at:]

    def _entry(self, fields: Fields | None, found: Inners) -> None:
        """Add the message of an entry that begins on the current line."""
        if fields is None:
            long = len(self._held) > LONGEST_LINE
            found.refuse(self._line, TOO_LONG if long else "entry of a journal that breaks off")
            return
        named = dict(reversed(fields))
        messages = [value for name, value in fields if name == b"MESSAGE"]
        if not messages:
            found.ignore("entry that the journal gave no message of")
            return
        for other in messages[1:]:
            if other != messages[0]:
                found.refuse(self._line, "further message of one entry of the journal")
        at = named.get(b"__REALTIME_TIMESTAMP", b"")
        moment = int(at) if at.isdigit() and len(at) < _FEW_DIGITS else None
        host = named.get(b"_HOSTNAME", b"").decode("utf-8", "replace")
        found.add(Inner(messages[0], moment, host), self._line)


def _entry(data: bytes, at: int) -> tuple[Fields | None, int]:
    """Return the fields of an entry and where it ends; None where it is not whole."""
    fields: Fields = []
    while at < len(data) and not data.startswith(_FEED, at):
        match = _FIELD.match(data, at)
        if match is None:
            return None, at
        at = match.end()
        if match[2] is not None:
            fields.append((match[1], match[2][1:]))
            continue
        end = _value_end(data, at)
        if end is None:
            return None, at
        fields.append((match[1], data[at + _LENGTH : end]))
        at = end + 1
    return fields, at


def _value_end(data: bytes, at: int) -> int | None:
    """Return where a value of a stated length ends.

    A carriage return in the length looks like a line feed by now: of the lengths that may be
    meant the one behind which a field stands.
    """
    stated = data[at : at + _LENGTH]
    may_be = [(b"\n", b"\r") if byte == _FEED[0] else (bytes([byte]),) for byte in stated[:4]]
    if len(stated) < _LENGTH:
        return None
    for low in product(*may_be):
        end = at + _LENGTH + int.from_bytes(b"".join(low) + stated[4:], "little")
        if data[end : end + 1] == _FEED and _NEXT.match(data, end + 1):
            return end
    return None
