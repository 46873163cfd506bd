"""When lines were written, as far as their bytes show it: enough to find a place in a file.

Never evidence: what a line says of its request is for the readers. Only digits of dates and
their zone are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

MICRO = 1_000_000
QUARTER_HOUR = 900 * MICRO
_WITHIN = 1024
"""Bytes at the start and at the end of a line in which its stamp stands."""
_LINES = 12
"""Lines at the start and at the end of a piece that are looked at: those between are between."""

_WALL = re.compile(
    rb"(20\d\d-[01]\d-[0-3]\d)[T ]([0-2]\d:[0-5]\d:[0-5]\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?"
)
_EPOCH = re.compile(rb"(?<![\w.-])(1[4-9]\d{8})(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?(?![\w-])")


class Stamps(NamedTuple):
    """One time for each line that shows one, microseconds.

    ``naive`` where most show no zone; ``wall`` where they are no mere numbers, which may be
    anything.
    """

    times: list[int]
    naive: bool = False
    wall: bool = False


def stamps(data: bytes) -> Stamps:
    """Return the wall-clock stamps of lines where any line has one, else epoch stamps."""
    lines = list(_ends(data))
    walls = [match for line in lines if (match := _WALL.search(line))]
    if walls:
        times = [at for match in walls if (at := _wall(match)) is not None]
        naive = sum(match[3] is None for match in walls)
        return Stamps(times, naive=2 * naive > len(walls), wall=True)
    epochs = [int(match[1]) * MICRO for line in lines if (match := _EPOCH.search(line))]
    return Stamps(epochs)


def middle(data: bytes) -> int | None:
    """Return the median stamp of some lines."""
    found = sorted(stamps(data).times)
    return found[len(found) // 2] if found else None


def ahead(data: bytes) -> int | None:
    """Return how far wall-clock stamps are ahead of the epoch stamps beside them, to 15 minutes."""
    apart = []
    for line in _ends(data):
        wall, epoch = _WALL.search(line), _EPOCH.search(line)
        if wall and epoch and (at := _wall(wall)) is not None:
            apart.append(at - int(epoch[1]) * MICRO)
    if not apart:
        return None
    typical = sorted(apart)[len(apart) // 2]
    return (typical + QUARTER_HOUR // 2) // QUARTER_HOUR * QUARTER_HOUR


def _ends(data: bytes) -> Iterator[bytes]:
    """Yield the first and the last lines, of each its start and its end."""
    lines = data.split(b"\n")
    few = lines if len(lines) <= 2 * _LINES else lines[:_LINES] + lines[-_LINES:]
    for line in few:
        yield line[:_WITHIN] + line[_WITHIN:][-_WITHIN:]


def _wall(match: re.Match[bytes]) -> int | None:
    text = f"{match[1].decode()}T{match[2].decode()}{(match[3] or b'').decode()}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * MICRO
