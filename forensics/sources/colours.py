"""Control sequences of a terminal: colours, what else tools put beside them, raw or as written.

``grep --color`` erases to the end of the line behind each colour, ``tput`` chooses a character
set, ``ls`` and ``gcc`` write links. JSON, Go and shells write the byte that begins them as text.
"""

from __future__ import annotations

import re

_CONTROL = r"\[[0-?]*[ -/]*[@-~]"
_SET = r"[()][0-9A-Za-z]"
_COMMAND = r"\][^\x00-\x1f\x7f]*(?:\x07|\x1b\\)"
RAW = rf"\x1b(?:{_CONTROL}|{_SET}|{_COMMAND})"
"""As a pattern of texts; it needs no look around."""
_ESCAPE = r"\\(?:u001[bB]|x1[bB]|033|e)"
_BELL = r"\\(?:u0007|x07|007|a)"
_TITLE = rf'\](?:[^\\"\x00-\x1f\x7f]|\\/){{0,2000}}(?:{_BELL}|{_ESCAPE}\\\\)'
_QUOTED = r"\[[0-?]*[ !#-/]*[@-~]"
"""Not beyond the end of a text, where a shipper cut the line within a sequence."""
_WRITTEN = rf"(?<!\\)(?P<pairs>(?:\\\\)*){_ESCAPE}(?:{_QUOTED}|{_SET}|{_TITLE})"
_ANY = re.compile(rf"{RAW}|{_WRITTEN}".encode())


def coloured(data: bytes) -> bool:
    """Say whether some bytes have such sequences, within texts as well."""
    return _ANY.search(data) is not None


def plain(line: bytes) -> bytes:
    """Return a line without the sequences; a backslash that was written as one stays."""
    return _ANY.sub(lambda match: match["pairs"] or b"", line)
