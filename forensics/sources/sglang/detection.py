"""How an SGLang node log or request log is told from other programs' output."""

from __future__ import annotations

import re

from forensics.incident import Incident
from forensics.sources.colours import RAW
from forensics.sources.sglang.messages import MESSAGES

_RECORD = re.compile(
    rb'^(?![a-z0-9][\w.-]*\s+\| )[^\n]*"event": ?"request\.(?:received|finished)', re.MULTILINE
)
"""Not behind the name of a container: that is a wrapper, and the lines beside it have it too."""
_BARE = re.compile(rb"^(?:Receive|Finish|Receive OpenAI): obj=", re.MULTILINE)
_WORDS = tuple(
    literal.encode()
    for message in MESSAGES
    for literal in message.literals
    if literal[0].isupper() or literal.endswith(("=", "= "))
)
"""What messages begin with; the others stand further on, in words of any program."""
WORDS = tuple(sorted({literal for message in MESSAGES for literal in message.literals}))
"""One of them is in each line that says something of the engine or of a request."""
_TIME = rb"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_ACTOR = rb"\([^()\n]{1,80}\)[^\[(\n]{0,20}"
_BEFORE = rb"(?:" + RAW.encode() + rb")*(?:" + _ACTOR + rb")*"
_PREFIX = rb"^" + _BEFORE + _TIME + rb"[^\n]{0,200}?[\]:][^ \n]{0,4} "
_LINE = re.compile(_PREFIX + rb"(?:%b)" % b"|".join(map(re.escape, _WORDS)), re.MULTILINE)
_REFUSAL = re.compile(
    _PREFIX + rb"Request \S{1,200} (?:exceeds the maximum number of tokens: \d|"
    rb"requires too many SWA KV tokens for decode preallocation: \d)",
    re.MULTILINE,
)
"""A log that was searched for errors may hold nothing else."""


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell a node's log by a message behind a time, or by the events of its request log."""
    if b"request." in head and _RECORD.search(head):
        return "request.received and request.finished records"
    if _BARE.search(head) or (any(word in head for word in _WORDS) and _LINE.search(head)):
        return "line prefix and messages of SGLang"
    if b" tokens" in head and _REFUSAL.search(head):
        return "line prefix and refusals of SGLang"
    return None
