"""No packet may hold what is another tenant's: every file is searched before it is written.

All identifiers of the report go into one table, once; each packet is looked up there, so the
work grows with the size of the packets alone. Where an id is looked for depends on what else
it could be. One that is unlike a word of the package's own texts is looked for in all text,
wherever that is from. A short one with a letter in it, such as ``acme``, is looked for where it
stands alone: in a cell, an element or a value. One that could be any word or number, such as
``the`` or ``1``, is looked for in the fields that hold ids, where it can be nothing else; how
many these are is said. What the sender wrote itself, such as a title or a template, is no text
of the package: there each id counts as a word, but for one that is a number of a few digits or
a word of the package's own texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import polars as pl

from forensics.declared import TOLD
from forensics.errors import PrivacyError
from forensics.notices.asread import AsRead, as_read
from forensics.notices.finished import Finished
from forensics.notices.known import Known, Owners
from forensics.notices.phrases import Phrases, core
from forensics.shown import visible
from forensics.standins import stands_in

_IDS: Final = ("request_id", "prefill_request_id", "transfer_id")
GENERATED: Final = (
    *("UTC", "true", "false", "yes", "no", "none", "not known", "not shown", "not listed"),
    "not stated",
    *("the first record", "the last record", "confirmed", "probable", "possible"),
    *("not assessable", "all in the logs"),
)
"""What the package writes into a packet besides its fixed texts: words that are no id."""


class Isolation:
    """Who owns which identifier.

    Args:
        owners: the tenants of each request id; see :func:`owners_in`.
        names: each tenant's pseudonym.
        contacts: addresses of each tenant; they belong into no packet but its own.
        fixed: texts of the package in every packet; what stands in them is nobody's identifier.
        own: texts of the sender in every packet by what they are, such as the title.
        models: names of models, which anybody may have given.
        same: a file of the package that is the very same in every packet.
    """

    def __init__(
        self,
        owners: Mapping[str, Owners],
        names: Mapping[str, str],
        contacts: Mapping[str, Iterable[str]],
        fixed: Iterable[str],
        own: Mapping[str, str] | None = None,
        models: str = "",
        same: bytes = b"",
    ) -> None:
        # CSV writes out what cannot be seen.
        self._same, self._of_request = same, {visible(one): of for one, of in owners.items()}
        self._of_request |= owners
        known = Known()
        known.add_all(owners, names)
        for tenant, several in contacts.items():
            for contact in several:
                known.add_contact(contact, tenant)
        said = "\0".join(fixed)
        self._of_phrase = _not_in(said, known.owners)
        nobodys = "\0".join((said, *GENERATED))
        self._alone = _not_in(f"{nobodys}\0{models}", known.short)
        self._of_own_word = _not_in(nobodys, known.owners | known.short | known.numbers)
        words = Phrases(self._of_own_word)
        self._own = {what: words.found(text) for what, text in (own or {}).items()}
        self.in_id_fields = len(known.ids - self._of_phrase.keys() - self._alone.keys())
        for tenant, name in names.items():
            for notice in (name, *(f"{name}-{told}" for told in TOLD)):
                self._of_phrase[notice] = frozenset({tenant})
        self._phrases = Phrases(self._of_phrase)
        self._in_models = self._phrases.found(models)

    def check(self, notice: str, tenant: str, files: Mapping[str, bytes]) -> None:
        """Raise where a file holds an identifier of somebody else.

        Raises:
            PrivacyError: one does; the message names the packet by its pseudonym alone.
            ValueError: a file is not in the form that files of its name have.
        """
        for what, words in self._own.items():
            if any(tenant not in self._of_own_word[word] for word in words):
                raise _own_word(notice, what)
        for name, data in files.items():
            if data is self._same:
                continue
            read = as_read(name, data)
            if any(tenant not in self._owners_of(found) for found in read.requests):
                raise _foreign(notice, name)
            for phrase in self._phrases.found(read.text):
                if tenant not in self._of_phrase[phrase]:
                    in_model = phrase in self._in_models
                    raise _foreign(notice, "the name of a model" if in_model else name)
            if self._alone and self._alone_in(read, tenant):
                raise _foreign(notice, name)
        if msgspec.json.decode(files["facts.json"])["account"] != tenant:
            raise _foreign(notice, "facts.json")

    def _owners_of(self, listed: str) -> Owners:
        """Return who used a listed id; a table has a sign before one that is like a formula."""
        bare = listed if listed in self._of_request else listed.removeprefix("'")
        return self._of_request.get(bare, frozenset())

    def _alone_in(self, read: AsRead, tenant: str) -> bool:
        """Say whether a short id of somebody else stands alone somewhere."""
        known = self._alone.keys() & set(map(core, read.fields()))
        return any(tenant not in self._alone[one] for one in known)


def _not_in(fixed: str, owners: dict[str, Owners]) -> dict[str, Owners]:
    """Return the phrases that do not stand in the package's texts, nor behind a longer one."""
    while common := Phrases(owners).found(fixed):
        owners = {phrase: of for phrase, of in owners.items() if phrase not in common}
    return owners


def _foreign(notice: str, place: str) -> PrivacyError:
    return PrivacyError(
        f"{notice}: {place} holds an identifier that is not this tenant's; nothing was written"
    )


def _own_word(notice: str, place: str) -> PrivacyError:
    return PrivacyError(
        f"{notice}: {place} holds an identifier that is not this tenant's, or a word that is the "
        "same: only words that the package's own texts have may stand there; nothing was written"
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
    known = known.filter(~stands_in("id"))
    found: dict[str, set[str | None]] = {}
    for tenant, word in known.iter_rows():
        found.setdefault(word, set()).add(tenant)
    return {word: frozenset(tenants) for word, tenants in found.items()}
