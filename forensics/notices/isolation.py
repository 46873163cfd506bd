"""No packet may hold what is another tenant's: every file is searched before it is written.

All identifiers of the report go into one table, once; each packet is looked up there, so the
work grows with the size of the packets alone. An id that could be any word (a tenant called
``1`` or ``the``) is looked for in the fields that hold ids, where it can be nothing else; one
that is unlike a word of the package's own texts also in all text, wherever that is from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
import polars as pl

from forensics.declared import TOLD
from forensics.errors import PrivacyError
from forensics.notices.asread import as_read
from forensics.notices.facts import NO_ID
from forensics.notices.finished import Finished
from forensics.notices.phrases import Phrases, core

_NUMBER: Final = re.compile(r"[\d.,:tz+ -]+")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_LEAST: Final = 8
_LEAST_DIGITS: Final = 10
_IDS: Final = ("request_id", "prefill_request_id", "transfer_id")
Owners = frozenset[str | None]


class Isolation:
    """Who owns which identifier.

    Args:
        owners: the tenants of each request id; see :func:`owners_in`.
        names: each tenant's pseudonym.
        contacts: addresses of each tenant; they belong into no packet but its own.
        fixed: texts of the package in every packet; what stands in them is nobody's identifier.
        stated: texts of the case in every packet by what they are, such as its title.
        same: a file of the package that is the very same in every packet.
    """

    def __init__(
        self,
        owners: Mapping[str, Owners],
        names: Mapping[str, str],
        contacts: Mapping[str, Iterable[str]],
        fixed: Iterable[str],
        stated: Mapping[str, str] | None = None,
        same: bytes = b"",
    ) -> None:
        self._same, self._of_request = same, owners
        known = _Known()
        known.add_all(owners, names)
        for tenant, several in contacts.items():
            for contact in several:
                known.add_contact(contact, tenant)
        self._of_phrase = _not_in("\0".join(fixed), known.owners)
        for tenant, name in names.items():
            for own in (name, *(f"{name}-{told}" for told in TOLD)):
                self._of_phrase[own] = frozenset({tenant})
        self._phrases = Phrases(self._of_phrase)
        self._stated = {
            what: self._phrases.found(text) for what, text in (stated or {}).items() if text
        }

    def check(self, notice: str, tenant: str, files: Mapping[str, bytes]) -> None:
        """Raise where a file holds an identifier of somebody else.

        Raises:
            PrivacyError: one does; the message names the packet by its pseudonym alone.
            ValueError: a file is not in the form that files of its name have.
        """
        for name, data in files.items():
            if data is self._same:
                continue
            read = as_read(name, data)
            for found in read.requests:
                bare = found if found in self._of_request else found.removeprefix("'")
                if tenant not in self._of_request.get(bare, ()):
                    raise _foreign(notice, name)
            for phrase in self._phrases.found(read.text):
                if tenant not in self._of_phrase[phrase]:
                    raise _foreign(notice, self._place(phrase) or name)
        if msgspec.json.decode(files["facts.json"])["account"] != tenant:
            raise _foreign(notice, "facts.json")

    def _place(self, phrase: str) -> str | None:
        """Return which text of the case a phrase stands in."""
        return next((what for what, found in self._stated.items() if phrase in found), None)


class _Known:
    """Who owns each phrase that is looked for in text."""

    def __init__(self) -> None:
        self.owners: dict[str, Owners] = {}

    def add_all(self, requests: Mapping[str, Owners], names: Iterable[str]) -> None:
        """Add the ids of requests and of all tenants, those without a packet as well."""
        for request, owners in requests.items():
            self._add(request, owners, unlike)
        tenants = {tenant for owners in requests.values() for tenant in owners}
        for tenant in {*tenants, *names} - {None}:
            self._add(tenant or "", frozenset({tenant}), unlike)

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


def _not_in(fixed: str, owners: dict[str, Owners]) -> dict[str, Owners]:
    """Return the phrases that do not stand in the package's texts, nor behind a longer one."""
    while common := Phrases(owners).found(fixed):
        owners = {phrase: of for phrase, of in owners.items() if phrase not in common}
    return owners


def unlike(word: str) -> bool:
    """Say whether an id is long enough to be no short word, number or time."""
    if len(word) < _LEAST or _TIME.match(word):
        return False
    if _NUMBER.fullmatch(word):
        return sum(sign.isdigit() for sign in word) >= _LEAST_DIGITS
    return True


def _foreign(notice: str, place: str) -> PrivacyError:
    return PrivacyError(
        f"{notice}: {place} holds an identifier that is not this tenant's; nothing was written"
    )


def owners_in(report: Finished) -> dict[str, Owners]:
    """Return the tenants of each request id; several can have used the same."""
    listed = [
        rows.select("tenant_id", id=name)
        for rows in (report.requests, report.ruled_out)
        for name in _IDS
    ]
    listed.append(report.pairs.select(tenant_id="source_tenant_id", id="source_request_id"))
    known = pl.concat(listed).rechunk().drop_nulls("id").unique()
    known = known.filter(~pl.col("id").str.starts_with(NO_ID))
    found: dict[str, set[str | None]] = {}
    for tenant, word in known.iter_rows():
        found.setdefault(word, set()).add(tenant)
    return {word: frozenset(tenants) for word, tenants in found.items()}
