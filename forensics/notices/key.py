"""The key that pseudonyms are made with: in a file of its own, away from report and notices.

Whoever has the key can tell which pseudonym is which tenant; whoever destroys it cuts that
link. It is made where there is none, is never printed, and only a mark of it is recorded.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from forensics.errors import UsageError

_BYTES = 32
_FORM = re.compile(rb"[0-9a-f]{64}\n?")


def key_from(path: Path, outside: Iterable[Path]) -> bytes:
    """Return the key of a file, which is made where it is absent.

    Args:
        path: the file; 64 hexadecimal digits, for its owner's eyes only.
        outside: folders that may not hold it.

    Raises:
        UsageError: it lies in one of them, others can read it, or it holds no key.
    """
    for folder in outside:
        if path.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"{path}: the key may not lie in {folder}, which others are shown")
    if not os.path.lexists(path):
        _make(path)
    return _read(path)


def key_mark(key: bytes) -> str:
    """Return what tells one key from another without giving it away."""
    return hmac.digest(key, b"which key", "sha256").hex()[:16]


def _make(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made ({error.strerror})") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    if not path.is_file():  # a pipe would never end
        raise UsageError(f"{path}: no file")
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise UsageError(f"{path}: others can read this key; chmod 600 it, or make a new one")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    if not _FORM.fullmatch(data):
        raise UsageError(f"{path}: holds no key (64 hexadecimal digits)")
    return bytes.fromhex(data.decode("ascii"))
