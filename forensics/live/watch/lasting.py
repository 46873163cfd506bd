"""What of a watch outlasts it: from a state to what a run begins with, and back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from forensics.live.watch import state as kept
from forensics.live.watch.follow import Place
from forensics.live.watch.log import Ends
from forensics.live.watch.ring import Ring


def seen(before: kept.State) -> Ends:
    """Return when the pieces of each file were read that an earlier run held, by their ends."""
    found: dict[tuple[int, int], dict[int, float]] = {}
    if before.boot and before.boot == kept.boot():
        for piece in before.seen:
            found.setdefault((piece.device, piece.inode), {})[piece.end] = piece.at
    return found


def ring(before: kept.State) -> Ring:
    """Return a ring with what an earlier run had learnt, and the rows that it held for long."""
    made = Ring(
        kept.frames(before.capacity, "capacity"),
        kept.frames(before.markers, "markers"),
        Counter({(node, ahead): count for node, ahead, count in before.clock}),
    )
    frames = kept.frames(before.suspects, "observations")
    if frames:
        rows = pl.concat(frames, how="vertical")
        same = before.boot == kept.boot() and len(before.suspects_at) == rows.height
        times = before.suspects_at if same and before.boot else [time.monotonic()] * rows.height
        made.restore(times, rows)
    return made


def state(
    held: Ring,
    places: Mapping[str, Sequence[Place]],
    formats: Mapping[str, str],
    told: Iterable[str],
) -> kept.State:
    """Return what a restart needs, of what is held, how far logs were read and what was told."""
    begun = held.begins()
    logs = {}
    for name, now in places.items():
        by_file = {(p.device, p.inode): p for p in now}
        logs[name] = list({**by_file, **begun.get(name, {})}.values())
    times, old = held.old()
    return kept.State(
        logs=logs,
        seen=[kept.Seen(p.device, p.inode, p.offset, t) for p, t in held.ends() if p.inode],
        boot=kept.boot(),
        suspects_at=times,
        formats=dict(formats),
        capacity=kept.learnt(held.capacity, "capacity"),
        markers=kept.learnt(held.markers, "markers"),
        clock=[(node, ahead, n) for (node, ahead), n in sorted(held.clock.items())],
        told=sorted(told),
        suspects=kept.learnt([old] if old.height else [], "observations"),
    )
