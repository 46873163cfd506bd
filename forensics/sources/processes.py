"""The name of a process before a line, and lines that Ray counts instead of printing them.

``(Actor pid=12, ip=10.0.0.1)`` is Ray's; vLLM names processes as well, and there may be two names.
Of lines that differ in nothing but words with digits, Ray prints the last one of some seconds,
with ``[repeated 3x across cluster]`` behind it, before it in some versions: it stands for three,
and two are in no log. They named other requests.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from forensics.sources.colours import RAW

REPEATED = r"\[repeated [0-9]{1,9}x across cluster\]"
PROCESS = rf"\([^()\n]{{1,100}} pid=[0-9]{{1,10}}(?:, ip=[^()\n]{{1,64}})?\) (?:{REPEATED} )?"
"""One of them, as a pattern of texts without colours; it needs no look around."""
HELD_BACK = "line that Ray counted and did not print (RAY_DEDUP_LOGS=0 prints all)"
OF_VLLM = rb'\{(?=[^\n]*"asctime": ?")(?=[^\n]*"name": ?"vllm[.])'
"""Begin of a record of vLLM's own log, which keeps its process."""
MARK = b"x across cluster]"
"""In each line that stands for several."""
_COLOUR = rb"(?:" + RAW.encode() + rb")*"
_TIMES = rb"\[repeated (?P<times>[0-9]{1,9})x across cluster\]"
_AFTER = re.compile(
    _COLOUR
    + rb" "
    + _COLOUR
    + _TIMES
    # Once in each run Ray says where that is described.
    + rb"(?: \(Ray deduplicates logs by default\.[^\n]{0,400}\))?"
    + _COLOUR
    + rb"(?=\r?$)"
)
_BEFORE = re.compile(
    rb"^(?P<processes>(?:"
    + _COLOUR
    + rb"\([^()\n]{1,160}\)"
    + _COLOUR
    + rb" +)*)"
    + _COLOUR
    + _TIMES
    + _COLOUR
    + rb" +"
)
_DIGIT = re.compile(rb"[0-9]")
_MOST = 100_000
"""Lines that one may stand for: Ray gathers them for seconds. Of more it is no count of Ray's."""
_IN_ALL = 1_000_000
"""Lines of one file that are counted one by one; of each further count one is."""


def kind(line: bytes) -> bytes:
    """Return what Ray goes by: lines that have it in common are one to it."""
    return b" ".join(word for word in line.split() if not _DIGIT.search(word))


class Said(NamedTuple):
    """A line without what Ray says of others, and how many of them were held back."""

    line: bytes
    held_back: int = 0


class Unrepeated:
    """Takes what Ray says of others off the lines of one file."""

    def __init__(self) -> None:
        self._left = _IN_ALL

    def __call__(self, line: bytes) -> Said:
        """Return a line as its process printed it, and how many others it stands for."""
        counts: list[int] = []
        if MARK in line:
            for pattern, kept in ((_AFTER, b""), (_BEFORE, rb"\g<processes>")):
                while (found := pattern.search(line)) is not None:
                    counts.append(self._others(int(found["times"])))
                    line = line[: found.start()] + found.expand(kept) + line[found.end() :]
        return Said(line, sum(counts))

    def _others(self, times: int) -> int:
        others = times - 1 if 0 < times <= min(_MOST, self._left) else 1
        self._left -= others
        return others
