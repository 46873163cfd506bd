"""From what the user named to the list of files that will be read."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from forensics.errors import NoInputError
from forensics.objects import ObjectPath, place, walk
from forensics.shown import shown
from forensics.sources import evidence_set, nodes, setnodes
from forensics.sources.archives.listing import Contents, Member, contents
from forensics.sources.copies import copies
from forensics.sources.evidence_set import Stored
from forensics.sources.settings import Settings

STDIN = "-"


@dataclass(frozen=True)
class Input:
    """One input: its number in this run, its path (None for stdin) and its shown name.

    ``label`` is as much of the end of its path as tells it from the other inputs, ``node``
    the engine that its path names among theirs.
    ``stored`` is set where an evidence set holds it; ``path`` is then that of the set.
    ``member`` is set where an archive holds it; ``path`` is then that of the archive, which is
    an input too: of it ``archive`` says what it holds, and nothing but its hash is read.
    """

    number: int
    path: Path | None
    name: str
    label: str = ""
    node: str = ""
    stored: Stored | None = None
    member: Member | None = None
    archive: Contents | None = None

    @property
    def size(self) -> int:
        """Size in bytes; 0 where it cannot be known beforehand."""
        if self.stored is not None:
            return self.stored.stored_bytes
        if self.member is not None:
            return self.member.size
        try:
            return self.path.stat().st_size if self.path is not None else 0
        except OSError:
            return 0


def expand(
    *logs: str | os.PathLike[str],
    leave_out: Path | Sequence[Path] | None = None,
    but: Path | None = None,
) -> list[Input]:
    """Return the files behind paths, folders, globs and ``-``, each once, in name order.

    An evidence set stands for the logs that it was made from, under their names. An archive
    stands for itself and for its members, whose names go on behind its own.

    Args:
        logs: what the user named.
        leave_out: the incident file and what it names, which may lie beside the logs and are none.
        but: an evidence set that is being written, which may lie there as well.

    Raises:
        NoInputError: a path does not exist, a glob or folder holds no file, or
            nothing was given.
    """
    if not logs:
        raise NoInputError("no log was named")
    own = [leave_out] if isinstance(leave_out, Path) else leave_out or ()
    omitted = {path.resolve() for path in own}
    found: dict[str, Path | None] = {}
    sets: dict[str, Path] = {}
    for log in logs:
        text = os.fspath(log)
        for path in [None] if text == STDIN else _named(text):
            if path is not None and path.is_dir():
                if but is None or path.resolve() != but.resolve():
                    sets.setdefault(_real(path), path)
            elif path is None or path.resolve() not in omitted:
                found.setdefault(STDIN if path is None else str(path), path)
    if not found and not sets:
        raise NoInputError("no log was named")
    once: dict[str, tuple[str, Path | None]] = {}
    for name, path in sorted(found.items(), key=lambda item: item[0]):
        once.setdefault(STDIN if path is None else _real(path), (name, path))
    raw = [source for name, path in once.values() for source in inputs_of(name, path)]
    return relabelled(sorted([*raw, *_held(sets)], key=_order))


def _real(path: Path) -> str:
    """Return what tells a file or folder from others, whatever links lead there."""
    return str(path) if isinstance(path, ObjectPath) else os.path.realpath(path)


def are_sets(logs: Iterable[str | os.PathLike[str]]) -> bool:
    """Say whether all that the user named are evidence sets.

    Raises:
        NoInputError: one cannot be read.
    """
    return all(_named_set(os.fspath(log)) for log in logs)


def _named_set(text: str) -> bool:
    try:
        return evidence_set.is_set(place(text))
    except OSError as error:
        raise NoInputError(f"{text}: cannot be read ({error.strerror})") from None


def inputs_of(name: str, path: Path | None) -> list[Input]:
    """Return a file under a name, and behind it the members that it has as an archive."""
    found, name = contents(path) if path is not None else None, as_shown(name)
    if path is None or found is None:
        return [Input(0, path, name)]
    archive = Input(0, path, name, archive=replace(found, members=()))
    return [archive, *(Input(0, path, f"{name}/{m.name}", member=m) for m in found.members)]


def reading_order(source: Input) -> tuple[str, int]:
    """Sort by this to go through each archive once, whatever its members are called."""
    return str(source.path), -1 if source.member is None else source.member.place


def as_text(name: str) -> str:
    """Return a name that can be written anywhere: on disk it may be no text at all."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def as_shown(name: str) -> str:
    """Return what stands for the name of a file or folder in every output.

    :func:`on_disk` finds again what it stands for.
    """
    return shown(as_text(name))


def on_disk(name: str) -> Path:
    """Return the path that stands behind a shown one; itself where nothing is there."""
    path = place(name)
    if isinstance(path, ObjectPath) or path.exists():
        return path
    found = Path(path.anchor)
    for part in path.relative_to(path.anchor).parts:
        there = found / part
        if not there.exists():
            # Names that are no text are not kept: their files are found by bytes alone.
            alike = [one for one in _in(found) if shown(one.name) == part]
            if len(alike) != 1:
                return path
            there = alike[0]
        found = there
    return found


