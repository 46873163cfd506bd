"""Reads the records of a profile: its named paths and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import polars as pl

from forensics.errors import IncidentError
from forensics.sources import records
from forensics.sources.batches import batches
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.csvcolumns import read_rows
from forensics.sources.parsed import Parsed
from forensics.sources.plain import with_node
from forensics.sources.profiles import columns, entries, keys, telling, unfilled
from forensics.sources.profiles.shape import LEFT_OUT, LeftOut, Profile, Stated
from forensics.sources.records import Raw

_TENANT = "tenant_id"


def read(profile: Profile, opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield the records of a file in batches."""
    asked = with_tenant(profile, context.incident.logs.tenant_from)
    reader = _json if is_json(asked, opened.head()) else _csv
    return unfilled.noted(profile, reader(asked, opened, context))


def is_json(profile: Profile, head: bytes) -> bool:
    """Say by a file's beginning whether its records are JSON; else they are rows of CSV."""
    if "csv" not in profile.layout:
        return True
    if telling.is_table(profile, head):
        return False
    begin = entries.behind_noise(head)[:1]
    return "json" in profile.layout and begin in (b"{", b"[")


def _json(profile: Profile, opened: Source, context: Context) -> Iterator[Parsed]:
    wanted = keys.of_json(profile, entries.behind_noise(opened.head()))
    for found in batches(entries.blocks(opened, profile.records), wanted.columns):
        parsed = Parsed(read=found.read, unread=found.unread)
        if found.blank:
            parsed.notes["blank line"] += found.blank
        for batch in found.batches:
            flat = wanted.laid_flat(batch.columns, parsed.bad_values)
            _add(profile, flat, (batch.lines, batch.offsets), context, parsed)
        yield parsed


def _csv(profile: Profile, opened: Source, context: Context) -> Iterator[Parsed]:
    wanted = keys.of_csv(profile)
    names = {cell: name for name, (cell,) in wanted.outer.items()}
    for found in read_rows(opened, names, context):
        if len(found.lines):
            flat = wanted.laid_flat(found.columns, found.parsed.bad_values)
            _add(profile, flat, (found.lines, None), context, found.parsed)
        yield found.parsed


def _add(
    profile: Profile,
    flat: Mapping[str, pl.Series],
    at: tuple[pl.Series, pl.Series | None],
    context: Context,
    parsed: Parsed,
) -> None:
    """Type the records and add them; those that are no requests are counted apart."""
    lines, offsets = at
    stays = _left_out(profile, flat, len(lines), parsed)
    flat = {path: series.filter(stays) for path, series in flat.items()}
    lines, offsets = lines.filter(stays), None if offsets is None else offsets.filter(stays)
    if not len(lines):
        return
    raw = columns.columns(profile, flat, parsed.bad_values, context.incident.scope.models)
    raw["hop"] = _hop(profile.hop, raw, len(lines))
    before = len(parsed.observations)
    # Not ``apart``: what alternatives and maps left behind must not be held by the rows.
    found = with_node(Raw(raw, lines, offsets, context.stated_node))
    records.add(found, context, parsed)
    if not profile.verified:
        parsed.observations[before:] = [
            rows.with_columns(unverified=pl.lit(value=True))
            for rows in parsed.observations[before:]
        ]


def _hop(hop: str, raw: Mapping[str, pl.Series], height: int) -> pl.Series:
    """Return the side of each record; of one without any value there is none, nor a node."""
    there = [series.is_not_null().alias(name) for name, series in raw.items()]
    if not there:
        return pl.repeat(None, height, dtype=pl.String, eager=True)
    any_ = pl.any_horizontal(pl.all())
    return pl.DataFrame(there).select(pl.when(any_).then(pl.lit(hop)).alias("hop")).to_series()


def _left_out(
    profile: Profile, flat: Mapping[str, pl.Series], height: int, parsed: Parsed
) -> pl.Series:
    """Count the records that are left out, each under the first kind that holds; say which stay."""
    stays = pl.repeat(True, height, dtype=pl.Boolean, eager=True)
    for item in profile.leave_out:
        gone = _is(item, flat, height) & stays
        if gone.any():
            parsed.ignored[LEFT_OUT[item.kind]] += int(gone.sum())
            stays &= ~gone
    return stays


def _is(item: LeftOut, flat: Mapping[str, pl.Series], height: int) -> pl.Series:
    if item.path is None or item.path not in flat:
        return pl.repeat(item.path is None, height, dtype=pl.Boolean, eager=True)
    text = flat[item.path]
    found = text.is_in(item.values) if item.values else ~text.is_in(item.but)
    return found.fill_null(value=False)


def with_tenant(profile: Profile, stated: tuple[str, ...]) -> Profile:
    """Return the profile with the tenant from the stated paths first, where they can be read."""
    own = profile.columns.get(_TENANT, ())
    rest: tuple[Stated, ...] = own if isinstance(own, tuple) else (own,)
    for path in reversed([item.replace("/", "~1").replace(".", "/") for item in stated]):
        more = msgspec.structs.replace(profile, columns={**profile.columns, _TENANT: (path, *rest)})
        try:
            keys.of_json(more, b"")
        except IncidentError:
            continue  # it runs through a value of another column, which is none of its kind
        profile, rest = more, (path, *rest)
    return profile
