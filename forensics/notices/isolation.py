"""No packet may hold what is another tenant's: every file is searched before it is written.

All identifiers of the report go into one table, once; each packet is looked up there, so the
work grows with the size of the packets alone. Where an id is looked for depends on what else
it could be. One that is unlike a word of the package's own texts is looked for in all text,
wherever that is from. A short one with a letter in it, such as ``acme``, is looked for where it
stands alone: in a cell, an element or a value. One that could be any word or number, such as
``the`` or ``1``, is looked for in the fields that hold ids, where it can be nothing else; how
many these are is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
import polars as pl

from forensics.declared import TOLD
from forensics.errors import PrivacyError
from forensics.notices.asread import AsRead, as_read
from forensics.notices.facts import NO_ID
from forensics.notices.finished import Finished
from forensics.notices.phrases import Phrases, core
from forensics.shown import visible

_NUMBER: Final = re.compile(r"[\d.,:tz+ -]+")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_LEAST: Final = 8
_LEAST_ALONE: Final = 2
_LEAST_DIGITS: Final = 10
_IDS: Final = ("request_id", "prefill_request_id", "transfer_id")
GENERATED: Final = (
    *("UTC", "true", "false", "yes", "no", "none", "not known", "not shown", "not listed"),
    *("the first record", "the last record", "confirmed", "probable", "possible"),
    *("not assessable", "all in the logs"),
)
"""What the package writes into a packet besides its fixed texts: words that are no id."""
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
        # CSV writes out what cannot be seen.
        self._same, self._of_request = same, {visible(one): of for one, of in owners.items()}
        self._of_request |= owners
        known = _Known()
        known.add_all(owners, names)
        for tenant, several in contacts.items():
            for contact in several:
                known.add_contact(contact, tenant)
        said = "\0".join(fixed)
        self._of_phrase = _not_in(said, known.owners)
        casual = "\0".join((said, *(stated or {}).values(), *GENERATED))
        self._alone = _not_in(casual, known.short)
        self.in_id_fields = known.total - len(self._of_phrase.keys() & known.owners.keys())
        self.in_id_fields -= len(self._alone)
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
            if self._alone and self._alone_in(read, tenant):
                raise _foreign(notice, name)
        if msgspec.json.decode(files["facts.json"])["account"] != tenant:
            raise _foreign(notice, "facts.json")

    def _alone_in(self, read: AsRead, tenant: str) -> bool:
        """Say whether a short id of somebody else stands alone somewhere."""
        known = self._alone.keys() & set(map(core, read.fields()))
        return any(tenant not in self._alone[one] for one in known)

    def _place(self, phrase: str) -> str | None:
        """Return which text of the case a phrase stands in."""
        return next((what for what, found in self._stated.items() if phrase in found), None)


class _Known:
    """Who owns each phrase that is looked for in text."""

    def __init__(self) -> None:
        self.owners: dict[str, Owners] = {}
        self.short: dict[str, Owners] = {}
        self.total = 0
        """Different ids of requests and tenants."""

    def add_all(self, requests: Mapping[str, Owners], names: Iterable[str]) -> None:
        """Add the ids of requests and of all tenants, those without a packet as well."""
        for request, owners in requests.items():
            self._add_id(request, owners)
        tenants = {tenant for owners in requests.values() for tenant in owners}
        for tenant in {*tenants, *names} - {None}:
            self._add_id(tenant or "", frozenset({tenant}))
        self.total = len({core(one) or one for one in (*requests, *tenants, *names) if one})

    def _add_id(self, text: str, owners: Owners) -> None:
        found = core(text)
        self._add(text, owners, unlike)
        if not unlike(found) and len(found) >= _LEAST_ALONE and not _NUMBER.fullmatch(found):
            self.short[found] = self.short.get(found, frozenset()) | owners

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
