"""No packet may hold what is another tenant's: every file is searched before it is written.

All identifiers of the report go into one table, once; each packet is split into fields and
words once and looked up there, so the work grows with the size of the packets alone. An id
that could be any word (a tenant called ``1`` or ``the``) is looked for in the fields that
hold ids, where it can be nothing else; one that is unlike a word also in all text.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import polars as pl

from forensics.errors import PrivacyError
from forensics.notices.facts import NO_ID
from forensics.notices.finished import Finished
from forensics.notices.markdown import unescaped

_SPLIT: Final = re.compile(r"[\s\"'<>|,;()\[\]{}*`]+")
_NUMBER_OR_TIME: Final = re.compile(r"[\d.,:TZ+-]+")
_LEAST: Final = 8
_ENDS: Final = ".:!?="
_IDS: Final = ("request_id", "prefill_request_id", "transfer_id")


class Isolation:
    """Who owns which identifier.

    Args:
        owners: the tenants of each request id; see :func:`owners_in`.
        names: each tenant's pseudonym.
        contacts: addresses; they belong into no packet at all.
        shared: texts that every packet holds; a word of them is nobody's identifier.
        same: a file of the package that is the very same in every packet.
    """

    def __init__(
        self,
        owners: Mapping[str, frozenset[str | None]],
        names: Mapping[str, str],
        contacts: Iterable[str],
        shared: Iterable[str],
        same: bytes = b"",
    ) -> None:
        self._same = same
        self._of_request = owners
        self._of_word = self._distinctive(names, words("\n".join(shared)))
        self._of_word |= {word: frozenset() for text in contacts for word in words(text)}
        for tenant, name in names.items():
            for own in (name, *(f"{name}-{told}" for told in ("recipient", "source"))):
                self._of_word[own] = frozenset({tenant})
        self._known = frozenset(self._of_word)

    def _distinctive(
        self, names: Mapping[str, str], common: frozenset[str]
    ) -> dict[str, frozenset[str | None]]:
        found = dict(self._of_request)
        for tenant in names:
            found[tenant] = found.get(tenant, frozenset()) | {tenant}
        return {
            word: owners for word, owners in found.items() if word not in common and _unlike(word)
        }

    def check(self, notice: str, tenant: str, files: Mapping[str, bytes]) -> None:
        """Raise where a file holds an identifier of somebody else.

        Raises:
            PrivacyError: one does; the message names the packet by its pseudonym alone.
        """
        for name, data in files.items():
            if data is self._same:
                continue
            text = data.decode("utf-8", "surrogateescape")
            for found in _fields(name, text):
                bare = found if found in self._of_request else found.removeprefix("'")
                if tenant not in self._of_request.get(bare, ()):
                    raise _foreign(notice, name)
            for word in words(_read(name, text)) & self._known:
                if tenant not in self._of_word[word]:
                    raise _foreign(notice, name)
        if msgspec.json.decode(files["facts.json"])["account"] != tenant:
            raise _foreign(notice, "facts.json")


def words(text: str) -> frozenset[str]:
    """Return what stands between blanks, quotes and brackets, and the same without a full stop."""
    found = set(_SPLIT.split(text))
    return frozenset(found | {word.strip(_ENDS) for word in found})


def _foreign(notice: str, name: str) -> PrivacyError:
    return PrivacyError(
        f"{notice}: {name} holds an identifier that is not this tenant's; nothing was written"
    )


def owners_in(report: Finished) -> dict[str, frozenset[str | None]]:
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


def _unlike(word: str) -> bool:
    """Say whether an id is long and mixed enough to be no word, number or time."""
    return (
        len(word) >= _LEAST
        and any(sign.isdigit() for sign in word)
        and not _NUMBER_OR_TIME.fullmatch(word)
    )


def _read(name: str, text: str) -> str:
    """Return a file's text as its reader sees it, without escapes."""
    if name.endswith(".html"):
        return html.unescape(text)
    return unescaped(text) if name.endswith(".md") else text


def _fields(name: str, text: str) -> set[str]:
    """Return the request ids that stand in a file of records."""
    if name == "requests.csv":
        rows = csv.DictReader(io.StringIO(text))
        return {row["request_id"] for row in rows if row["request_id"]}
    if name == "requests.jsonl":
        lines = (msgspec.json.decode(line) for line in text.splitlines())
        return {row["request_id"] for row in lines if row["request_id"] is not None}
    return set()
