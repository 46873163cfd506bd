"""How a vLLM log is told from other programs' output."""

from __future__ import annotations

import re

from forensics.incident import Incident
from forensics.sources.colours import RAW
from forensics.sources.vllm.messages import MESSAGES

WORDS = tuple(
    sorted({text for message in MESSAGES for text in (*message.literals, *message.inside)})
)
"""One of them is in each line that says something of the engine or of a request."""
_COLOUR = rb"(?:" + RAW.encode() + rb")*"
_PROCESS = rb"(?:" + _COLOUR + rb"\([A-Za-z][^()\n]{1,140}\)" + _COLOUR + rb" +)*"
_STAMP = rb"\d\d-\d\d \d\d:\d\d:\d\d "
_LINE = re.compile(
    rb"^(?:\S{1,80} )?"
    + _PROCESS
    + _COLOUR
    + rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
    + _COLOUR
    + rb" "
    + _STAMP
    + _COLOUR
    + rb"\[?[A-Za-z0-9_./-]{1,200}\.py:\d{1,6}\]",
    re.MULTILINE,
)
_RECORD = re.compile(
    rb'^(?:\([A-Za-z][^()\n]{1,140}\) +)*\{(?=")(?=[^\n]*"asctime": ?"[^"\n]{1,40}")'
    rb'(?=[^\n]*"name": ?"vllm[."])',
    re.MULTILINE,
)
LMCACHE = re.compile(
    rb"^" + _PROCESS + rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] LMCache [A-Z]{4,8}: ",
    re.MULTILINE,
)


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell the log by the prefix of its lines, which no other engine writes."""
    if _LINE.search(head):
        return "line prefix of vLLM"
    if _RECORD.search(head):
        return "JSON records of vLLM"
    return "line prefix of LMCache" if LMCACHE.search(head) else None
