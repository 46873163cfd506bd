"""The text of a file as UTF-8, whatever it was written in, by the mark that it begins with.

Tools of Windows write UTF-16 (``Get-Content x > y``, Notepad, Excel's "Unicode text"). The places
that are told of such a file are those of its text in UTF-8, as those of a packed one are of what
it unpacks to. Without a mark it is not text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from forensics.sources.packing import DamagedStreamError

_UTF_8 = codecs.BOM_UTF8
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # it begins as the mark of UTF-16 does: asked first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST = max(len(mark) for mark, _ in _WIDE)


def as_utf_8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same text in UTF-8 without a mark; what is no character there is replaced.

    What came before the stream breaks off is yielded before the error is passed on.
    """
    start = b""
    for chunk in chunks:
        start += chunk
        if len(start) >= _LONGEST:
            break
    name = next((name for mark, name in _WIDE if start.startswith(mark)), None)
    if name is None:
        yield start.removeprefix(_UTF_8)
        yield from chunks
    else:
        yield from _decoded(start, chunks, name)


def _decoded(start: bytes, chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    take = codecs.getincrementaldecoder(name)(errors="replace").decode
    yield take(start).encode("utf-8", "replace")
    try:
        for chunk in chunks:
            yield take(chunk).encode("utf-8", "replace")
    except (DamagedStreamError, OSError):
        yield take(b"", final=True).encode("utf-8", "replace")
        raise
    yield take(b"", final=True).encode("utf-8", "replace")
