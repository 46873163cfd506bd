"""Holds: what each request took of a decode rank's pool, when, and how much of it was written.

A hold is known from columns that decode logs: pages reserved, when they were taken and given
back, tokens generated. Requests without these held nothing, or their rank is not replayed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
UNKNOWN = -1
"""Stands for a figure that no log holds, and for whoever is no request: a health check."""
ONE_OR_ALL = -2
"""Stands for pages that arrived of a prompt, where it may be the faulty one page, or all."""

STEPS = (1_000_000, 1_000)
"""Microseconds of a second and of a millisecond: what stamps are rounded down to."""
_TIMES_FINER = 1_000
"""Of so many stamps of the next finer step, chance makes one whole."""
_MINUTE, _TENTH = 60_000_000, 100_000
BETWEEN = {
    _TENTH // 10: 1_000,
    _TENTH: 1_000,
    5_000_000: 1_000_000,
    10_000_000: 1_000_000,
    30_000_000: 1_000_000,
    _MINUTE: 1_000_000,
    5 * _MINUTE: 1_000_000,
    15 * _MINUTE: 1_000_000,
    60 * _MINUTE: 1_000_000,
}
"""Other steps, microseconds, with that of :data:`STEPS` which is next finer: no stamp shows these
by itself, since chance makes many whole."""
_SELDOM = 0.05
"""So few holds that chance is likely to make whole are none: some must be of that step."""


@dataclass(frozen=True)
class Holds:
    """Holds of one rank between two of its starts, in order of time and identity.

    Times in microseconds of UTC, each array with one entry a hold. ``row`` numbers the request
    (:data:`UNKNOWN` for a health check); ``written`` are the pages of the prompt that arrived
    (:data:`UNKNOWN` or :data:`ONE_OR_ALL` where that is not known);
    ``prefill`` is the time of prefill's forward pass, within ``reserved`` to ``released``.
    """

    row: Ints
    reserved: Ints
    released: Ints
    pages: Ints
    prompt: Ints
    tokens: Ints
    written: Ints
    prefill: Ints
    page_tokens: int

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def grown(self) -> Ints:
        """Pages taken for generated tokens: the last token of an answer is never written."""
        rows = self.prompt + np.maximum(self.tokens - 1, 0)
        more: Ints = np.maximum(-(-rows // self.page_tokens) - self.pages, 0)
        return more

    @cached_property
    def coarse(self) -> tuple[Ints, Ints]:
        """Microseconds by which each hold may have been taken, and given back, after its stamp.

        Stamps of a rank may come from several logs: one hold of which both are whole is coarse by
        itself, which in a finer log is a chance of one in a million. So is a single stamp, where
        there are more of its kind than chance makes. Of steps between these and above, both stamps
        must be, and of more holds than chance makes.
        """
        whole = [_whole(self.reserved, step) & _whole(self.released, step) for step in STEPS]
        own = np.maximum(np.select(whole, STEPS, 1), self._between())
        taken, given = (np.maximum(own, _coarse(t)) for t in (self.reserved, self.released))
        return taken, given

    def _between(self) -> Ints:
        """Return the coarsest step of :data:`BETWEEN` in which both stamps of a hold are whole."""
        found: Ints = np.ones(len(self), dtype=np.int64)
        for step, finer in BETWEEN.items():
            base, both = (
                _whole(self.reserved, size) & _whole(self.released, size) for size in (finer, step)
            )
            likely = int(base.sum()) * (finer / step) ** 2
            number = int(both.sum())
            few = number < 3 and step > STEPS[0] and likely > _SELDOM
            if _too_many(number, likely) and not few:
                found[both] = step
        return found

    @property
    def arrived(self) -> Ints:
        """Pages of each prompt that arrived in any case."""
        least: Ints = np.where(self.written == ONE_OR_ALL, 1, np.maximum(self.written, 0))
        return least

    @property
    def digest(self) -> bytes:
        """What the holds are, whatever the order of the logs: seeds the resampling."""
        state = hashlib.sha256(str(self.page_tokens).encode())
        for field in fields(self):
            if field.name not in ("row", "page_tokens"):
                state.update(getattr(self, field.name).astype("<i8").tobytes())
        return state.digest()


def resolution(times: Ints) -> int:
    """Return how coarse times are, microseconds: a second, a millisecond, or one."""
    return next((step for step in STEPS if len(times) and _whole(times, step).all()), 1)


def _coarse(times: Ints) -> Ints:
    """Return how coarse each time is, microseconds: all may be, or some among finer ones."""
    every: Ints = np.full(len(times), resolution(times))
    among = np.ones(len(times), dtype=np.bool_)
    for step in reversed(STEPS):
        whole = among & _whole(times, step)
        if _too_many(int(whole.sum()), int(among.sum()) / _TIMES_FINER):
            every[whole] = np.maximum(every[whole], step)
        among = whole
    return every


def _too_many(found: int, likely: float) -> bool:
    """Say whether so many are more than chance, or so few likely that any is not worth the risk."""
    return found > (likely + 3 * math.sqrt(likely) if likely >= 1 else 0)


def _whole(times: Ints, step: int) -> npt.NDArray[np.bool_]:
    whole: npt.NDArray[np.bool_] = times % step == 0
    return whole
