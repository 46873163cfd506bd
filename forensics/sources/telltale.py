"""Words without which a line of text holds no record of any known format.

To look for some hundreds of words in all lines at once costs a fraction of what telling a
line does: lines of a log that hold none of them need no look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.incident import Incident
from forensics.sources import plain, registry


def words(incident: Incident) -> list[str]:
    """Return texts, one of which is in each line that a reader takes something of."""
    found = {word for one in registry.known(incident) for word in _of(one)}
    return sorted(found | _plain(incident))


def headings(incident: Incident) -> frozenset[str]:
    """Return names of columns, one of which is in the header of each table that is read."""
    found = {name for one in registry.known(incident) for name in one.columns}
    return frozenset(found | _plain(incident))


def inside(incident: Incident) -> dict[str, list[str]]:
    """Return the keys, as patterns, that make a record a format's by themselves, by its name."""
    known = registry.known(incident)
    return {one.name: [re.escape(key) for key in one.inside] for one in known if one.inside}


def _of(one: registry.Format) -> Iterator[str]:
    yield from one.words
    yield from one.columns
    # With the quote before it alone: in a text within JSON the one behind it is escaped.
    yield from (f'"{max(sorted(keys), key=len)}' for keys in one.keys)


def _plain(incident: Incident) -> set[str]:
    names = plain.names(incident).items()
    return {name for name, ours in names if ours in plain.TELLING}
