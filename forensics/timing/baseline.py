"""The expected prefill time of each node: a curve of its own, or its model's, scaled to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from forensics.timing.fit import Array, Curve, fit
from forensics.timing.sketch import cells
from forensics.timing.work import GROUP, POOL

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
CURVES: dict[str, pl.DataType] = {
    **dict.fromkeys(GROUP, pl.String()),
    "since": pl.Int64(),
    "fixed": pl.Float64(),
    "token": pl.Float64(),
    "pair": pl.Float64(),
    "own": pl.Boolean(),
    "requests": pl.Int64(),
}


def curves(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the curve of each group of a sketch that has one, under :data:`CURVES`.

    ``own`` says whether it was fitted to that node and start alone.
    """
    by_node = cells(counts, GROUP).partition_by(POOL, as_dict=True, maintain_order=True)
    rows: list[dict[str, Any]] = []
    for key, pool in (
        cells(counts, POOL).partition_by(POOL, as_dict=True, maintain_order=True).items()
    ):
        shared = _fitted(pool) if _requests(pool) >= LEAST_REQUESTS else None
        if shared is not None:
            rows += [_of_node(node, shared, _longest(pool)) for node in _nodes(by_node[key])]
    return pl.DataFrame(rows, schema=CURVES, orient="row")


def _nodes(pool: pl.DataFrame) -> list[pl.DataFrame]:
    return pool.partition_by(GROUP, maintain_order=True)


def _of_node(node: pl.DataFrame, shared: Curve, longest: float) -> dict[str, Any]:
    own = _own(node, shared, longest)
    curve = own or _scaled(shared, _pace(node, shared))
    return {
        **dict(zip(GROUP, node.select(GROUP).row(0), strict=True)),
        "fixed": curve.fixed,
        "token": curve.token,
        "pair": curve.pair,
        "own": own is not None,
        "requests": _requests(node),
    }


def _own(node: pl.DataFrame, shared: Curve, longest: float) -> Curve | None:
    """Fit one node alone where it saw enough, and long prompts too."""
    enough = _requests(node) >= _OWN_REQUESTS and node.height >= _OWN_CELLS
    if not enough or _longest(node) * 2 < longest:
        return None
    curve = _fitted(node)
    if curve is None:
        return None
    work, none = np.array([1.0, longest]), np.zeros(2)
    apart = np.abs(np.log(curve.at(work, none) / shared.at(work, none)))
    return curve if float(apart.max()) <= np.log(_STRAYING) else None


def _pace(node: pl.DataFrame, shared: Curve) -> float:
    """Return how much slower than its model a node is, drawn to 1 where it has few requests."""
    uncached, cached, ms, requests = _points(node)
    off = np.log(ms / shared.at(uncached, cached))
    order = np.argsort(off, kind="stable")
    reached = np.cumsum(requests[order])
    middle = float(off[order][int(np.searchsorted(reached, reached[-1] / 2))])
    total = float(reached[-1])
    return float(np.exp(middle * total / (total + _BORROWED))) if _near(middle) else 1.0


def _near(off: float) -> bool:
    return abs(off) <= float(np.log(_STRAYING))


def _scaled(curve: Curve, pace: float) -> Curve:
    parts = (curve.fixed * pace, curve.token * pace, curve.pair * pace)
    return Curve(*(float(f"{part:.6g}") for part in parts))


def _fitted(found: pl.DataFrame) -> Curve | None:
    if found.height < _LEAST_CELLS:
        return None
    uncached, cached, ms, requests = _points(found)
    return fit(uncached, cached, ms, np.sqrt(np.minimum(requests, _MOST_WEIGHT)))


def _points(found: pl.DataFrame) -> tuple[Array, Array, Array, Array]:
    columns = [
        found[name].cast(pl.Float64).to_numpy() for name in ("uncached", "cached", "ms", "requests")
    ]
    return columns[0], columns[1], columns[2], columns[3]


def _longest(found: pl.DataFrame) -> float:
    return float(found["uncached"].max())  # type: ignore[arg-type]


def _requests(found: pl.DataFrame) -> int:
    return int(found["requests"].sum())
