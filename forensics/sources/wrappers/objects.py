"""JSON objects that are not one a line: in one list, spread over lines, or back to back.

Tools print records so (``jq``, a browser, an API). Formats that are often kept so read it
themselves; for all others the objects are laid one a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from forensics.sources.documents import fault
from forensics.sources.isjson import is_json
from forensics.sources.within import listed
from forensics.sources.wrappers.everything import LARGEST, Everything
from forensics.sources.wrappers.inner import Inner, Inners

_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BEGINS = re.compile(rb"\s*\[\s*\{")
_SCAN = json.JSONDecoder().raw_decode
OPEN = b"{"
"""Stands for what is missing of a list that is not there to its end: an object cut short."""
_BLANK = re.compile(r"\s*")
BETWEEN = re.compile(r"\s*(?:,|\]\s*\[)?\s*")
"""What stands between objects of a list, or of lists back to back."""
_NEXT = re.compile(r"\n[ \t]*\{")


def in_a_list(head: bytes) -> bool:
    """Say whether a file begins as a list of objects, all in one or one list a line."""
    return _BEGINS.match(head) is not None


def back_to_back(head: bytes) -> bool:
    """Say whether the first line is several objects, one after the other, and nothing else."""
    line, newline, _ = head.lstrip().partition(b"\n")
    if not line.startswith(b"{") or b"}" not in line or is_json(line):
        return False
    text = line.decode("utf-8", "replace").strip()
    at = count = 0
    while text.startswith("{", at) and (end := _end(text, at)) is not None:
        at, count = _skipped(text, end, _BLANK), count + 1
    # Of a file that is one line, the beginning may be all that is seen.
    return count > 1 if at == len(text) else count > 0 and not newline and text[at] == "{"


def spread(head: bytes) -> bool:
    """Say whether the first object is spread over lines, and another or nothing follows it."""
    text = head.lstrip().decode("utf-8", "replace")
    if not text.startswith("{") or is_json(head.lstrip().split(b"\n", 1)[0]):
        return False
    end = _end(text, 0)
    return end is not None and text[end:].lstrip()[:1] in ("", "{")


class Objects(Everything):
    """Takes the file apart once all of it is there; objects are numbered from 1."""

    def end(self) -> Inners:
        """Return one line for each object; what is none is unreadable."""
        found, data = Inners(), self._all()
        if data is None:
            found.refuse(None, f"JSON that is not one object a line, over {LARGEST >> 20} MiB")
            return found
        found_in = entries(data) if data.lstrip().startswith(b"[") else one_by_one(data)
        for number, entry in enumerate(found_in, start=1):
            if entry.startswith(b"{") and is_json(entry):
                found.add(Inner(entry.replace(b"\r", b" ").replace(b"\n", b" ")), number)
            else:
                found.refuse(number, fault(entry) or "not a JSON object")
        return found


def entries(data: bytes) -> Iterator[bytes]:
    """Yield the entries of a list, or of one list a line; what is none is an entry by itself.

    A list that breaks off is taken apart object by object; where it does so between two of
    them, what is missing is an entry as well.
    """
    found = _listed(data)
    lines = data.lstrip().split(b"\n") if found is None else []
    if found is not None:
        yield from found
    elif _listed(lines[0]) is not None:
        for line in filter(bytes.strip, lines):
            yield from _listed(line) or _broken(line.strip())
    else:
        last = b""
        for last in one_by_one(data.lstrip()[1:], between=BETWEEN):
            yield from [last] if is_json(last) else _broken(last)
        yield from missing(data, last)


def _broken(text: bytes) -> list[bytes]:
    """Return a stretch that cannot be taken apart, and an object cut short for each other in it."""
    return [text] + [OPEN] * (listed(text) - 1)


def missing(data: bytes, last: bytes) -> list[bytes]:
    """Return what stands for the rest of a list that ends behind a whole entry, unclosed."""
    return [OPEN] if is_json(last) and not data.rstrip().endswith(b"]") else []


def _listed(data: bytes) -> list[bytes] | None:
    try:
        return [bytes(entry) for entry in msgspec.json.decode(data, type=list[Raw])]
    except _FAULTS:
        return None


def one_by_one(
    data: bytes, between: re.Pattern[str] = _BLANK, begins: re.Pattern[str] = _NEXT
) -> Iterator[bytes]:
    """Yield each object; after a damaged one, go on at the next line that begins with one."""
    text, at = data.decode("utf-8", "surrogateescape"), 0
    while (at := _skipped(text, at, between)) < len(text):
        end = _end(text, at)
        if end is None:
            following = begins.search(text, at)
            end = following.start() if following else len(text)
        entry = text[at:end].strip()
        if entry != "]":
            yield entry.encode("utf-8", "surrogateescape")
        at = end


def _skipped(text: str, at: int, between: re.Pattern[str]) -> int:
    match = between.match(text, at)
    return match.end() if match else at


def _end(text: str, at: int) -> int | None:
    """Return where the value that begins at a place ends; None where there is no whole one."""
    try:
        return _SCAN(text, at)[1]
    except (ValueError, RecursionError):
        return None
