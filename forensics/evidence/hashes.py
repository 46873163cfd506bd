"""Hashes of files, taken in pieces: a log may be larger than memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_PIECE = 4 << 20


class Digest(Struct, frozen=True):
    """Size in bytes and SHA-256, hexadecimal, of some bytes."""

    bytes: int
    sha256: str


def digest(path: Path) -> Digest:
    """Return size and hash of a file; it is opened for reading only.

    Raises:
        OSError: it cannot be read.
    """
    return _of(_pieces(path, None))


def digest_of_start(path: Path, size: int) -> Digest:
    """Return size and hash of the first ``size`` bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    return _of(_pieces(path, size))


def digest_of_bytes(data: bytes) -> Digest:
    """Return size and hash of some bytes."""
    return _of(iter((data,)))


def _of(pieces: Iterator[bytes]) -> Digest:
    found, size = hashlib.sha256(), 0
    for piece in pieces:
        found.update(piece)
        size += len(piece)
    return Digest(size, found.hexdigest())


def _pieces(path: Path, limit: int | None) -> Iterator[bytes]:
    with path.open("rb") as file:
        left = limit
        while left is None or left > 0:
            piece = file.read(_PIECE if left is None else min(_PIECE, left))
            if not piece:
                return
            left = None if left is None else left - len(piece)
            yield piece
