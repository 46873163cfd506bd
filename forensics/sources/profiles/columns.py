"""Values under a profile's paths to columns of the schema, raw as any reader's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from forensics import schema
from forensics.sources import models
from forensics.sources.profiles import moments
from forensics.sources.profiles.shape import Only, Profile, Source, paths
from forensics.sources.values import first_value

Found = Mapping[str, pl.Series]
"""The values under each path that occurs, as text."""
_KINDS = {column.name: column.kind for column in schema.REQUEST_COLUMNS}
_SHOWN = "%Y-%m-%dT%H:%M:%S%.6fZ"


def columns(
    profile: Profile, found: Found, bad: Counter[str], scope: Sequence[str] = ()
) -> dict[str, pl.Series]:
    """Return the schema's columns that some record has a value for.

    Args:
        profile: names the paths.
        found: the values under them.
        bad: where values that fit no column are counted.
        scope: models of the incident.
    """
    made = {}
    for column in profile.columns:
        each = [
            value
            for source in profile.sources(column)
            if (value := _value(profile, source, column, found)) is not None
        ]
        if each:
            values = [value for value, _ in each]
            first = models.named(values, scope) if column == "model" else _first(values)
            made[column] = first.alias(column)
            if _KINDS[column] in ("time", "measure"):
                _count_lost(made[column], [text for _, text in each], bad)
    return made


def _value(
    profile: Profile, source: Source, column: str, found: Found
) -> tuple[pl.Series, pl.Series] | None:
    """Return what a source says, and its texts; None where no record has any."""
    texts = [found[path] for path in paths(source) if path in found]
    if not texts:
        return None
    text = texts[0] if len(texts) == 1 else first_value(texts)
    text = present(text, (*profile.absent, *source.absent))
    if source.only is not None:
        text = _believed(text, source.only, found)
    if source.values:
        text = _mapped(text, source)
    kind = _KINDS[column]
    if kind == "measure":
        return moments.milliseconds(text, source.unit), text
    if kind != "time":
        return text, text
    moment = moments.moments(text, source.unit or "rfc3339")
    if source.plus is None:
        return moment, text
    by = found.get(source.plus.path)
    if by is None:
        return None
    by = present(by, profile.absent)
    return moments.later(moment, by, source.plus.unit), _both(text, by)


def present(text: pl.Series, absent: tuple[str, ...]) -> pl.Series:
    """Return texts without those that stand for no value."""
    there = pl.col("x").is_not_null() & ~pl.col("x").is_in(["", *absent])
    return text.to_frame("x").select(pl.when(there).then("x").alias(text.name)).to_series()


def _believed(text: pl.Series, only: Only, found: Found) -> pl.Series:
    """Return the texts of the records whose other key holds what it has to."""
    nothing = pl.repeat(None, len(text), dtype=pl.String, eager=True)
    if only.path not in found:
        return nothing.alias(text.name)
    held = found[only.path].is_in(only.values).fill_null(value=False)
    return text.zip_with(held, nothing)


def _mapped(text: pl.Series, source: Source) -> pl.Series:
    ours = {theirs: _text(value) for theirs, value in source.values.items()}
    known = pl.col("x").replace_strict(
        list(ours), list(ours.values()), default=source.otherwise, return_dtype=pl.String
    )
    return text.to_frame("x").select(pl.when(pl.col("x").is_not_null()).then(known)).to_series()


def _text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _both(text: pl.Series, other: pl.Series) -> pl.Series:
    return text.zip_with(other.is_not_null(), pl.Series([None], dtype=pl.String))


def _first(each: list[pl.Series]) -> pl.Series:
    """Return the first value of each row."""
    if len(each) == 1:
        return each[0]
    if len({value.dtype for value in each}) == 1 and each[0].dtype != pl.String:
        frame = pl.DataFrame([value.alias(f"{at}") for at, value in enumerate(each)])
        return frame.select(pl.coalesce(pl.all())).to_series()
    return first_value([_shown(value) for value in each])


def _shown(value: pl.Series) -> pl.Series:
    return value.dt.strftime(_SHOWN) if isinstance(value.dtype, pl.Datetime) else value


def _count_lost(made: pl.Series, texts: list[pl.Series], bad: Counter[str]) -> None:
    """Count the rows whose texts none of which are a moment or a length of time."""
    there = pl.DataFrame([text.is_not_null().alias(f"{at}") for at, text in enumerate(texts)])
    lost = made.is_null() & there.select(pl.any_horizontal(pl.all())).to_series()
    if lost.any():
        bad[made.name] += int(lost.sum())
