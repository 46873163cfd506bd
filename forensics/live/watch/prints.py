"""What tells a log's content from another's, and does not hold it.

Files are moved, copied and packed: neither name nor inode says which one it is. A keyed
hash over the first bytes, and over the last ones that were there at the last look, does.
The key is drawn at random for each state, so that nobody can try out what a line said.
"""

from __future__ import annotations

import hashlib
import secrets

WINDOW = 1024
"""Bytes of the beginning, and of the end at the last look, that tell a file."""


def salt() -> str:
    """Return a new key."""
    return secrets.token_hex(16)


class Prints:
    """Makes prints with one key."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._key = bytes.fromhex(key)

    def of(self, begin: bytes, end: bytes) -> str:
        """Return the print of a file's first bytes and its last ones before a place."""
        return hashlib.blake2b(begin + end, key=self._key, digest_size=16).hexdigest()