def _in(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _order(source: Input) -> tuple[str, str]:
    return source.name, "" if source.stored is None else source.stored.key


def _held(sets: Mapping[str, Path]) -> list[Input]:
    """Return the inputs of evidence sets; one that several sets hold counts once."""
    found: dict[tuple[str, str], Input] = {}
    owner: dict[str, Path] = {}
    for folder in sets.values():
        for name, stored in evidence_set.stored_inputs(folder):
            if owner.setdefault(stored.key, folder) == folder:
                path = folder / evidence_set.ledger_name(stored.key)
                found[stored.key, name] = Input(0, path, name, stored=stored)
    return list(found.values())


def settings_of(inputs: Iterable[Input]) -> list[Settings]:
    """Return how the logs of the evidence sets among some inputs were read."""
    found: list[Settings] = []
    for source in inputs:
        if source.stored is not None and source.stored.settings not in found:
            found.append(source.stored.settings)
    return found


def relabelled(inputs: Sequence[Input]) -> list[Input]:
    """Number inputs in the given order, and tell each from the others by its name."""
    labels = _labels([source.name for source in inputs])
    shared = Counter(source.name for source in inputs)
    numbered = [
        replace(source, number=number, label=_label(source, labels[source.name], shared))
        for number, source in enumerate(inputs)
    ]
    return with_nodes(numbered)


def with_nodes(inputs: Sequence[Input], held: Mapping[str, str] | None = None) -> list[Input]:
    """Give inputs the nodes that their paths name, none of two machines.

    Args:
        inputs: all inputs of a run; what one evidence set holds keeps its node.
        held: nodes of further logs by their names, which are not read.
    """
    own = setnodes.told_apart([(s.name, s.stored) for s in inputs if s.stored is not None])
    inputs = [
        replace(s, node=own[s.stored.folder, s.stored.key]) if s.stored is not None else s
        for s in inputs
    ]
    known = {s.name: s.node for s in inputs if s.stored is not None}
    raw = [s.name for s in inputs if s.archive is None and s.stored is None]
    unsure = nodes.doubtful(raw)
    files = {s.name: s.path for s in inputs if s.name in unsure and s.path and s.member is None}
    found = nodes.told_apart(raw, {**(held or {}), **known}, copies(files))
    return [replace(s, node=found.get(s.name, "")) if s.stored is None else s for s in inputs]


def _label(source: Input, label: str, shared: Mapping[str, int]) -> str:
    """A set may hold what a file held before it was written anew under the same name."""
    if source.stored is None or shared[source.name] == 1:
        return label
    return f"{label}@{source.stored.key[:8]}"


def _labels(names: list[str]) -> dict[str, str]:
    """Return the shortest end of each name, in whole parts, that no other name has."""
    labels: dict[str, str] = {}
    depth = 1
    while left := [name for name in names if name not in labels]:
        ends = {name: "/".join(PurePath(name).parts[-depth:]) for name in left}
        shared = Counter(ends.values())
        labels |= {
            name: end
            for name, end in ends.items()
            if shared[end] == 1 or depth >= len(PurePath(name).parts)
        }
        depth += 1
    return labels


def _named(text: str) -> list[Path]:
    try:
        return _files_of(text)
    except OSError as error:
        raise NoInputError(f"{text}: cannot be read ({error.strerror})") from None


def _files_of(text: str) -> list[Path]:
    path = place(text)
    if path.is_dir():
        inside = _inside(_whole(path))
        if not inside:
            raise NoInputError(f"{text}: the folder holds no file")
        return inside
    if path.exists():
        return [_whole(path)]
    if glob.has_magic(text):
        matched = _matched(text, path)
        inside = [file for item in matched for file in (_inside(item) if item.is_dir() else [item])]
        if not inside:
            raise NoInputError(f"{text}: no file matches")
        return [_whole(file) for file in inside]
    raise NoInputError(f"{text}: no such file or folder")


def _matched(text: str, pattern: Path) -> list[Path]:
    if not isinstance(pattern, ObjectPath):
        return sorted(Path(item) for item in glob.glob(text, recursive=True))
    parts = pattern.parts
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return sorted(ObjectPath(*parts[:fixed]).glob("/".join(parts[fixed:])))


def _whole(path: Path) -> Path:
    """Return the path; a part of an evidence set means nothing without the rest of it."""
    for folder in path.absolute().parents:
        if _is_set(folder):
            raise NoInputError(f"{path} is part of an evidence set; name the set: {folder}")
    return path


def _is_set(folder: Path) -> bool:
    try:
        return evidence_set.is_set(folder)
    except PermissionError:
        return False  # who may read below a prefix need not be let in above it


def _inside(folder: Path) -> list[Path]:
    """Return the files below a folder, and evidence sets as a whole."""
    found = []
    for where, folders, files in walk(folder):
        here = type(folder)(where)
        marked = evidence_set.MANIFEST in files or evidence_set.INPUTS in folders
        if marked and evidence_set.is_set(here):
            found.append(here)
            folders.clear()
            continue
        # What file managers and version control put beside logs is left out.
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [here / name for name in files if _is_log(here / name)]
    return sorted(found)


def _is_log(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")
