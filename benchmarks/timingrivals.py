"""Who finds what was never computed: simple rules, two libraries' detectors, and this package.

All get the same requests of the same seeded incidents. The detectors are told how many affected
there are, which nobody knows in an incident; nothing else is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from forensics.lab.timings import TimingConfig, TimingRun, draw
from forensics.timing import alarms, stage
from forensics.timing.percentiles import HOUR, bucket_of

SHARES = (0.001, 0.01, 0.05)
REQUESTS = 40_000
Find = Callable[[pl.DataFrame, int], pl.Series]
_Z = 3.0
_NO_EPOCHS = pl.DataFrame(schema={"node": pl.String, "effective_at": pl.Int64})
_LOW = bucket_of(pl.col("prompt_tokens"))


@dataclass(frozen=True)
class Score:
    """One finder on one incident: found and right, alone and among prompts over the limit."""

    finder: str
    affected: int
    found: int
    right: int
    found_over: int
    right_over: int
    seconds: float


def frame(run: TimingRun) -> pl.DataFrame:
    """Return the requests of a run as the stage gets them, with ``over`` and ``affected``."""
    rows = pl.DataFrame(run.requests)
    at = pl.col("received_at").str.to_datetime(time_unit="us", time_zone="UTC").cast(pl.Int64)
    limit = run.config.pool_tokens
    return rows.with_columns(
        at,
        handoff=pl.int_range(pl.len(), dtype=pl.UInt32),
        model=pl.lit("m"),
        assumed=pl.lit(value=False),
        limit_low=pl.lit(limit + 1, dtype=pl.Int64),
        over=pl.col("prompt_tokens") > limit,
        affected=pl.col("request_id").is_in(run.affected),
    )


def p5_rule(rows: pl.DataFrame, _: int) -> pl.Series:
    """The runbook's alarm alone: requests of a long-context hour in alarm that are that fast."""
    hours = alarms.hourly(rows).filter("alarm", "long_context").select("hour", "low", "usual_ms")
    asked = rows.select(HOUR, "prefill_ms", low=_LOW)
    found = asked.join(hours, on=["hour", "low"], how="left", maintain_order="left")
    fast = found["prefill_ms"] < alarms.FALLEN * found["usual_ms"]
    return fast.fill_null(value=False)


def z_scores(rows: pl.DataFrame, _: int) -> pl.Series:
    """Three standard deviations below the mean logarithm of its prompt-length bucket."""
    log = pl.col("prefill_ms").log()
    asked = rows.select(log.alias("log"), low=_LOW)
    apart = (pl.col("log") - pl.col("log").mean().over("low")) / pl.col("log").std().over("low")
    return asked.select((apart < -_Z).fill_null(value=False)).to_series()


def isolation_forest(rows: pl.DataFrame, affected: int) -> pl.Series:
    """scikit-learn's IsolationForest on logarithms, told the share."""
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(contamination=_share(rows, affected), random_state=0)
    return pl.Series(model.fit_predict(_features(rows)) == -1)


def local_outliers(rows: pl.DataFrame, affected: int) -> pl.Series:
    """scikit-learn's LocalOutlierFactor on logarithms, told the share."""
    from sklearn.neighbors import LocalOutlierFactor

    model = LocalOutlierFactor(contamination=_share(rows, affected))
    return pl.Series(model.fit_predict(_features(rows)) == -1)


def this_package(rows: pl.DataFrame, _: int) -> pl.Series:
    """Expectation by tokens to compute, false discoveries, physical bound."""
    scored, _times = stage.attach(rows, pl.DataFrame(), {}, _NO_EPOCHS)
    return scored["timing_fast"].fill_null(value=False)


def _share(rows: pl.DataFrame, affected: int) -> float:
    return min(max(affected / rows.height, 1e-4), 0.5)


def _features(rows: pl.DataFrame) -> np.ndarray:
    asked = rows.select("prompt_tokens", "cached_tokens", "prefill_ms")
    left = pl.col("prompt_tokens") - pl.col("cached_tokens")
    logs = asked.with_columns(left=left).select((pl.all() + 1).log())
    return logs.to_numpy()


FINDERS: dict[str, Find] = {
    "the runbook's p5 rule alone": p5_rule,
    "z-score per bucket": z_scores,
    "scikit-learn IsolationForest": isolation_forest,
    "scikit-learn LocalOutlierFactor": local_outliers,
    "`forensics timing`": this_package,
}


def measured(
    requests: int = REQUESTS,
    shares: Sequence[float] = SHARES,
    finders: Sequence[str] = tuple(FINDERS),
) -> Iterator[Score]:
    """Yield the score of each finder on each incident, one incident for each share."""
    for seed, share in enumerate(shares, start=1):
        rows = frame(draw(TimingConfig(seed=seed, requests=requests, affected=share)))
        truth, over = rows["affected"], rows["over"]
        for name in finders:
            begun = time.perf_counter()
            found = FINDERS[name](rows, int(truth.sum()))
            seconds = time.perf_counter() - begun
            both = found & over
            yield Score(
                name,
                int(truth.sum()),
                int(found.sum()),
                int((found & truth).sum()),
                int(both.sum()),
                int((both & truth).sum()),
                seconds,
            )


HEAD = (
    "of requests never computed",
    "affected",
    "found",
    "precision",
    "recall",
    "precision over the limit",
    "recall over the limit",
    "seconds",
)


def cells(scores: Sequence[Score]) -> list[list[str]]:
    """Return a row for each finder, counts summed over the incidents."""
    return [_row(name, [one for one in scores if one.finder == name]) for name in FINDERS]


def _row(name: str, mine: Sequence[Score]) -> list[str]:
    affected = sum(one.affected for one in mine)
    found, right = sum(one.found for one in mine), sum(one.right for one in mine)
    over, right_over = sum(one.found_over for one in mine), sum(one.right_over for one in mine)
    return [
        name,
        f"{affected:,}",
        f"{found:,}",
        _share_of(right, found),
        _share_of(right, affected),
        _share_of(right_over, over),
        _share_of(right_over, affected),
        f"{sum(one.seconds for one in mine):.2f}",
    ]


def _share_of(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "none"
