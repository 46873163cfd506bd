"""Find identifiers in text as whole phrases, in any case, however many there are.

An identifier is found where no letter, digit or inner ``_`` or ``-`` goes on before or after
it: ``acct-1`` stands in ``(acct-1)``, ``user=ACCT-1`` and ``_acct-1_``, and not in ``acct-12``
or ``acct-1-b``. Both are folded first. Of several at one place the longest counts. The work
grows with the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from forensics.notices.plaintext import folded, readings

_TOKEN: Final = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")


def core(text: str) -> str:
    """Return a text as it is compared: in one case, single blanks, without signs at its ends."""
    plain = folded(text)
    if _TOKEN.fullmatch(plain):
        return plain
    spans = list(_TOKEN.finditer(plain))
    return plain[spans[0].start() : spans[-1].end()] if spans else ""


class Phrases:
    """Many cores, to be found in texts.

    Args:
        cores: see :func:`core`.
    """

    def __init__(self, cores: Iterable[str]) -> None:
        self._single: set[str] = set()
        self._longer: dict[str, tuple[int, ...]] = {}
        self._whole: set[str] = set()
        for one in cores:
            self._add(one)

    def _add(self, one: str) -> None:
        if _TOKEN.fullmatch(one):  # most ids are
            self._single.add(one)
        elif tokens := _TOKEN.findall(one):
            self._whole.add(one)
            known = self._longer.get(tokens[0], ())
            if len(tokens) not in known:
                self._longer[tokens[0]] = tuple(sorted({*known, len(tokens)}, reverse=True))

    def found(self, text: str) -> set[str]:
        """Return the cores that stand in a text."""
        return {one for plain in readings(text) for one in self._found(plain)}

    def _found(self, plain: str) -> set[str]:
        tokens = set(_TOKEN.findall(plain))
        single = {token for token in tokens if token in self._single}
        first = {token for token in tokens if token in self._longer}
        return set(self._at_each_place(plain, single | first)) if first else single

    def _at_each_place(self, plain: str, firsts: set[str]) -> Iterator[str]:
        spans = [one.span() for one in _TOKEN.finditer(plain)]
        free = 0
        for at, (begin, end) in enumerate(spans):
            if at >= free and plain[begin:end] in firsts:
                taken, phrase = self._longest(plain, spans, at)
                free = at + taken
                if phrase is not None:
                    yield phrase

    def _longest(self, plain: str, spans: list[tuple[int, int]], at: int) -> tuple[int, str | None]:
        """Return how many tokens the longest phrase at a place has, and the phrase."""
        begin, end = spans[at]
        first = plain[begin:end]
        for length in self._longer.get(first, ()):
            last = at + length - 1
            if last < len(spans) and plain[begin : spans[last][1]] in self._whole:
                return length, plain[begin : spans[last][1]]
        return 1, first if first in self._single else None
