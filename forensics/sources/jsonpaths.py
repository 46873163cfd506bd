"""Named paths of JSON as a tree of keys, and the structs that can hold only those."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from forensics.errors import IncidentError
from forensics.schema import Kind

Path = tuple[str, ...]


ABSENT = "\0absent"
"""Stands for a value whose key is not there, in columns where a null means something else."""
TOLD_APART = frozenset({"slot_owner"})
"""Columns of which null is a value: a slot that is logged as nobody's."""
NEVER = Annotated[int, Meta(ge=1, le=0)]
"""No value at all, not even null: a key tells by being there."""


@dataclass(frozen=True)
class Leaf:
    """Where a path ends: how the value is read, and the column that it goes to."""

    kind: Kind
    column: str

    @property
    def absent(self) -> str | None:
        """What stands for the value of a record that has no such key."""
        return ABSENT if self.column in TOLD_APART else None


def _absent(node: Tree | Leaf) -> str | None:
    return node.absent if isinstance(node, Leaf) else None


Tree = dict[str, "Tree | Leaf"]

_Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_EXPECTED: dict[Kind, Any] = {
    "id": str | int | None,
    "name": str | int | None,
    "model": str | int | None,
    "code": str | None,
    "count": _Whole | None,
    "measure": float | None,
    "time": str | int | None,
    "flag": bool | None,
    "config": msgspec.Raw,
}


def tree(paths: Mapping[str, Path], kinds: Mapping[str, Kind]) -> Tree:
    """Return the paths of some columns as a tree.

    Raises:
        IncidentError: two paths lead to one value, or one runs through another's.
    """
    root: Tree = {}
    for column, path in paths.items():
        node = root
        for key in path[:-1]:
            inner = node.setdefault(key, {})
            if isinstance(inner, Leaf):
                raise IncidentError(f"{'.'.join(path)}: {key!r} is read as a value already")
            node = inner
        if path[-1] in node:
            raise IncidentError(f"{'.'.join(path)} is read as something else already")
        node[path[-1]] = Leaf(kinds[column], column)
    return root


@dataclass(frozen=True)
class Asked:
    """What else is asked of the keys of a record: each with the type that its value must have.

    ``needed`` must be there, of ``types`` or of the type that their column has; the others of
    ``types`` may be left out.
    """

    types: Mapping[str, Any] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()


def struct(
    node: Tree, of: Callable[[str, Tree | Leaf], Any], asked: Asked | None = None
) -> type[Struct]:
    """Return a struct with a field ``f0``, ``f1``, … for each key, of the type that ``of`` says.

    Keys may be any text, so they cannot be the names of the fields.
    """
    types = {key: of(key, inner) for key, inner in node.items()}
    apart = frozenset(key for key, inner in node.items() if _absent(inner) is not None)
    asked = asked or Asked()
    types |= asked.types
    return _row(tuple(types), tuple(types.values()), asked.needed, apart)


@lru_cache(maxsize=512)
def _row(
    keys: tuple[str, ...], types: tuple[Any, ...], needed: frozenset[str], apart: frozenset[str]
) -> type[Struct]:
    # Kept: to make one costs more than to read a thousand lines, and each file asks for it.
    fields: list[Any] = [
        (f"f{at}", expected)
        if key in needed
        else (f"f{at}", expected, ABSENT if key in apart else None)
        for at, (key, expected) in enumerate(zip(keys, types, strict=True))
    ]
    rename = {f"f{at}": key for at, key in enumerate(keys)}
    return msgspec.defstruct("Row", fields, rename=rename, gc=False, kw_only=True)


def expecting(
    node: Tree,
    keys: Collection[Path] | None = None,
    at: Path = (),
    asked: Asked | None = None,
) -> type[Struct]:
    """Return a struct that takes values of the expected types alone.

    Args:
        node: the keys of one level.
        keys: paths that may have a value; any other may be null alone. All where None.
        at: the path that leads to the level.
        asked: what else is asked of the keys of this level.
    """

    def of(key: str, inner: Tree | Leaf) -> Any:
        path = (*at, key)
        if keys is not None and path not in keys:
            return None if _absent(inner) is None else NEVER
        return (
            _EXPECTED[inner.kind]
            if isinstance(inner, Leaf)
            else expecting(inner, keys, path) | None
        )

    return struct(node, of, asked)


def met(node: Tree, rows: Sequence[Struct], at: Path = ()) -> Iterator[Path]:
    """Yield the paths under which some row holds a value."""
    for position, (key, inner) in enumerate(node.items()):
        nothing = _absent(inner)
        values = [v for v in map(attrgetter(f"f{position}"), rows) if v != nothing]
        if values:
            yield (*at, key)
            if not isinstance(inner, Leaf):
                yield from met(inner, values, (*at, key))
