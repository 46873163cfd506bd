"""JSON that a check can lean on: each key stands once, each figure is a plausible count.

A value that is there and is no positive whole number is a fault, not an absence: a check
that guesses is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST_COUNT = 1 << 40
"""A figure beyond it is no size but a way to say "unlimited"."""
MOST_RANKS = 4_096
"""More ranks than any server has: each is a line of the answer."""


class UnreadableError(Exception):
    """The answer does not say what is needed; the text is one line and quotes nothing."""


def parsed(data: bytes) -> Mapping[str, Any]:
    """Return the object in a body.

    Raises:
        UnreadableError: it is no JSON object, or a key in it stands twice.
    """
    try:
        document = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        start = data.lstrip()[:1]
        raise UnreadableError("HTML, not JSON" if start == b"<" else "no JSON") from None
    if not isinstance(document, dict):
        raise UnreadableError("no JSON object")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; which of two values of one key would count is anybody's guess."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise UnreadableError("a key stands twice in one object")
    return values


@dataclass(frozen=True)
class Said:
    """The values of one object, and the path to it that messages name."""

    values: Mapping[str, Any]
    path: str = ""

    def counts(self, names: Sequence[str]) -> list[tuple[int, str]]:
        """Return those of some fields that are there, each with its path.

        Raises:
            UnreadableError: one of them is there and is no plausible count.
        """
        return list(self._counts(names))

    def least(self, names: Sequence[str]) -> tuple[int, str] | None:
        """Return the smallest of some fields and its path."""
        return min(self.counts(names), default=None)

    def _counts(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        for name in names:
            value = self.values.get(name)
            if value is not None:
                yield counted(value, f"{self.path}{name}"), f"{self.path}{name}"


def counted(value: Any, path: str) -> int:
    """Return a value that is a plausible count.

    Raises:
        UnreadableError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise UnreadableError(f"{path} is no positive whole number")
    if value > LARGEST_COUNT:
        raise UnreadableError(f"{path} is too large to be a number of tokens")
    return value


def every(document: Any, path: str) -> list[tuple[Any, str]]:
    """Return what stands at a dotted path, each value with its own path.

    A number in the path is a place of several; what stands beside it is as good, so that all
    of them are returned.

    Raises:
        UnreadableError: nothing is there, or not in every place.
    """
    found = [(document, "")]
    for key in path.split("."):
        found = [part for value, at in found for part in _beside(value, key, at, path)]
        if len(found) > MOST_RANKS:
            raise UnreadableError(f"more than {MOST_RANKS:,} values at {path}")
    return found


def _beside(value: Any, key: str, at: str, path: str) -> list[tuple[Any, str]]:
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return [(item, f"{at}[{number}]") for number, item in enumerate(value)]
    if not isinstance(value, dict) or key not in value:
        raise UnreadableError(f"nothing at {path}, or not at every rank")
    names = [name for name in value if name.isdecimal()] if key.isdecimal() else [key]
    return [(value[name], f"{at}.{name}".removeprefix(".")) for name in names]
