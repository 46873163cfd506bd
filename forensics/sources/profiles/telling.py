"""Whether the beginning of a file is in the format of a profile."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from forensics.incident import Incident
from forensics.schema import REQUEST_COLUMNS
from forensics.sources import plain
from forensics.sources.profiles.entries import behind_noise
from forensics.sources.profiles.shape import Profile, named, parts

_RECORDS = 20
_FAULTS = (ValueError, RecursionError)
_LIST = re.compile(rb"\s*\[\s*\{")
_OF_REQUESTS = {column.name for column in REQUEST_COLUMNS}
_DECODER = json.JSONDecoder()


def sniff(profile: Profile, head: bytes) -> str | None:
    """Say why a file is told to be in the format of a profile; None where it is not."""
    if not head.lstrip().startswith((b"{", b"[")) and "csv" in profile.layout:
        reason = _of_csv(profile, head)
        if reason is not None:
            return reason
    text = behind_noise(head)
    return _of_json(profile, text) if "json" in profile.layout and _is_json(text) else None


def _is_json(text: bytes) -> bool:
    return text.startswith(b"{") or _LIST.match(text) is not None


def is_plain(profile: Profile, head: bytes, incident: Incident) -> bool:
    """Say whether a file is rather one of plain records, which happens to have the keys.

    It is where it has columns of requests that the profile does not read: some that tell plain
    records by themselves, or one that the incident's ``[columns]`` names. One field that its
    operator called as we do, a count of tokens or an id, leaves a server's log what it is.
    """
    known = plain.names(incident)
    if _is_json(behind_noise(head)):
        seen = plain.known_columns(head, incident)
    else:
        seen = {known[name] for name in _header(head) if name in known}
    mapped = {known[name] for name in plain_names(profile, incident) & incident.columns.keys()}
    beside = (seen & _OF_REQUESTS) - _own_keys(profile)
    return plain.told_by(seen) and (plain.told_by(beside) or not seen.isdisjoint(mapped))


def plain_names(profile: Profile, incident: Incident) -> frozenset[str]:
    """Return keys with which a record of a profile is rather a plain one."""
    own = _own_keys(profile)
    return frozenset(
        name
        for name, ours in plain.names(incident).items()
        if ours not in own and (ours in plain.TELLING or name in incident.columns)
    )


def _own_keys(profile: Profile) -> set[str]:
    return {parts(path)[0] for path in named(profile)}


def record_keys(profile: Profile) -> tuple[frozenset[str], ...]:
    """Return sets of keys, one of which is at the top of each record in JSON."""
    if "json" not in profile.layout:
        return ()
    told = frozenset(parts(path)[0] for path in profile.told_by)
    within = profile.records
    return (told,) if within is None else (told, frozenset({parts(within)[0]}))


def headings(profile: Profile) -> tuple[str, ...]:
    """Return the name of a column that is in the header of each table of a profile."""
    told = sorted(parts(path)[0] for path in profile.told_by)
    return (max(told, key=len),) if "csv" in profile.layout else ()


def told_by(profile: Profile) -> dict[str, tuple[str, ...]] | None:
    """Return the keys that alone tell a record, with the values of each: any where empty.

    None where more is asked of a record than keys at its top.
    """
    if profile.records is not None or any(len(parts(path)) > 1 for path in profile.told_by):
        return None
    values = {path: tuple(told) for path, told in profile.told_values.items()}
    plain_ones = all(isinstance(one, str) for told in values.values() for one in told)
    if not plain_ones or any(len(parts(path)) > 1 for path in values):
        return None
    return {parts(path)[0]: () for path in profile.told_by} | {
        parts(path)[0]: told for path, told in values.items()
    }


def _header(head: bytes) -> list[str]:
    line = head.split(b"\n", 1)[0].strip().decode("utf-8", "replace")
    try:
        return [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def is_table(profile: Profile, head: bytes) -> bool:
    """Say whether a file begins with a header of CSV that has the keys of a profile."""
    return {parts(path)[0] for path in profile.told_by} <= {*_header(head)}


def _of_csv(profile: Profile, head: bytes) -> str | None:
    return "CSV header with the keys of a profile" if is_table(profile, head) else None


def _of_json(profile: Profile, head: bytes) -> str | None:
    # Most files are none of most profiles: that their keys do not occur is quickly seen.
    if not all(f'"{parts(path)[-1]}"'.encode() in head for path in profile.told_by):
        return None
    seen = list(islice(_objects(profile, head.decode("utf-8", "replace")), _RECORDS))
    told = sum(_is_told(profile, record) for record in seen)
    return "JSON records with the keys of a profile" if told and 2 * told >= len(seen) else None


def _objects(profile: Profile, text: str) -> Iterator[Any]:
    """Yield the first records, one after the other, in a list or in a document's list."""
    at = 0
    while (at := text.find("{", at)) >= 0:
        try:
            record, at = _DECODER.raw_decode(text, at)
        except _FAULTS:
            # Cut off, or no JSON: the next line may be some.
            at = text.find("\n", at)
            if at < 0:
                return
            continue
        within = None if profile.records is None else _at(record, profile.records)
        if isinstance(within, list):
            yield from within
        else:
            yield record


def _is_told(profile: Profile, record: Any) -> bool:
    return all(_has(record, path) for path in profile.told_by) and all(
        _at(record, path) in values for path, values in profile.told_values.items()
    )


def _has(record: Any, path: str) -> bool:
    *above, last = parts(path)
    for key in above:
        record = record.get(key) if isinstance(record, dict) else None
    return isinstance(record, dict) and last in record


def _at(record: Any, path: str) -> Any:
    for key in parts(path):
        record = record.get(key) if isinstance(record, dict) else None
    return record
