"""Which identifiers are known, whose they are, and where each can be looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from forensics.notices.phrases import core
from forensics.notices.plaintext import readings
from forensics.shown import visible

_NUMBER: Final = re.compile(r"[\d.,:+ -]+")
_CLOCK: Final = r"\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z| ?utc|[+-]\d\d:?\d\d)?"
_TIME: Final = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[t ]{_CLOCK})?|{_CLOCK}")
_LEAST: Final = 8
_LEAST_ALONE: Final = 2
_LEAST_DIGITS: Final = 8
_LEAST_OWN_DIGITS: Final = 4
Owners = frozenset[str | None]
"""Tenants; None where none is known."""


class Known:
    """Who owns each phrase that is looked for in text.

    ``owners`` are for all text, ``short`` for where one stands alone, and ``numbers`` for what
    the sender wrote itself; anything else can be told from no other word or number.
    """

    def __init__(self) -> None:
        self.owners: dict[str, Owners] = {}
        self.short: dict[str, Owners] = {}
        self.numbers: dict[str, Owners] = {}
        self.ids: frozenset[str] = frozenset()
        """Ids of requests and tenants as they are compared."""

    def add_all(self, requests: Mapping[str, Owners], names: Iterable[str]) -> None:
        """Add the ids of requests and of all tenants, those without a packet as well."""
        for request, owners in requests.items():
            self._add_id(request, owners)
        tenants = {tenant for owners in requests.values() for tenant in owners}
        for tenant in {*tenants, *names} - {None}:
            self._add_id(tenant or "", frozenset({tenant}))
        self.ids = frozenset(core(one) or one for one in (*requests, *tenants, *names) if one)

    def _add_id(self, text: str, owners: Owners) -> None:
        for form in {text, visible(text)}:  # what cannot be seen is written out for readers
            for reading in readings(form):  # as texts are read
                self._add(reading, owners, unlike)
        found = core(text)
        if not unlike(found) and not _NUMBER.fullmatch(found):
            if len(found) >= _LEAST_ALONE:
                self.short[found] = self.short.get(found, frozenset()) | owners
        elif _few_digits(found):
            self.numbers[found] = self.numbers.get(found, frozenset()) | owners

    def add_contact(self, contact: str, tenant: str) -> None:
        """Add a contact as a whole, and the addresses in it."""
        owners: Owners = frozenset({tenant})
        self._add(contact, owners, lambda found: "@" in found or unlike(found))
        for part in re.split(r"[\s<>,;\"]+", contact):
            self._add(part, owners, lambda found: "@" in found)

    def _add(self, text: str, owners: Owners, wanted: Callable[[str], bool]) -> None:
        found = core(text)
        if wanted(found):
            self.owners[found] = self.owners.get(found, frozenset()) | owners


def _few_digits(word: str) -> bool:
    """Say whether an id is a number that is too short for all text, but is one in own texts."""
    digits = sum(sign.isdigit() for sign in word)
    return _LEAST_OWN_DIGITS <= digits < _LEAST_DIGITS and not _TIME.fullmatch(word)


def unlike(word: str) -> bool:
    """Say whether an id is long enough to be no short word, number or time."""
    if len(word) < _LEAST or _TIME.fullmatch(word):
        return False
    if _NUMBER.fullmatch(word):
        return sum(sign.isdigit() for sign in word) >= _LEAST_DIGITS
    return True
