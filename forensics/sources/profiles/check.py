"""What cannot be right in a profile, named by its key."""

from __future__ import annotations

import difflib
import re
from typing import get_args

from forensics import schema
from forensics.errors import IncidentError
from forensics.schema import Column
from forensics.sources.profiles import keys
from forensics.sources.profiles.shape import LeftOut, Profile, Source, TimeUnit, named, parts, paths

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_COLUMNS = schema.by_name(schema.REQUEST_COLUMNS)
CLIENT_SIDE = (
    *("request_id", "tenant_id", "model", "received_at", "finished_at", "prompt_tokens"),
    *("http_status", "stream_error", "finish_reason", "completion_tokens"),
    *("rejected", "rejection_code"),
)
"""What a gateway says of a request. All else could show that a hand-off was complete."""
_UNITS = {"time": get_args(TimeUnit), "measure": ("s", "ms", "us", "ns")}


def check(profile: Profile) -> Profile:
    """Return the profile where it can be read by.

    Raises:
        IncidentError: a key or value cannot be right; the message names it.
    """
    if not _NAME.fullmatch(profile.name):
        raise IncidentError(
            f"profile {profile.name[:40]!r}: name is a few small letters, digits and dashes"
        )
    where = f"profile {profile.name}: "
    if not profile.told_by:
        raise IncidentError(f"{where}told_by names no key")
    for column in profile.columns:
        _check_column(profile, column, f"{where}columns.{column}")
    for item in profile.leave_out:
        _check_left_out(profile, item, f"{where}leave_out")
    for path in (*named(profile), *profile.told_by, *profile.told_values):
        if not all(parts(path)):
            raise IncidentError(f"{where}path {path!r} has an empty key")
    try:
        keys.of_json(profile, b"")
        keys.of_csv(profile)
    except IncidentError as error:
        raise IncidentError(f"{where}{error}") from None
    return profile


def _check_left_out(profile: Profile, item: LeftOut, where: str) -> None:
    if item.kind == "cached" and not profile.verified:
        raise IncidentError(f"{where}: cached would clear a request: it needs verified = true")
    if item.path is not None and bool(item.values) == bool(item.but):
        raise IncidentError(f"{where}: {item.path!r} needs values or but, one of them")


def _check_column(profile: Profile, column: str, where: str) -> None:
    known = _COLUMNS.get(column)
    if known is None:
        near = difflib.get_close_matches(column, _COLUMNS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise IncidentError(f"{where} is no column of a request{hint}")
    if not profile.verified and column not in CLIENT_SIDE:
        raise IncidentError(f"{where} could clear a request: it needs verified = true")
    for source in profile.sources(column):
        _check_source(source, known, where)


def _check_source(source: Source, column: Column, where: str) -> None:
    if not paths(source):
        raise IncidentError(f"{where}.from names no key")
    units = _UNITS.get(column.kind, ())
    if source.unit is not None and source.unit not in units:
        raise IncidentError(f"{where}.unit: {source.unit!r} is no unit of {column.name}")
    if source.plus is not None and column.kind != "time":
        raise IncidentError(f"{where}.plus: {column.name} is no moment")
    if source.only is not None and not source.only.values:
        raise IncidentError(f"{where}.only: {source.only.path!r} needs values")
    if column.kind == "code":
        ours = {*map(str, source.values.values()), source.otherwise} - {None}
        foreign = sorted(str(value) for value in ours if value not in column.codes)
        if foreign:
            raise IncidentError(f"{where}: {foreign[0]!r} is none of {', '.join(column.codes)}")
