"""Which machine an input of an evidence set is of, where several sets name a node alike.

A set tells machines apart among its own logs alone. Two sets that were ingested apart may
be of two machines whose logs have one name: under it, the pool of one would clear the
requests of the other. So they get names of their own, as files of one name do. Sets that
hold a log in common, or lie in folders that differ by a date alone, are of one place. A
node that ``[logs] node_from`` names is what it says.

Within a set a log that came first has the shorter name, since no other was known by then. So all
logs of one place are named anew by their paths, as if they had come at once: whichever came
first, a node goes by the same name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from forensics.sources import evidence_set, nodes
from forensics.sources.evidence_set import Stored
from forensics.sources.nodes import Home

_ROOT = "/"
Log = tuple[str, Stored]
"""A log that a set holds: one of its names, and what is there of it."""


def told_apart(logs: Sequence[Log]) -> dict[tuple[Path, str], str]:
    """Return the node of each input of some sets, by the folder of its set and its key."""
    places = _places({stored.folder for _, stored in logs})
    at_once = _at_once(logs, places)
    homes: dict[str, dict[Home, Home]] = {}
    for name, stored in logs:
        if not _stated(name, stored):
            own = homes.setdefault(at_once[places[stored.folder], name], {})
            place = places[stored.folder]
            home = (*place, *(part for part in nodes.place(name)[1] if part != _ROOT))
            own[place] = min(own.get(place, home), home)
    names = {node: _named(node, own) for node, own in homes.items()}
    return {
        (stored.folder, stored.key): stored.log.node
        if _stated(name, stored)
        else names[at_once[places[stored.folder], name]][places[stored.folder]]
        for name, stored in logs
    }


def _at_once(logs: Sequence[Log], places: Mapping[Path, Home]) -> dict[tuple[Home, str], str]:
    """Return the node of each log by its place and name, as if all of a place had come at once.

    Logs whose paths name one node and that were taken for one machine's are one's still: what
    was read of them showed it.
    """
    found: dict[tuple[Home, str], str] = {}
    for place in sorted(set(places.values())):
        mine = [log for log in logs if places[log[1].folder] == place and not _stated(*log)]
        own = sorted(mine, key=lambda log: (log[0], log[1].key))
        first: dict[tuple[str, str], str] = {}
        copies = {
            name: first.setdefault((nodes.of(name), stored.log.node), name) for name, stored in own
        }
        named = nodes.told_apart([name for name, _ in own], {}, copies)
        found |= {(place, name): node for name, node in named.items()}
    return found


def _named(node: str, homes: Mapping[Home, Home]) -> dict[Home, str]:
    """Name the machines that go by one node, by their places."""
    if len(homes) == 1:
        return dict.fromkeys(homes, node)
    ends = Counter(home[-depth:] for home in homes.values() for depth in range(1, len(home) + 1))
    return {place: nodes.named(node, home, ends) for place, home in homes.items()}


def _stated(name: str, stored: Stored) -> bool:
    pattern = stored.settings.node_from
    match = re.search(pattern, name) if pattern is not None else None
    return match is not None and bool(match.group("node"))


def _places(folders: set[Path]) -> dict[Path, Home]:
    """Return the place that each set is of."""
    places = {folder: nodes.folders(str(folder)) for folder in sorted(folders)}
    if len(places) == 1:
        return places
    keys: dict[str, Path] = {}
    for folder in list(places):
        for item in evidence_set.manifest_of(folder).inputs:
            pair = places[folder], places[keys.setdefault(item.key, folder)]
            places = {f: min(pair) if place in pair else place for f, place in places.items()}
    return places
