"""Whose a JSON record among the lines of an engine's log is: the engine's, or another program's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import Raw

from forensics.incident import Incident
from forensics.sources import registry
from forensics.sources.jsonrows import FAULTS

OWN = "record of the engine"
OTHER = "other record"
ASKED = "record of a request, in no known format"
"""Of another program, with the fields of a request: it would count, and is not read."""
ENGINES = ("sglang", "vllm")
"""Formats of logs that records of others may stand in."""

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
_TRIES = 50
"""Records of one set of keys that are looked at: a value may tell the format of a later one."""


class Teller:
    """Tells whose the records of one log are; records with the same keys look alike.

    Args:
        engine: the log's format, one of :data:`ENGINES`.
        incident: for the names that records may have.
    """

    def __init__(self, engine: str, incident: Incident) -> None:
        self._takes = _TAKES[engine]
        self._leaves = engine == "vllm"
        self._incident = incident
        self._formats: dict[frozenset[str], registry.Format] = {}
        self._tries: Counter[frozenset[str]] = Counter()
        self.met: dict[str, registry.Format] = {}
        """Formats that records were told to be in, by name."""

    def told(self, line: bytes) -> str:
        """Return the name of a record's format, or one of :data:`OWN`, OTHER and ASKED.

        What is no JSON object stays the engine's, whose reader says what is wrong with it.
        """
        try:
            keys = _KEYS.decode(line)
        except FAULTS:
            return OWN
        if self._takes(line, keys):
            return OWN
        found = self._format(line, frozenset(keys))
        if found is not None:
            return found.name
        asked = _ASKED.search(line) is not None
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
        formats = registry.known(self._incident)
        told = (one for one in formats if one.name not in ENGINES)
        return next((one for one in told if one.sniff(line, self._incident)), None)


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
