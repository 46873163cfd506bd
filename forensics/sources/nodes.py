"""Which engine wrote a file, as its path tells; and who is who where paths look alike.

The name of a file without rotation suffixes says it, or the folder where that name says
nothing. Where files of one such name lie in several folders, the folders are machines: two
machines under one name would share their limits, and one's pool would clear the other's
requests. One machine under two names has its limits unknown, which clears nobody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from forensics.sources.identifiers import from_path

_GENERIC = {
    *("log", "logs", "stdout", "stderr", "server", "output", "sglang", "vllm", "requests"),
    *("server_info", "get_server_info", "metrics", "spans", "traces", "sglang-request-metrics"),
    *("app", "application", "console", "container", "current", "nohup"),
}
"""Names that say what a file holds and not which engine wrote it: the folder does."""
_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_DATE = r"[._-]\d{4}-?\d{2}-?\d{2}(?:[-_T]?\d{2,6})?"
_ROTATION = re.compile(
    rf"(?:-requests)?(?:{_DATE})?(?:\.(?:log|jsonl|ndjson|json|txt|out|prom)(?:\.\d{{1,5}}|{_DATE})*)?"
    rf"{_PACKED}$"
)
"""What rotation and packing add to a name; a bare number at its end may be a version."""
_DAYS = re.compile(
    r"(?<![^/])(?:\d{4}[-_]?\d{2}[-_]?\d{2}(?:[-_T]?\d{2,6})?|\d{4}/\d{1,2}/\d{1,2}(?:/\d{1,2})?)/"
)
"""Folders that name a day or an hour, and so no machine."""
_POD = re.compile(r"(?:^|/)[a-z0-9.-]+_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{32,36}/[^/]+/[^/]+$")
"""How a kubelet lays out logs: namespace, pod and a unique id, then container and number."""

Home = tuple[str, ...]
"""The folders that a file lies in, without those that name a day or what they hold."""


def of(name: str) -> str:
    """Return the node that a path names by itself."""
    return place(name)[0]


def place(name: str) -> tuple[str, Home]:
    """Return the node that a path names by itself, and where it lies: together one machine.

    A folder that is named like the node lies where a file of that name does.
    """
    pod = _POD.search(name)
    if pod is not None:
        return from_path(pod["pod"]), ()
    stem, folders = _parts(name)
    if _says_nothing(stem) and folders:
        stem = folders[-1]
        folders = folders if _says_nothing(stem) else folders[:-1]
    while folders and _says_nothing(folders[-1]):
        folders = folders[:-1]
    return from_path(stem), folders


def folders(path: str) -> Home:
    """Return the parts of a folder's path without the days that it names."""
    above = _DAYS.sub("", f"{path}/").rstrip("/")
    parts = PurePath(above).parts
    last = _ROTATION.sub("", parts[-1]) if parts else ""
    return (*parts[:-1], last) if last else parts[:-1]


def doubtful(names: Iterable[str]) -> set[str]:
    """Return the paths that name one node from several places."""
    homes: dict[str, set[Home]] = {}
    places = {name: place(name) for name in names}
    for node, home in places.values():
        homes.setdefault(node, set()).add(home)
    return {name for name, (node, _) in places.items() if len(homes[node]) > 1}


def told_apart(
    names: Iterable[str], known: Mapping[str, str], copies: Mapping[str, str]
) -> dict[str, str]:
    """Return the node of each path, with files of one name in several folders told apart.

    Args:
        names: the paths of all inputs.
        known: nodes that some paths go by already; what lies with them goes by the same.
        copies: the paths of logs that are copies of others, and of those.
    """
    places = {name: place(copies.get(name, name)) for name in names}
    settled = {place(name): node for name, node in known.items()}
    homes: dict[str, set[Home]] = {}
    for node, home in {*places.values(), *settled}:
        homes.setdefault(node, set()).add(home)
    own: dict[tuple[str, Home], str] = {}
    for node, others in homes.items():
        ends = Counter(home[-depth:] for home in others for depth in range(1, len(home) + 1))
        own |= {(node, home): named(node, home, ends) for home in others if len(others) > 1}
        own |= {(node, home): node for home in others if len(others) == 1}
    taken = set(settled.values())
    own = {p: f"top-{node}" if node in taken and not p[1] else node for p, node in own.items()}
    own |= settled
    return {name: own[found] for name, found in places.items()}


def named(node: str, home: Home, ends: Mapping[Home, int]) -> str:
    """Name a machine by the end of its path that no other of the same name has.

    Args:
        node: what all of them go by.
        home: its folders.
        ends: how many of them have each end of a path.
    """
    if not home:
        return node
    depths = range(1, len(home))
    depth = next((depth for depth in depths if ends[home[-depth:]] == 1), len(home))
    tail = home[-depth:]
    own = () if node == from_path(tail[-1]) or _says_nothing(node) else (node,)
    return from_path("-".join((*(part.strip("/") for part in tail), *own)))


def _parts(name: str) -> tuple[str, Home]:
    """Return the name of a file without what rotation adds, and its folders without days."""
    path = PurePath(_DAYS.sub("", name))
    return _ROTATION.sub("", path.name) or path.name, path.parent.parts


def _says_nothing(name: str) -> bool:
    return name.lower() in _GENERIC
