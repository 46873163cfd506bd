"""A robust fit of ``ms = a + b*u + c*u*(cached + u/2)`` with none of the three below zero.

``u`` are the uncached tokens: a fixed part, a part for each token, and attention, which
grows with the context that each token looks at. Times far from the rest, above all the
fast ones that are looked for, must not draw the curve to them: it starts from the curve
through some of the points that most others lie near, and leaves far ones out of account.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_REPRESENTATIVES = 14
_CAP = 1.0
"""From this far off, in natural logarithms, one point is as bad as any other."""
_ROUNDS = 25
_SCALE = np.array([1.0, 1e-4, 1e-9])
_PARTS = [part for n in (1, 2, 3) for part in combinations(range(3), n)]


@dataclass(frozen=True)
class Curve:
    """The three parts, in milliseconds, milliseconds a token, and a token times a token."""

    fixed: float
    token: float
    pair: float

    def at(self, uncached: Array, cached: Array) -> Array:
        """Return the expected milliseconds."""
        pairs = uncached * (cached + uncached / 2)
        return self.fixed + self.token * uncached + self.pair * pairs


def fit(uncached: Array, cached: Array, ms: Array, weight: Array) -> Curve | None:
    """Return the curve that most points lie near, or None where no curve does.

    Args:
        uncached: tokens that had to be computed.
        cached: tokens before them.
        ms: median milliseconds of each point.
        weight: how much each point counts.
    """
    parts = np.stack([np.ones_like(uncached), uncached, uncached * (cached + uncached / 2)], axis=1)
    parts = parts * _SCALE
    start = _start(parts, ms, weight, uncached)
    if start is None:
        return None
    found = _refined(start, parts, ms, weight) * _SCALE
    return Curve(*(float(f"{value:.6g}") for value in found))


def _start(parts: Array, ms: Array, weight: Array, uncached: Array) -> Array | None:
    """Return the best of the curves that go through some points exactly."""
    order = np.lexsort((ms, parts[:, 2], uncached))
    picked = order[
        np.linspace(0, len(order) - 1, min(len(order), _REPRESENTATIVES)).astype(np.int64)
    ]
    candidates = np.concatenate([_through(parts[picked], ms[picked], part) for part in _PARTS])
    if not len(candidates):
        return None
    off = np.abs(np.log(_at(candidates.T[:, :, None], parts)) - np.log(ms))
    best: Array = candidates[int(np.argmin((np.minimum(off, _CAP) * weight).sum(axis=1)))]
    return best


def _at(curve: Array, parts: Array) -> Array:
    """Return the expected milliseconds, with sums in one order.

    A product of matrices may add in another order on another machine, and starts threads.
    """
    fixed, token, pair = curve
    expected: Array = fixed * parts[:, 0] + token * parts[:, 1] + pair * parts[:, 2]
    return expected


def _through(parts: Array, ms: Array, part: tuple[int, ...]) -> Array:
    """Return the curves of some parts through each choice of as many points, none below zero."""
    chosen = np.array(list(combinations(range(len(ms)), len(part))), dtype=np.int64)
    matrices = parts[chosen.reshape(-1, len(part), 1), part]
    sound = np.abs(np.linalg.det(matrices)) >= 1e-12
    solved = np.zeros((int(sound.sum()), 3))
    solved[:, part] = np.linalg.solve(matrices[sound], ms[chosen[sound]][..., None])[..., 0]
    return solved[(solved >= 0).all(axis=1) & solved.any(axis=1)]


def _refined(curve: Array, parts: Array, ms: Array, weight: Array) -> Array:
    """Fit again and again with weights that fall to nothing for points far off."""
    for _ in range(_ROUNDS):
        expected = _at(curve, parts)
        off = np.log(ms) - np.log(expected)
        reach = max(0.3, 4.685 * 1.4826 * _median(np.abs(off), weight))
        near = np.clip(1 - (off / min(reach, 2 * _CAP)) ** 2, 0, None) ** 2
        again = _least_squares(parts / expected[:, None], ms / expected, weight * near)
        if again is None or np.allclose(again, curve, rtol=1e-9, atol=0):
            break
        curve = again
    return curve


def _least_squares(parts: Array, values: Array, weight: Array) -> Array | None:
    """Solve for the three parts, none below zero: of all choices of parts the best that is."""
    found: list[tuple[float, Array]] = []
    for part in reversed(_PARTS):
        own = parts[:, part]
        weighed = own * weight[:, None]
        square = (weighed[:, :, None] * own[:, None, :]).sum(axis=0)
        if np.linalg.cond(square) > 1e14:
            continue
        solved = np.zeros(3)
        solved[list(part)] = np.linalg.solve(square, (weighed * values[:, None]).sum(axis=0))
        if (solved >= 0).all() and (_at(solved, parts) > 0).all():
            found.append((float(np.sum(weight * (_at(solved, parts) - values) ** 2)), solved))
            if len(part) == len(solved):
                break  # No choice of fewer parts lies nearer.
    return min(found, key=lambda one: one[0])[1] if found else None


def _median(values: Array, weight: Array) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order][int(np.searchsorted(reached, reached[-1] / 2))])
