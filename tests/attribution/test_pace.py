"""When answers began, as far as their ends and the pace of a rank tell it."""

import numpy as np
import pytest

from forensics.attribution.holds import Holds
from forensics.attribution.pace import Pace

SECOND = 1_000_000
DRAWS = 20


def drawn(vary: float, wait: float) -> tuple[np.ndarray, np.ndarray]:
    """Return when answers began, and draws of it: paces vary by a share, waits up to seconds."""
    random = np.random.Generator(np.random.PCG64(1))
    count = 400
    reserved = np.arange(count) * 60 * SECOND + random.integers(0, SECOND, count)
    tokens = random.integers(100, 250, count)
    began = reserved + (random.random(count) * wait * SECOND).astype(np.int64) + 1_000
    pace = 0.1 * SECOND * np.exp(random.normal(0, vary, count))
    released = began + (pace * (tokens - 1)).astype(np.int64) + 1
    same = np.ones(count, dtype=np.int64)
    holds = Holds(
        row=np.arange(count),
        reserved=reserved,
        released=released,
        pages=20 * same,
        prompt=1_200 * same,
        tokens=tokens,
        written=20 * same,
        prefill=0 * same,
        page_tokens=64,
    )
    rank = Pace(holds)
    draws = [rank.sampled(random, reserved + 1, released - 1) for _ in range(DRAWS)]
    return began, np.array(draws)


@pytest.mark.parametrize(("vary", "wait"), [(0.2, 10), (0.5, 3), (0.2, 0.2)])
def test_where_paces_differ_an_answer_may_have_begun_when_it_did(vary: float, wait: float) -> None:
    began, draws = drawn(vary, wait)
    inside = (draws.min(axis=0) <= began) & (began <= draws.max(axis=0))
    # What twenty draws of the same law leave out on both sides is two in twenty-one.
    assert inside.mean() >= 0.85


def test_where_all_are_alike_it_is_known_when_an_answer_began() -> None:
    began, draws = drawn(0.0, 0.0)
    assert np.abs(draws - began).max() < SECOND / 100
