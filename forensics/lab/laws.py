"""Laws of prefill time that no smooth curve of the work expresses.

A prompt is computed in chunks, each with a cost of its own, in batches that it may share with
other prompts; nodes differ and drift by the hour; and now and then one stalls. All times in
milliseconds, all work in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Law:
    """One kind of engine.

    ``tile`` tokens are computed as one: a prompt takes the time of the next whole number of
    them. ``shared`` is the share of batches with other prompts in them, which fill the rest
    of a chunk; ``stalls`` the share of passes that take many times as long.
    """

    launch: float = 38.0
    chunk: int = 8_192
    per_chunk: float = 21.0
    tile: int = 256
    per_token: float = 0.048
    per_pair: float = 5e-8
    shared: float = 0.3
    noise: float = 0.06
    stalls: float = 0.004
    stall_shape: float = 1.3
    longest_stall: float = 40.0


@dataclass(frozen=True)
class Pace:
    """How much slower than the law each node runs, over the hours of a run.

    Every node has a pace of its own, a daily wave and a slow drift, and throttled hours in
    which it takes twice as long or longer.
    """

    by_hour: Floats

    @classmethod
    def drawn(cls, nodes: int, hours: int, rng: np.random.Generator) -> Pace:
        """Draw the paces: one row a node, one column an hour."""
        own = rng.uniform(0.8, 1.3, (nodes, 1))
        wave = 1 + 0.12 * np.sin(np.arange(hours) * 2 * np.pi / 24 + rng.uniform(0, 6, (nodes, 1)))
        drift = np.exp(np.cumsum(rng.normal(0, 0.012, (nodes, hours)), axis=1).clip(-0.4, 0.5))
        throttled = np.where(rng.random((nodes, hours)) < 0.01, rng.uniform(2, 3.5), 1.0)
        return cls(own * wave * drift * throttled)


def prefill_ms(
    computed: Ints, cached: Ints, pace: Floats, law: Law, rng: np.random.Generator
) -> Floats:
    """Return the time of the prefill of each prompt.

    Args:
        computed: tokens to compute.
        cached: tokens before them, which are looked at only.
        pace: of the node at that time.
        law: what the engine costs.
        rng: where chance comes from.
    """
    size = len(computed)
    chunks = -(-computed // law.chunk)
    tiles = -(-computed // law.tile) * law.tile
    pairs = computed * (cached + computed / 2.0)
    own = law.per_chunk * chunks + law.per_token * tiles + law.per_pair * pairs
    # Others fill what the last chunk leaves free; their attention is small beside that.
    free = chunks * law.chunk - computed
    others = np.where(rng.random(size) < law.shared, rng.random(size) * free, 0.0)
    noise = rng.lognormal(0.0, law.noise, size)
    stall = (1 + rng.pareto(law.stall_shape, size)).clip(max=law.longest_stall)
    stalled = np.where(rng.random(size) < law.stalls, stall, 1.0)
    return (law.launch + own + law.per_token * others) * pace * noise * stalled
