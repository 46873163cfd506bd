"""Whose a JSON record among the lines of a file is: the file's own, or another program's."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from msgspec import Raw

from forensics.incident import Incident
from forensics.sources import plain, registry
from forensics.sources.jsonrows import FAULTS
from forensics.sources.otherlines import ASKED
from forensics.sources.ownkeys import OwnKeys, telling

__all__ = ["ASKED", "BESIDE", "OTHER", "OWN", "Teller", "begins_own"]

OWN = "record of the file's own format"
OTHER = "other record"
BESIDE = " beside"
"""Behind the name of a format: its reader takes a record that alone would not show the format."""

_BEGIN = re.compile(
    rb'\{"timestamp": ?"[^"\n]{10,40}", ?"event": ?"request\.'
    rb'(?:received|finished|received\.openai)", ?"rid": ?(?:"[^"\n]{0,200}"|null), ?"obj": ?\{'
)
_EVENTS = (b'"request.received"', b'"request.finished"', b'"request.received.openai"')
_ASKED = re.compile(
    rb'"(?:[\w.-]*(?:prompt|input|completion|output)_?tokens|usage|(?:http_?)?status_?code'
    rb'|response_?code|http_?status)"\s*:|"status"\s*:\s*"?[1-5]\d\d\b',
    re.IGNORECASE,
)
_KEYS = msgspec.json.Decoder(dict[str, Raw])
_Keys = dict[str, Raw]
_MOST = 1_000
"""Sets of keys that are remembered."""
_HEAD_LINES = 200
_LOGGED = {"message", "msg"}
_PLAIN = "plain-ndjson"
_ANY_NAMES = {_PLAIN, "plain-csv"}


class Teller:
    """Tells whose the records of one file are, by each record and the file's beginning alone.

    Args:
        own: the file's format.
        incident: for the names that records may have.
        head: the beginning of the file, which tells what keys its own records have.
    """

    def __init__(self, own: registry.Format, incident: Incident, head: bytes = b"") -> None:
        self._own = own
        self._takes = _TAKES.get(own.name)
        self._leaves = own.name == "vllm"
        self._incident = incident
        self._asked = _in_turn(own, incident)
        self._may: dict[frozenset[str], tuple[registry.Format, ...]] = {}
        self._own_keys: frozenset[str] = frozenset()
        self._own_shapes: set[frozenset[str]] = set()
        self._plain_names: dict[str, frozenset[str]] = {}
        self.met: dict[str, registry.Format] = {}
        """Formats that records were told to be in, by name."""
        self._learn(head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES])

    def all_own(self) -> OwnKeys | None:
        """Return what says of many records at once that they are the file's own.

        None where keys alone do not tell that: each record is told by itself then.
        """
        must = {} if self._own.name == _PLAIN else self._own.told_by
        if must is None:
            return None
        at = next(at for at, one in enumerate(self._asked) if one.name == self._own.name)
        before = [keys for one in self._asked[:at] for keys in one.keys]
        before += [frozenset({name}) for name in self._own.rather_plain(self._incident)]
        never = telling(before, self._own_keys | must.keys())
        return None if never is None else OwnKeys(must, never)

    def told(self, line: bytes) -> str:
        """Return the name of a record's format, or one of :data:`OWN`, OTHER and ASKED.

        What is no JSON object stays the file's own, whose reader says what is wrong with it.
        """
        try:
            keys = _KEYS.decode(line)
        except FAULTS:
            return OWN
        if self._takes is not None and self._takes(line, keys):
            return OWN
        found = self._format(line, keys, frozenset(keys))
        if found is not None and self._reads(found):
            return OWN
        # Names that an incident gives to columns may be those of any format.
        if keys.keys() <= self._own_keys and (found is None or found.name in _ANY_NAMES):
            return OWN
        if found is not None:
            self.met[found.name] = found
            return found.name
        return self._inside(line, frozenset(keys)) or self._untold(line, keys)

    def _inside(self, line: bytes, shape: frozenset[str]) -> str | None:
        """Return the format of a record that is one's without what tells a file of it."""
        for one in self._may[shape]:
            if any(b'"%b"' % key.encode() in line for key in one.inside):
                name = one.name + BESIDE
                self.met[name] = one
                return OWN if self._reads(one) else name
        return None

    def _reads(self, one: registry.Format) -> bool:
        """Say whether the file's own reader reads a format."""
        return one.name == self._own.name or one.read == self._own.read

    def _learn(self, lines: list[bytes]) -> None:
        """Learn from the file's beginning what keys its own records have."""
        for line in lines:
            try:
                keys = frozenset(_KEYS.decode(line))
            except FAULTS:
                continue
            if keys not in self._own_shapes and self._own.sniff(line, self._incident):
                self._own_shapes.add(keys)
        self._own_keys = frozenset().union(*self._own_shapes)

    def _untold(self, line: bytes, keys: _Keys) -> str:
        """Say whose a record is that is in no known format."""
        asked = _ASKED.search(line) is not None
        if self._takes is None:
            # All that readers of columns are given is read by these; logs count what is none.
            alike = 2 * len(keys.keys() & self._own_keys) >= len(keys)
            theirs = self._own.certain and asked and not (alike or _LOGGED & keys.keys())
            return ASKED if theirs else OWN
        if self._leaves and "message" in keys and not asked:
            return OWN
        return ASKED if asked else OTHER

    def _format(self, line: bytes, keys: _Keys, shape: frozenset[str]) -> registry.Format | None:
        """Return the first format whose record it is; only those that it has the keys of."""
        if shape not in self._may:
            if len(self._may) >= _MOST:
                self._may.clear()
            self._may[shape] = self._candidates(shape)
        for one in self._may[shape]:
            # A record of the file's own form is read by its reader, which counts what is none.
            own = one.name == self._own.name
            known = own and (one.certain or one.name == _PLAIN) and shape in self._own_shapes
            if known or self._is_of(one, line, keys):
                return one
        return None

    def _is_of(self, one: registry.Format, line: bytes, keys: _Keys) -> bool:
        if one.name not in self._plain_names:
            self._plain_names[one.name] = one.rather_plain(self._incident)
        if one.told_by is None or not self._plain_names[one.name].isdisjoint(keys):
            told = one.sniff(line, self._incident) is not None
            return told and (one.name != "sglang" or _of_sglang(line, keys))
        must = one.told_by.items()
        return all(key in keys and (not of or _text(keys[key]) in of) for key, of in must)

    def _candidates(self, shape: frozenset[str]) -> tuple[registry.Format, ...]:
        """Return the formats that a record with these keys may be in."""
        names = plain.names(self._incident).keys()
        return tuple(
            one
            for one in self._asked
            if any(keys <= shape for keys in one.keys)
            or (one.name == _PLAIN and not names.isdisjoint(shape))
        )


