"""Write the notices of a finished report: whole or not at all, each packet searched first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from forensics import declared
from forensics.encode import text_pieces
from forensics.errors import UsageError
from forensics.evidence.hashes import digest_of_bytes
from forensics.evidence.seal import MANIFEST, seal
from forensics.incident import load
from forensics.manifest import made_by
from forensics.notices import ledger, lists, public, review
from forensics.notices.contacts import Contact, contacts
from forensics.notices.facts import Told, told
from forensics.notices.finished import Finished, finished
from forensics.notices.fixed import fixed_texts
from forensics.notices.isolation import Isolation, owners_in
from forensics.notices.key import key_from, key_mark
from forensics.notices.packet import Packets, Rows, sums_of
from forensics.notices.plaintext import of_own
from forensics.notices.pseudonyms import AUDIENCE, pseudonym
from forensics.notices.published import Published, published
from forensics.notices.sentences import Variant
from forensics.notices.templating import Templates, templates
from forensics.notices.wording import Wording, texts_of, wording
from forensics.output import refuse_inputs, whole_folder, write_private
from forensics.sources.files import as_text
from forensics.wording import count


@dataclass(frozen=True)
class Asked:
    """What notices are made with, besides the report."""

    key: Path | None = None
    """File of the key; by default beside the notices."""
    contacts: Path | None = None
    templates: Path | None = None
    audience: str = AUDIENCE
    incident: Path | None = None
    unaffected: tuple[str, ...] = ()
    previous: Path | None = None
    """Folder of the notices of the revision before, whose public summary is out already."""
    force: bool = False


@dataclass(frozen=True)
class Notices:
    """Finished notices: their folder and how many there are."""

    folder: Path
    packets: int
    variants: int
    unnamed: int
    """Rows of the report without a tenant, of which nobody can be told."""
    without_contact: int
    key: Path
    in_id_fields: int = 0
    """Ids so short or common that packets were searched for them in fields of ids alone."""
    uncompared: tuple[int, ...] = ()
    """Earlier revisions whose public summary, if any is out, this one was not held against."""

    def __repr__(self) -> str:
        named = f"{count(self.packets, 'packet')} in {count(self.variants, 'wording')}"
        return f"{self.folder}: {named}"


def write_notices(out: Path, notices: Path, asked: Asked | None = None) -> Notices:
    """Write one packet per tenant and population of a report.

    Args:
        out: folder of the finished report; it is checked first.
        notices: new folder.
        asked: key, contacts, templates and the like.

    Raises:
        VerificationError: the report is not what was written.
        PrivacyError: a packet holds something of another tenant.
        UsageError: key, contacts, templates or incident cannot be used.
        OutputExistsError: the folder exists and is not to be replaced.
    """
    asked = asked or Asked()
    _refuse_places(out, notices, asked)
    report = finished(out)
    _refuse_other_case(report, asked.incident)
    said = wording(asked.templates)
    look = templates(asked.templates, said)
    known = contacts(asked.contacts)
    with whole_folder(notices, "notices", force=asked.force) as folder:
        place = asked.key or notices.with_name(notices.name + ".key")
        key = key_from(place, (out, notices, folder))
        named = partial(pseudonym, key, report.exposure.case.id, asked.audience)
        every = told(report, named, asked.unaffected)
        packets = Packets(report.exposure, report.manifest.sha256, said, look)
        names = {row["account"]: row["pseudonym"] for row in every.facts.iter_rows(named=True)}
        addresses = {tenant: [one.contact for one in of] for tenant, of in known.items()}
        isolation = Isolation(
            owners_in(report),
            names,
            addresses,
            fixed_texts(),
            _own_texts(report, look, said),
            _models(report),
            packets.checker,
        )
        written = _Written(folder)
        written.packets(every, packets, isolation)
        before = published(asked.previous, report.exposure)
        for name, data in _own(report, every, written, known, before).items():
            write_private(folder / name, data)
        os.sync()
        own = {"ids_in_id_fields_alone": isolation.in_id_fields}
        made = _manifest(report, asked, key, written, every)
        seal(folder, made | own | _shown(report, before))
    return Notices(
        notices,
        len(written.made),
        len(written.used),
        len(every.unnamed),
        sum(not known.get(account) for account in every.facts["account"]),
        place,
        isolation.in_id_fields,
        tuple(before.lacks(report.exposure.case.revision)),
    )


@dataclass
class _Written:
    """Packets as they are written into the hidden folder."""

    folder: Path
    made: dict[str, lists.Made] = field(default_factory=dict)
    used: Counter[Variant] = field(default_factory=Counter)

    def packets(self, every: Told, packets: Packets, isolation: Isolation) -> None:
        """Write all packets, each after it was searched; the first hit ends it all."""
        pieces = text_pieces(every.requests, declared.NOTICE_REQUESTS, "notice")
        head = ",".join(declared.NOTICE_REQUESTS.dtypes).encode() + b"\n"
        waiting = next(pieces, None)
        (self.folder / "packets").mkdir(mode=0o700)
        for fact in every.facts.iter_rows(named=True):  # both are sorted by notice
            rows = Rows(head, b"")
            if waiting is not None and waiting[0] == fact["notice"]:
                rows, waiting = Rows(*waiting[1:]), next(pieces, None)
            variant, files = packets.files(fact, rows)
            isolation.check(fact["notice"], fact["account"], files)
            self._write(fact["notice"], variant, files)

    def _write(self, notice: str, variant: Variant, files: dict[str, bytes]) -> None:
        name, sums = sums_of(files)
        where = self.folder / "packets" / notice
        where.mkdir(mode=0o700)
        for file, data in {**files, name: sums}.items():
            _write_unsynced(where / file, data)
        self.made[notice] = lists.Made(variant.id, digest_of_bytes(sums).sha256)
        self.used[variant] += 1


def _write_unsynced(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; all of them are brought to disk at once."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _own(
    report: Finished,
    every: Told,
    written: _Written,
    known: Mapping[str, list[Contact]],
    before: Published,
) -> dict[str, bytes]:
    """Return the files that are the sender's own."""
    exposure = report.exposure
    return {
        lists.RECIPIENTS: lists.recipients(every),
        lists.NOTIFICATIONS: lists.notifications(every, written.made, known, exposure),
        **review.review(written.used),
        ledger.LEDGER: ledger.empty_ledger(exposure.case.id, report.manifest.sha256),
        **public.summary(exposure, before),
    }


