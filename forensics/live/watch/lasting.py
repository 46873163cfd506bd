"""What of a watch outlasts it: from a state to what a run begins with, and back."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from forensics.live.watch import state as kept
from forensics.live.watch.known import Known
from forensics.live.watch.longer import Longer
from forensics.live.watch.ring import Ring
from forensics.live.watch.rows import Kept, Rows


def ring(before: kept.State, folder: Path) -> tuple[Ring, int]:
    """Return a ring with what an earlier run had learnt and held, and how many files are broken.

    Args:
        before: the state.
        folder: where its rows lie.
    """
    goes_on = before.boot != "" and before.boot == kept.boot()
    rows = Rows(folder, _timed(before.rows, goes_on=goes_on))
    longer = Rows(folder / "longer", _timed(before.longer, goes_on=goes_on))
    made = Ring(
        rows,
        Longer(longer),
        kept.frames(before.capacity, "capacity"),
        kept.frames(before.markers, "markers"),
        Counter({(node, ahead): count for node, ahead, count in before.clock}),
    )
    return made, len(rows.missing) + len(longer.missing)


def _timed(files: list[Kept], *, goes_on: bool) -> list[Kept]:
    """Take rows as read now where the clock that they were timed by began anew."""
    if goes_on:
        return files
    now = time.monotonic()
    return [msgspec.structs.replace(f, oldest=now, newest=now, at=now) for f in files]


def state(
    held: Ring,
    known: Known,
    progress: kept.Progress,
    pending: list[kept.Told],
    events: list[dict[str, Any]],
    owed: dict[str, str],
) -> kept.State:
    """Return what a restart needs: what is held, told, read, about to be told, and owed."""
    return kept.State(
        **vars(progress),
        capacity=kept.learnt(held.capacity, "capacity"),
        markers=kept.learnt(held.markers, "markers"),
        clock=[(node, ahead, n) for (node, ahead), n in sorted(held.clock.items())],
        rows=held.rows.kept,
        longer=held.longer.kept,
        told=known.told,
        pending=pending,
        events=events,
        owed=owed,
        boot=kept.boot(),
    )
