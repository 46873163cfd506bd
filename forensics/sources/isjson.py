"""Whether a text is JSON, without anything of it becoming an object."""

from __future__ import annotations

import msgspec
from msgspec import Raw


def is_json(text: bytes | memoryview) -> bool:
    """Say whether a text is one JSON value."""
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
