"""The headers of tables: the first piece of a file has one, and each is read by itself."""

from __future__ import annotations

from forensics.incident import Incident
from forensics.live.watch.generation import Generation
from forensics.live.watch.place import Chunk
from forensics.sources.registry import by_name

_MOST = 64 << 10
"""Bytes of the longest header."""


class Heads:
    """Holds the header of each generation that is a table.

    Args:
        incident: what is asked, with formats of its own.
    """

    def __init__(self, incident: Incident) -> None:
        self._incident = incident
        self._heads: dict[int, bytes] = {}

    def of(self, chunk: Chunk, format_name: str | None, generation: Generation | None) -> bytes:
        """Return what has to stand before a piece; nothing before the first, and where none is."""
        if format_name is None or not by_name(format_name, self._incident).may_be_a_table:
            return b""
        if not chunk.lines:
            self._heads[chunk.number] = chunk.data.split(b"\n", 1)[0] + b"\n"
            return b""
        if chunk.number not in self._heads and generation is not None:
            self._heads[chunk.number] = generation.first_line(_MOST)
        head = self._heads.get(chunk.number, b"")
        return b"" if head.lstrip(b"\xef\xbb\xbf \t").startswith((b"{", b"[")) else head
