"""What a profile says: how its records lie, how they are told, and which keys are which columns.

A path is a key, or keys with ``/`` between them (``usage/input_tokens``); a dot is part of a
key. A key that is not named in a profile is never read.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct, field

TimeUnit = Literal["rfc3339", "utc", "epoch", "s", "ms", "us", "ns", "ticks"]
"""How a moment is written.

``rfc3339``
    text with a zone; without one, that of ``[logs] timezone`` or none at all
``utc``
    the same, but a text without a zone is of UTC
``s``, ``ms``, ``us``, ``ns``
    since 1970, whole or with a fraction
``epoch``
    one of these four, by its size
``ticks``
    hundreds of nanoseconds since the year 1
"""

OWN = "profile:"
"""What the name of a format begins with that an incident file describes."""

Layout = Literal["json", "csv"]
Hop = Literal["gateway", "prefill", "decode"]
Plain = str | int | bool
Left = Literal["cached", "aggregate", "deleted", "other"]
LEFT_OUT: dict[Left, str] = {
    "cached": "answered from the gateway's own cache: no engine was asked",
    "aggregate": "usage of many requests: no record of one",
    "deleted": "record that is marked as deleted",
    "other": "record of another kind",
}
"""Why a profile leaves a record out, as the ledger counts it."""
WORDS: dict[str, tuple[str, ...]] = {
    "unit": get_args(TimeUnit),
    "layout": get_args(Layout),
    "hop": get_args(Hop),
    "kind": get_args(Left),
}
"""What may stand under the keys of a profile that have words of their own."""


class Duration(Struct, frozen=True, forbid_unknown_fields=True, rename={"path": "from"}):
    """A length of time, to be added to a moment."""

    path: str
    unit: Literal["s", "ms", "us", "ns"] = "ms"


class Only(Struct, frozen=True, forbid_unknown_fields=True, rename={"path": "from"}):
    """What another key has to hold for a value to be believed."""

    path: str
    values: tuple[str, ...]


class Source(Struct, frozen=True, forbid_unknown_fields=True, rename={"path": "from"}):
    """Where a value stands and how it is written.

    ``values`` puts ours for theirs; theirs that are not in it become ``otherwise``, or no
    value. ``absent`` are texts that stand for none. ``plus`` is added to a moment. ``only``
    says of which records the value is taken.
    """

    path: str | tuple[str, ...]
    unit: TimeUnit | None = None
    values: dict[str, Plain] = {}
    otherwise: str | None = None
    absent: tuple[str, ...] = ()
    plus: Duration | None = None
    only: Only | None = None


class LeftOut(Struct, frozen=True, forbid_unknown_fields=True, rename={"path": "from"}):
    """Records that are no requests: by the values of a key, or all but those; all without one."""

    kind: Left = "other"
    path: str | None = None
    values: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


Stated = str | Source | tuple[str | Source, ...]


class Profile(Struct, frozen=True):
    """One format of flat records.

    ``told_by`` are paths that each record has, ``told_values`` paths and what may stand there.
    ``records`` is the path of the list in a document that holds one. Keys in ``json_text``
    hold JSON as text. ``verified`` says that the columns were held against a real sample:
    records of other profiles never clear a request.
    """

    name: str
    title: str
    columns: dict[str, Stated]
    told_by: tuple[str, ...]
    shows: str = "whatever its columns hold"
    never_shows: str = "anything no column was named for"
    versions: str = ""
    verified: bool = False
    layout: tuple[Layout, ...] = ("json",)
    records: str | None = None
    json_text: tuple[str, ...] = ()
    hop: Hop = "gateway"
    told_values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    leave_out: tuple[LeftOut, ...] = ()

    def sources(self, column: str) -> tuple[Source, ...]:
        """Return where a column may stand, the first that has a value first."""
        stated = self.columns[column]
        each = stated if isinstance(stated, tuple) else (stated,)
        return tuple(item if isinstance(item, Source) else Source(item) for item in each)


def parts(path: str) -> tuple[str, ...]:
    """Return the keys of a path; ``~1`` stands for a slash that is part of a key."""
    return tuple(key.replace("~1", "/") for key in path.split("/"))


def paths(source: Source) -> tuple[str, ...]:
    """Return the paths of a source, the first that has a value first."""
    return source.path if isinstance(source.path, tuple) else (source.path,)


def named(profile: Profile) -> list[str]:
    """Return every path whose value is read, sorted."""
    found = {item.path for item in profile.leave_out if item.path is not None}
    for column in profile.columns:
        for source in profile.sources(column):
            found |= set(paths(source))
            others = (source.plus, source.only)
            found |= {other.path for other in others if other is not None}
    return sorted(found)
