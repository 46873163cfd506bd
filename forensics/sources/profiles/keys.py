"""The paths that a profile reads, and which of them lead into JSON that is held as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import polars as pl

from forensics.errors import IncidentError
from forensics.schema import REQUEST_COLUMNS, Kind
from forensics.sources.innerjson import decoded
from forensics.sources.jsonlines import JsonColumns, Path
from forensics.sources.profiles.shape import Profile, Source, named, parts, paths
from forensics.sources.values import flattened

_KINDS = {column.name: column.kind for column in REQUEST_COLUMNS}
_FLAGS = {"true", "false"}
INNER = "JSON held as text"
"""Under which texts are counted that were to be JSON and are none."""


class Keys:
    """The paths of a profile in records of one layout.

    Args:
        profile: names the paths.
        texts: keys whose text is JSON.

    Raises:
        IncidentError: one path runs through the value of another.
    """

    def __init__(self, profile: Profile, texts: Collection[str]) -> None:
        whole = {path: parts(path) for path in named(profile)}
        for key in texts:
            if (key,) in whole.values():
                raise IncidentError(f"{key!r} is read as a value, and as JSON that is text")
        kinds = _kinds(profile) | dict.fromkeys(texts, "name")
        self.outer: dict[str, Path] = {p: keys for p, keys in whole.items() if keys[0] not in texts}
        self.outer |= {key: (key,) for key in texts}
        self.columns = JsonColumns(self.outer, kinds)
        self._within = {
            key: JsonColumns({p: k[1:] for p, k in whole.items() if k[0] == key}, kinds)
            for key in sorted(texts)
        }

    def laid_flat(
        self, columns: Mapping[str, pl.Series], bad: Counter[str]
    ) -> dict[str, pl.Series]:
        """Return the values under each path as text, those within JSON that is text included."""
        flat = {path: _text(s) for path, s in columns.items() if path not in self._within}
        for key, within in self._within.items():
            if key in columns:
                inner = decoded(_one_line(_text(columns[key])), within, INNER, bad)
                flat |= {path: _text(series) for path, series in inner.items()}
        return flat


def of_json(profile: Profile, head: bytes) -> Keys:
    """Return the paths in records of JSON; what a text may hold is an object in some files."""
    return Keys(profile, [key for key in profile.json_text if _is_text(key, head)])


def _is_text(key: str, head: bytes) -> bool:
    found = re.search(rb'"' + re.escape(key.encode()) + rb'"\s*:\s*(["{])', head)
    return found is None or found[1] == b'"'


def of_csv(profile: Profile) -> Keys:
    """Return the paths in rows of CSV: what leads on from a cell leads into JSON."""
    return Keys(profile, {keys[0] for path in named(profile) if len(keys := parts(path)) > 1})


def _kinds(profile: Profile) -> dict[str, Kind]:
    """Return how each value is expected; any other kind is read as well, but takes longer."""
    kinds: dict[str, Kind] = dict.fromkeys(named(profile), "name")
    kinds.update(_expected(profile))
    return kinds


def _expected(profile: Profile) -> Iterator[tuple[str, Kind]]:
    for item in profile.leave_out:
        if item.path is not None and _FLAGS.issuperset((*item.values, *item.but)):
            yield item.path, "flag"
    for column in profile.columns:
        for source in profile.sources(column):
            kind = _kind(source, column)
            yield from ((path, kind) for path in paths(source))
            if source.plus is not None:
                yield source.plus.path, "measure"


def _kind(source: Source, column: str) -> Kind:
    if source.unit == "s" or _KINDS[column] == "measure":
        return "measure"
    flags = _FLAGS.issuperset(source.values) if source.values else _KINDS[column] == "flag"
    return "flag" if flags else "name"


def _text(series: pl.Series) -> pl.Series:
    return flattened(series).cast(pl.String)


def _one_line(texts: pl.Series) -> pl.Series:
    """Return JSON without line ends; an empty text holds nothing."""
    flat = pl.col("x").str.replace_all(r"[\r\n]", " ")
    there = pl.when(pl.col("x").str.len_bytes() > 0).then(flat)
    return texts.to_frame("x").select(there.alias(texts.name)).to_series()
