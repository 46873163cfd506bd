"""The packets of finished notices, searched again for what is another tenant's.

Hashes only show that the packets are what was written. Here each is read as its customer
reads it, against the ids of every other packet, and against those of the report where it
still lies.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from forensics.errors import ForensicsError, PrivacyError
from forensics.evidence.faults import Fault, Recheck
from forensics.evidence.folder import Sealed
from forensics.notices.finished import finished
from forensics.notices.fixed import fixed_texts
from forensics.notices.isolation import Isolation, owners_in
from forensics.notices.lists import NOTIFICATIONS
from forensics.notices.packet import CHECKER

_PACKETS = "packets"
_NEEDED = frozenset({"facts.json", "requests.jsonl"})


def recheck(sealed: Sealed) -> Recheck:
    """Search every packet of a folder of notices again."""
    found = {notice: _files(sealed, notice) for notice in _names(sealed)}
    damaged = [
        Fault(f"{_PACKETS}/{notice}", "facts or requests are missing or cannot be read")
        for notice, files in found.items()
        if _facts(files) is None
    ]
    whole = {notice: files for notice, files in found.items() if _facts(files) is not None}
    listed, unchecked = _listed(sealed)
    owners, addresses = _owners(whole, listed), _addresses(sealed, _accounts(whole))
    isolation = Isolation(owners, _pseudonyms(whole), addresses, fixed_texts())
    faults = [fault for one in whole.items() for fault in _searched(isolation, *one)]
    return Recheck([*damaged, *_count(sealed, found), *faults], len(found), unchecked)


def _names(sealed: Sealed) -> list[str]:
    places = (Path(name).parts for name in sealed.files)
    return sorted({parts[1] for parts in places if len(parts) == 3 and parts[0] == _PACKETS})


def _files(sealed: Sealed, notice: str) -> dict[str, bytes]:
    folder = sealed.path / _PACKETS / notice
    known = [name for name in sealed.files if Path(name).parent.parts == (_PACKETS, notice)]
    # A file that is a link has no digest; it is named as a fault already.
    readable = (Path(name).name for name in known if sealed.files[name] is not None)
    return {name: (folder / name).read_bytes() for name in readable if name != CHECKER}


def _facts(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    if not files.keys() >= _NEEDED:
        return None
    try:
        facts: dict[str, Any] = msgspec.json.decode(files["facts.json"], type=dict[str, Any])
        _requests(files)
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError):
        return None
    return facts if isinstance(facts.get("account"), str) else None


def _requests(files: Mapping[str, bytes]) -> list[str]:
    rows = (msgspec.json.decode(line) for line in files["requests.jsonl"].splitlines())
    return [row["request_id"] for row in rows if row["request_id"] is not None]


def _accounts(whole: Mapping[str, Mapping[str, bytes]]) -> dict[str, str]:
    facts = {notice: _facts(files) or {} for notice, files in whole.items()}
    return {notice: known["account"] for notice, known in facts.items()}


def _pseudonyms(whole: Mapping[str, Mapping[str, bytes]]) -> dict[str, str]:
    return {
        account: notice.rsplit("-", 1)[0] for notice, account in sorted(_accounts(whole).items())
    }


def _owners(
    whole: Mapping[str, Mapping[str, bytes]], listed: Mapping[str, frozenset[str | None]]
) -> dict[str, frozenset[str | None]]:
    """Return who owns which id: as the report says, and of others whose packets list it."""
    found: dict[str, set[str | None]] = {}
    for notice, account in _accounts(whole).items():
        for request in _requests(whole[notice]):
            if request not in listed:
                found.setdefault(request, set()).add(account)
    return {name: frozenset(tenants) for name, tenants in found.items()} | dict(listed)


def _listed(sealed: Sealed) -> tuple[dict[str, frozenset[str | None]], list[Fault]]:
    """Return the owners that the report knows, where it lies as it was."""
    source = next(iter(sealed.record.inputs), None) if sealed.record is not None else None
    gone = "cannot be read as it was: packets are held against each other alone"
    if source is None or source.path is None:
        return {}, [Fault("the report", gone)]
    try:
        report = finished(Path(source.path).parent)
    except ForensicsError:
        return {}, [Fault(source.name, gone)]
    if report.manifest.sha256 != source.sha256:
        return {}, [Fault(source.name, gone)]
    return owners_in(report), []


def _addresses(sealed: Sealed, accounts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return each tenant's contacts, of the list of what to send; no other packet may hold them."""
    if sealed.files.get(NOTIFICATIONS) is None:
        return {}
    text = (sealed.path / NOTIFICATIONS).read_text(encoding="utf-8", errors="replace")
    found: dict[str, list[str]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row.get("contact"):
            account = accounts.get(row.get("notice") or "", "")
            found.setdefault(account, []).append(row["contact"].removeprefix("'"))
    return found


def _searched(isolation: Isolation, notice: str, files: Mapping[str, bytes]) -> Iterator[Fault]:
    account = (_facts(files) or {})["account"]
    for name in sorted(files, key=lambda name: (name != "facts.json", name)):
        try:
            isolation.check(notice, account, {name: files[name], "facts.json": files["facts.json"]})
        except PrivacyError:
            what = "holds an identifier that is not this tenant's"
            yield Fault(f"{_PACKETS}/{notice}/{name}", what)
            return
        except (LookupError, ValueError, TypeError):
            yield Fault(f"{_PACKETS}/{notice}/{name}", "is not in the form in which it was written")
            return


def _count(sealed: Sealed, found: Mapping[str, object]) -> Iterator[Fault]:
    stated = sealed.record.packets if sealed.record is not None else None
    if stated is not None and stated != len(found):
        yield Fault(_PACKETS, "packets", len(found), stated)
