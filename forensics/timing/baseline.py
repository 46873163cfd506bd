"""The expected prefill time of each node: a curve of its own, or its model's, scaled to it."""

from __future__ import annotations

import numpy as np

from forensics.timing.bins import Integers
from forensics.timing.fit import Array, Curve, fit
from forensics.timing.sketch import Cells, Sketch

LEAST_REQUESTS = 50
"""Below so many timed requests of a model in a source there is no expectation at all."""
_LEAST_CELLS = 6
_OWN_REQUESTS, _OWN_CELLS = 2_000, 12
"""From so many on a node has a curve of its own."""
_MOST_WEIGHT = 200
_STRAYING = 3.0
"""A node is at most so many times faster or slower than its model, or its times are not used."""
_BORROWED = 20
"""A node's own pace counts as much as its model's from so many requests on."""


def curves(sketch: Sketch, pools: Integers) -> Array:
    """Return the three parts of the curve of each group, all 0 where there is none.

    Args:
        sketch: of all rows.
        pools: the number of each group's pool.
    """
    found = np.zeros((len(pools), 3))
    shared = {
        pool: (_shared(cells), _longest(cells)) for pool, cells in sketch.cells(pools).apart()
    }
    if not any(curve for curve, _ in shared.values()):
        return found
    for group, cells in sketch.cells().apart():
        curve, longest = shared[int(pools[group])]
        if curve is not None:
            own = _own(cells, curve, longest) or _scaled(curve, _pace(cells, curve))
            found[group] = own.fixed, own.token, own.pair
    return found


def _shared(pool: Cells) -> Curve | None:
    return _fitted(pool) if _requests(pool) >= LEAST_REQUESTS else None


def _own(node: Cells, shared: Curve, longest: float) -> Curve | None:
    """Fit one node alone where it saw enough, and long prompts too."""
    enough = _requests(node) >= _OWN_REQUESTS and len(node.ms) >= _OWN_CELLS
    if not enough or _longest(node) * 2 < longest:
        return None
    curve = _fitted(node)
    if curve is None:
        return None
    work, none = np.array([1.0, longest]), np.zeros(2)
    apart = np.abs(np.log(curve.at(work, none) / shared.at(work, none)))
    return curve if float(apart.max()) <= np.log(_STRAYING) else None


def _pace(node: Cells, shared: Curve) -> float:
    """Return how much slower than its model a node is, drawn to 1 where it has few requests."""
    off = np.log(node.ms / shared.at(node.uncached, node.cached))
    order = np.argsort(off, kind="stable")
    reached = np.cumsum(node.requests[order])
    middle = float(off[order][int(np.searchsorted(reached, reached[-1] / 2))])
    total = float(reached[-1])
    return float(np.exp(middle * total / (total + _BORROWED))) if _near(middle) else 1.0


def _near(off: float) -> bool:
    return abs(off) <= float(np.log(_STRAYING))


def _scaled(curve: Curve, pace: float) -> Curve:
    parts = (curve.fixed * pace, curve.token * pace, curve.pair * pace)
    return Curve(*(float(f"{part:.6g}") for part in parts))


def _fitted(found: Cells) -> Curve | None:
    if len(found.ms) < _LEAST_CELLS:
        return None
    weight = np.sqrt(np.minimum(found.requests, _MOST_WEIGHT))
    return fit(found.uncached, found.cached, found.ms, weight)


def _longest(found: Cells) -> float:
    return float(found.uncached.max())


def _requests(found: Cells) -> int:
    return int(found.requests.sum())
