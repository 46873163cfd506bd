"""One line of JSON whose values may have any type; and why a line is no record."""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

from forensics.schema import Kind
from forensics.sources import nestedsettings
from forensics.sources.jsonpaths import Leaf, Tree, struct
from forensics.sources.values import NOT_A_VALUE

_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<alone>\\u[dD][89a-fA-F]\w\w)"
)
_BARE = re.compile(rb'"(?:[^"\\]|\\.)*+"|(?P<bare>(?<![\w.+-])-?(?:NaN|Infinity)(?![\w.]))')

_NAMING = re.compile(rb'".*"|-?\d+', re.DOTALL)


class OddRows:
    """Reads lines whose values may have any type; those of the named keys come back as text."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._decoder = msgspec.json.Decoder(struct(tree, lambda _key, _node: Raw))
        self._inner = {
            key: OddRows(node) for key, node in tree.items() if not isinstance(node, Leaf)
        }

    def read(self, line: bytes) -> dict[str, str | None] | str:
        """Return column to text, or the reason why the line is no record."""
        row = self._decode(line)
        if isinstance(row, str) and b"\\u" in line:
            line = _paired(line)
            row = self._decode(line)
        if isinstance(row, str) and (b"NaN" in line or b"Infinity" in line):
            return self._decode(_without_bare(line))
        return row

    def _decode(self, line: bytes) -> dict[str, str | None] | str:
        try:
            row = self._decoder.decode(line)
        except msgspec.ValidationError:
            return "not a JSON object"
        except UnicodeDecodeError:
            return "invalid UTF-8"
        except RecursionError:
            return "nested too deeply"
        except msgspec.DecodeError as error:
            return _reason(error, line)
        found: dict[str, str | None] = {}
        for (key, node), raw in zip(self._tree.items(), msgspec.structs.astuple(row), strict=True):
            if not isinstance(raw, Raw) or bytes(raw) == b"null":
                if isinstance(node, Leaf) and node.absent is not None:
                    found[node.column] = None if isinstance(raw, Raw) else node.absent
                continue
            if isinstance(node, Leaf):
                # Whose a slot is: a flag, or a number with a fraction, is nobody's name.
                odd = node.absent is not None and not _NAMING.fullmatch(bytes(raw))
                found[node.column] = NOT_A_VALUE if odd else _scalar(raw, node.kind)
            else:
                inner = self._inner[key]._decode(bytes(raw))
                found |= inner if isinstance(inner, dict) else self._inner[key]._misfit()
        return found

    def _misfit(self) -> dict[str, str | None]:
        """Return all columns below a key whose value is no object, as values that fit nothing."""
        found: dict[str, str | None] = {}
        for key, node in self._tree.items():
            if isinstance(node, Leaf):
                found[node.column] = NOT_A_VALUE
            else:
                found |= self._inner[key]._misfit()
        return found


def _paired(line: bytes) -> bytes:
    """Replace halves of surrogate pairs: loggers cut texts in the middle of a character."""
    return _ESCAPES.sub(lambda m: b"\\ufffd" if m["alone"] else m[0], line)


def _without_bare(line: bytes) -> bytes:
    """Put what fits no column in place of numbers that JSON does not have, texts apart."""
    return _BARE.sub(lambda m: b"[]" if m["bare"] else m[0], line)


def _reason(error: msgspec.DecodeError, line: bytes) -> str:
    """Name the fault in words of our own: messages of decoders may quote the record."""
    text = str(error)
    if "truncated" in text:
        return "truncated JSON"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "invalid UTF-8"
    return "not valid JSON"


def _scalar(raw: Raw, kind: Kind) -> str | None:
    if kind == "config":
        return nestedsettings.told(bytes(raw))
    data = bytes(raw)
    if data[:1] in b"{[":
        return NOT_A_VALUE
    if data[:1] != b'"':
        return data.decode("ascii")
    try:
        return msgspec.json.decode(data, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return NOT_A_VALUE
