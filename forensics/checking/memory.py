"""Bytes in memory that a reader opens as it opens a file: a sample is never written to disk."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import cast

from forensics.sources.files import Input


class InMemory:
    """Stands in for the path of an input: it can be opened and has a size, nothing more."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self.name = PurePath(name).name

    def open(self, _: str = "rb") -> io.BytesIO:
        """Return a stream over the bytes."""
        return io.BytesIO(self._data)

    def stat(self) -> SimpleNamespace:
        """Return the size, as the one thing that is known of it."""
        return SimpleNamespace(st_size=len(self._data))


def in_place_of(source: Input, data: bytes) -> Input:
    """Return an input of the same number and name that holds other bytes."""
    return replace(source, path=cast("Path", InMemory(data, source.name)), member=None)
