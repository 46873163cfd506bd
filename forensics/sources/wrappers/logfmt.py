"""Records of ``key=value``: those whose keys are known columns become records, as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from forensics.sources.colours import RAW, plain
from forensics.sources.wrappers.inner import Inner

_PAIR = re.compile(r'([A-Za-z_][\w.-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?=\s|$)')
_LINE = re.compile(r'(?:[A-Za-z_][\w.-]*(?:=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))?(?:\s+|$)){2,}')
_MESSAGE = ("msg", "message")
_AT = ("ts", "time", "timestamp", "t")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_COLOUR = re.compile(RAW)


def is_logfmt(text: str) -> bool:
    """Say whether a line consists of pairs."""
    return "=" in text and _LINE.fullmatch(text) is not None


def record(text: str, names: Mapping[str, str]) -> Inner | None:
    """Return the known columns of a line as a JSON record, or its message.

    Args:
        text: one line.
        names: foreign or own name of a column to its name in the schema.
    """
    if not is_logfmt(text):
        return None
    pairs = {key: _plain(value) for key, value in _PAIR.findall(text)}
    at = next((pairs[name] for name in _AT if pairs.get(name)), None)
    known = {key: value for key, value in pairs.items() if key in names}
    if known:
        return Inner(msgspec.json.encode(known), at)
    message = next((pairs[name] for name in _MESSAGE if name in pairs), None)
    return None if message is None else Inner(message.encode(), at)


def _plain(value: str) -> str:
    if value.startswith('"'):
        value = _ESCAPE.sub(_meant, plain(value[1:-1].encode()).decode())
    return _COLOUR.sub("", value)


def _meant(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code is None:
        return {"n": "\n", "t": "\t", "r": "\r"}.get(escape[3], escape[3])
    # Half a pair of UTF-16 is no text of its own.
    return "\ufffd" if 0xD800 <= int(code, 16) < 0xE000 else chr(int(code, 16))
