"""Colours of a terminal: the sequences that set them, raw or as JSON and Go write them."""

from __future__ import annotations

import re

RAW = r"\x1b\[[0-9;]*m"
"""As a pattern of texts."""
_WRITTEN = rb"(?<!\\)(?P<pairs>(?:\\\\)*)\\(?:u001[bB]|x1[bB]|033|e)\[[0-9;]*m"
_ANY = re.compile(rb"\x1b\[[0-9;]*m|" + _WRITTEN)


def coloured(data: bytes) -> bool:
    """Say whether some bytes have colours, within texts as well."""
    return _ANY.search(data) is not None


def plain(line: bytes) -> bytes:
    """Return a line without colours; a backslash that was written as one stays."""
    return _ANY.sub(lambda match: match["pairs"] or b"", line)
