"""Requests with prefill times, as the stage gets them."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from forensics.timing import stage

START = 1_788_000_000_000_000
SECOND = 1_000_000
NO_EPOCHS = pl.DataFrame(schema={"node": pl.String, "effective_at": pl.Int64, "limit": pl.Int64})


@pytest.fixture(scope="module")
def honest():
    """Draw honest requests: 90 s apart, half of them with a long prefix cached."""

    def draw(size: int = 4_000, seed: int = 1, longest: int = 600_000, **values: Any):
        rng = np.random.default_rng(seed)
        prompt = np.exp(rng.uniform(np.log(64), np.log(longest), size)).astype(np.int64)
        share = np.where(rng.random(size) < 0.5, rng.uniform(0, 0.999, size), 0)
        cached = (prompt * share).astype(np.int64) // 64 * 64
        u = prompt - cached
        ms = (55 + 0.05 * u + 5e-8 * u * (cached + u / 2)) * rng.lognormal(0, 0.08, size)
        columns = {
            "request_id": [f"h-{number}" for number in range(size)],
            "handoff": pl.Series(range(size), dtype=pl.UInt32),
            "received_at": START + np.arange(size) * 90 * SECOND,
            "prefill_node": [f"prefill-{number % 2}/dp0" for number in range(size)],
            "tenant_id": [f"tenant-{number % 7}" for number in range(size)],
            "model": "m",
            "prompt_tokens": prompt,
            "cached_tokens": cached,
            "prefill_ms": ms,
            "assumed": False,
            "limit_low": pl.Series([681_274] * size, dtype=pl.Int64),
        }
        return pl.DataFrame(columns | values)

    return draw


@pytest.fixture
def scored():
    """Run the stage on requests of one source and return them with their scores."""

    def run(rows: pl.DataFrame, observed: pl.DataFrame | None = None, formats=None):
        observed = pl.DataFrame() if observed is None else observed
        return stage.attach(rows, observed, formats or {}, NO_EPOCHS)

    return run


@pytest.fixture
def one():
    """Return one request to put beside the honest ones."""

    def make(like: pl.DataFrame, **values: Any) -> pl.DataFrame:
        first = like.head(1).to_dicts()[0]
        own = {"request_id": "x", "handoff": 10**6, "prompt_tokens": 700_000, "cached_tokens": 0}
        return pl.DataFrame([first | own | values], schema=like.schema)

    return make
