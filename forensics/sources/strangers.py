"""Whose a JSON record among the lines of a file is: the file's own, or another program's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

import msgspec
from msgspec import Raw

from forensics.incident import Incident
from forensics.sources import registry
from forensics.sources.jsonrows import FAULTS
from forensics.sources.otherlines import ASKED

__all__ = ["ASKED", "OTHER", "OWN", "Teller", "begins_own"]

OWN = "record of the file's own format"
OTHER = "other record"

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
_MOST_KEYS = 10_000
_TRIES = 50
"""Records of one set of keys that are looked at: a value may tell the format of a later one."""
_LOGGED = {"message", "msg"}
_ANY_NAMES = {"plain-ndjson", "plain-csv"}


class Teller:
    """Tells whose the records of one file are; records with the same keys look alike.

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
        self._formats: dict[frozenset[str], registry.Format] = {}
        self._tries: Counter[frozenset[str]] = Counter()
        self._own_keys: set[str] = set()
        self.met: dict[str, registry.Format] = {}
        """Formats that records were told to be in, by name."""
        for line in islice(head.split(b"\n", _TRIES), _TRIES):
            self.told(line)

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
        found = self._format(line, frozenset(keys))
        if found is not None and found.name == self._own.name:
            if len(self._own_keys) < _MOST_KEYS:
                self._own_keys |= keys.keys()
            return OWN
        # Names that an incident gives to columns may be those of any format.
        if keys.keys() <= self._own_keys and (found is None or found.name in _ANY_NAMES):
            return OWN
        return found.name if found is not None else self._untold(line, keys)

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

    def _format(self, line: bytes, shape: frozenset[str]) -> registry.Format | None:
        if len(self._tries) >= _MOST:
            self._tries.clear()
        if shape not in self._formats and self._tries[shape] < _TRIES:
            self._tries[shape] += 1
            found = self._sniffed(line)
            if found is None:
                return None
            self._formats[shape] = self.met[found.name] = found
        return self._formats.get(shape)

    def _sniffed(self, line: bytes) -> registry.Format | None:
        return next((one for one in self._asked if one.sniff(line, self._incident)), None)


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
