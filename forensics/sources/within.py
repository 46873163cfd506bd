"""JSON objects within a text: behind words, in a list, one after the other, or cut off.

A line of a log may hold several records of another program, and none of them at its
beginning. Each object is taken out as text; nothing of it becomes an object in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw

from forensics.sources.jsonrows import FAULTS

_SCAN = json.JSONDecoder().raw_decode
_BEGINS = re.compile(r'\{\s*"')
_BETWEEN = re.compile(r"[\s,\[\]]*")
_BROKEN = 100
"""Places in one text at which no whole object begins; a search for more could take for ever."""
_DEEP = 3
"""Levels of objects in objects that are looked through."""


class Objects(NamedTuple):
    """The outermost objects of a text, and the beginnings of such as break off.

    ``bare`` where the text holds nothing but those.
    """

    whole: list[str]
    broken: list[str]
    bare: bool


def objects(text: str) -> Objects:
    """Return the objects of a text. Those that are whole within a broken one are among them."""
    whole: list[str] = []
    broken: list[str] = []
    at, tries, bare = 0, 0, True
    cut: int | None = None
    while (begin := _BEGINS.search(text, at)) is not None:
        bare = bare and _BETWEEN.fullmatch(text, at, begin.start()) is not None
        end = _end(text, begin.start()) if tries < _BROKEN else None
        if end is not None:
            broken += [] if cut is None else [text[cut : begin.start()]]
            whole.append(text[begin.start() : end])
            at, cut = end, None
        else:
            cut = begin.start() if cut is None else cut
            at, tries, bare = begin.end(), tries + 1, False
    broken += [] if cut is None else [text[cut:]]
    return Objects(whole, broken, bare and _BETWEEN.fullmatch(text, at) is not None)


def nested(text: str, deep: int = _DEEP) -> Iterator[str]:
    """Yield the objects that stand in the lists of one object, or of the objects in it."""
    try:
        values = [bytes(v) for v in msgspec.json.decode(text, type=dict[str, Raw]).values()]
        lists = [msgspec.json.decode(v, type=list[Raw]) for v in values if v[:1] == b"["]
    except FAULTS:
        return
    found = [bytes(one) for some in lists for one in some]
    yield from (one.decode() for one in found if one[:1] == b"{")
    for one in values if deep > 1 else ():
        if one[:1] == b"{":
            yield from nested(one.decode(), deep - 1)


def begun(line: bytes) -> int:
    """Return how many records a line that is no JSON may hold: as often as one begins like it.

    One that stands as a value within another is none.
    """
    if line.lstrip().startswith(b"["):
        return listed(line)
    first = _FIRST.match(line)
    if first is None or line.count(first[0]) == 1:
        return 1
    return 1 + len(re.findall(rb"[^:,\[\s]\s*" + re.escape(first[0]), line))


def listed(text: bytes) -> int:
    """Return how many records a stretch of a list may hold: rather too many than too few.

    Each object that begins the stretch, or stands behind a bracket or a comma, may be one.
    """
    return max(1, len(_LISTED.findall(text)))


_FIRST = re.compile(rb'\{\s*"[^"\\\n]{1,80}"')
_LISTED = re.compile(rb'(?:[,\[\]}]|\A)\s*\{\s*["}]')


def _end(text: str, at: int) -> int | None:
    try:
        return int(_SCAN(text, at)[1])
    except (ValueError, RecursionError):
        return None