def _models(report: Finished) -> str:
    known = {*report.exposure.scope.models, *report.requests["model"].drop_nulls().unique()}
    return "\n".join(sorted(known))


def _own_texts(report: Finished, look: Templates, said: Wording) -> dict[str, str]:
    """Return what the sender wrote and every packet holds, by what it is."""
    case = report.exposure.case
    return {
        "the title of the case": case.title,
        "the id of the case": case.id,
        "a template of your own": of_own(look.own_text),
        "a sentence of your own": "\n".join(texts_of(said)),
    }


def _manifest(
    report: Finished, asked: Asked, key: bytes, written: _Written, every: Told
) -> dict[str, Any]:
    """Return the manifest without its outputs; it names the report by the hash of its manifest."""
    source = {
        "name": f"{as_text(report.folder.name)}/{MANIFEST}",
        "path": as_text(str((report.folder / MANIFEST).resolve())),
        "bytes": report.manifest.bytes,
        "sha256": report.manifest.sha256,
    }
    return {
        "kind": "notices",
        **made_by(),
        "case_id": report.exposure.case.id,
        "revision": report.exposure.case.revision,
        "audience": asked.audience,
        "key_mark": key_mark(key),
        "own_templates": asked.templates is not None,
        "contacts": asked.contacts is not None,
        "packets": len(written.made),
        "variants": len(written.used),
        "rows_without_tenant": len(every.unnamed),
        "inputs": [source],
    }


def _shown(report: Finished, before: Published) -> dict[str, Any]:
    """Return what the public has been shown by now, for the next revision to be held against."""
    return {"published": msgspec.to_builtins(public.now_published(report.exposure, before))}


def _refuse_places(out: Path, notices: Path, asked: Asked) -> None:
    if notices.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"{notices}: notices may not lie in the report, which is sealed")
    given: Iterable[Path | None] = (out, asked.contacts, asked.templates, asked.key, asked.previous)
    refuse_inputs(notices, [path for path in given if path is not None])


def _refuse_other_case(report: Finished, incident: Path | None) -> None:
    stated = load(incident).case.id if incident is not None else report.exposure.case.id
    if stated != report.exposure.case.id:
        raise UsageError(f"{incident}: is of another case than the report")
