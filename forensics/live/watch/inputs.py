"""Which logs there are to be followed, and which files are generations of them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

from forensics.errors import NoInputError
from forensics.live.watch.siblings import bases
from forensics.sources.files import STDIN, Input, expand, inputs_of, with_nodes


class Inputs:
    """The logs that were named, looked for anew again and again.

    Args:
        logs: files, folders, globs or ``-``.
        before: the names of those that an earlier run followed.
        but: files and folders of the watch itself, which may lie among them.
    """

    def __init__(self, logs: Sequence[str], before: Iterable[str], but: Sequence[Path]) -> None:
        self._logs, self._but = logs, {path.resolve() for path in but}
        self._before = [name for name in before if self._is_asked(name)]
        self._found: dict[str, Input] = {}
        self._asked: dict[str, frozenset[Path]] = {}

    def find(self) -> list[Input]:
        """Return the logs there are now, or were; each under the name that it is written under.

        Raises:
            NoInputError: a log that was named does not exist. Once it was there it may be gone
                for a moment, between its being moved aside and made anew.
        """
        try:
            found = [source for source in expand(*self._logs) if self._is_followed(source)]
        except NoInputError:
            if not self._found and not self._before:
                raise
            found = []
        known = {s.name: s for s in [*self._found.values(), *map(_named, self._before)]}
        bases_of = {
            source.name: self._base(source, {*known, *(s.name for s in found)}) for source in found
        }
        for source in found:
            if bases_of[source.name] is None:
                known.setdefault(source.name, source)
        self._asked = _by_base(found, bases_of)
        if not known:
            raise NoInputError("no log that can be followed was named")
        if known.keys() != self._found.keys():
            self._found = {source.name: source for source in with_nodes(list(known.values()))}
        return list(self._found.values())

    def asked(self, name: str) -> frozenset[Path]:
        """Return the files beside a log that were asked for as well, and are called like it."""
        return self._asked.get(name, frozenset())

    def _is_followed(self, source: Input) -> bool:
        if source.archive is not None or source.member is not None or source.stored is not None:
            return False
        if source.path is None:
            return True
        path = source.path.resolve()
        return path not in self._but and self._but.isdisjoint(path.parents)

    def _base(self, source: Input, names: set[str]) -> str | None:
        """Return the log that a file may be a generation of, if that is one of those to follow."""
        if source.path is None or source.name in self._found:
            return None
        beside = (str(source.path.with_name(name)) for name in bases(source.path.name))
        return next((name for name in reversed(list(beside)) if name in names), None)

    def _is_asked(self, name: str) -> bool:
        parents = {str(parent) for parent in Path(name).parents}
        return name != STDIN and any(
            log == name or str(Path(log)) in parents or fnmatch.fnmatch(name, log)
            for log in self._logs
        )


def _named(name: str) -> Input:
    return inputs_of(name, Path(name))[0]


def _by_base(found: list[Input], bases_of: dict[str, str | None]) -> dict[str, frozenset[Path]]:
    made: dict[str, set[Path]] = {}
    for source in found:
        base = bases_of[source.name]
        if base is not None and source.path is not None:
            made.setdefault(base, set()).add(source.path)
    return {name: frozenset(paths) for name, paths in made.items()}