def _in_turn(own: registry.Format, incident: Incident) -> tuple[registry.Format, ...]:
    """Return the formats in the order in which a record is told by them.

    A format with a signature knows its own; of those that go by the names of columns, the one
    that is asked first takes a record as it takes a file. An engine's own are told before.
    """
    formats = registry.known(incident)
    if not own.certain:
        return formats
    others = tuple(one for one in formats if one.name != own.name)
    return others if own.name in _TAKES else (own, *others)


def _text(value: Raw) -> str | None:
    try:
        return msgspec.json.decode(value, type=str)
    except FAULTS:
        return None


def begins_own(data: bytes, at: int) -> bool:
    """Say whether a record of SGLang's request log begins there: seen without decoding it."""
    return _BEGIN.match(data, at) is not None


def _of_sglang(line: bytes, keys: _Keys) -> bool:
    """A gateway may call its records so too, but lays them out otherwise."""
    if bytes(keys.get("event", Raw(b""))) not in _EVENTS:
        return False
    return "obj" in keys or "out" in keys or ("rid" in keys and _ASKED.search(line) is None)


def _of_vllm(line: bytes, keys: _Keys) -> bool:
    """A logger of any name may have written in the engine's process, but nothing of requests."""
    if "message" not in keys:
        return False
    if bytes(keys.get("name", Raw(b""))).startswith(b'"vllm'):
        return True
    return ("asctime" in keys or "levelname" in keys) and _ASKED.search(line) is None


_TAKES: dict[str, Callable[[bytes, _Keys], bool]] = {"sglang": _of_sglang, "vllm": _of_vllm}
