"""What would settle an undecided request: its missing values filled in, and judged again.

Nothing is guessed: each remedy is tried with every answer it could give (prefill counted
the same prompt, or a placeholder; the limit lies above, or not). A request counts as settled
only if all of them lead to a tier that is sure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import polars as pl

from forensics import verdicts
from forensics.findings import FINDINGS
from forensics.incident import Incident
from forensics.observations import ensure

SURE = ("confirmed", "probable", "ruled_out")
UNDECIDED = ("possible", "not_assessable")

Answer = Callable[[Incident], dict[str, pl.Expr]]
"""Columns as they would be."""

_JUDGED = (
    *(verdicts.flag(finding.code).meta.output_name() for finding in FINDINGS),
    "tier",
    "rung",
    "input_limit_tokens",
    "noteworthy",
    "stale_pages",
)
"""What judging adds, and judging again has to add anew."""

_PROMPT = pl.max_horizontal("prompt_tokens", "decode_prompt_tokens")
_SOME = pl.lit(10_000, dtype=pl.Int64)
"""A prompt of any size, where none is known."""
_TOKENS = pl.lit(1, dtype=pl.Int64)
_NONE = pl.lit(0, dtype=pl.Int64)


@dataclass(frozen=True)
class Remedy:
    """One thing that could be had: for which requests it is missing, and what it could say."""

    need: str
    lacking: pl.Expr
    answers: tuple[Answer, ...]


def _prefill(count: pl.Expr) -> dict[str, pl.Expr]:
    return {"prefill_prompt_tokens": count, "inferred": pl.lit(value=False)}


def _decode(count: pl.Expr, tokens: pl.Expr) -> dict[str, pl.Expr]:
    seen = pl.coalesce("completion_seen", tokens)
    return {
        "decode_prompt_tokens": count,
        "prompt_tokens": pl.coalesce("prompt_tokens", count),
        "completion_seen": seen,
        "inferred": pl.lit(value=False),
    }


def _limit(low: pl.Expr, high: pl.Expr | None = None) -> dict[str, pl.Expr]:
    known = dict.fromkeys(("limit_unseen", "start_unseen"), pl.lit(value=False))
    return known | {"limit_low": low, "limit_high": low if high is None else high}


NO_PREFILL = pl.col("prefill_prompt_tokens").is_null() & pl.col("transferred_pages").is_null()
NO_DECODE = pl.col("decode_prompt_tokens").is_null()
_SPAN = (pl.col("limit_low") != pl.col("limit_high")).fill_null(value=False)
NO_LIMIT = pl.col("limit_high").is_null() | _SPAN | pl.col("start_unseen")
NO_OUTCOME = pl.col("completion_seen").is_null()

_SAME = pl.coalesce(_PROMPT, _SOME)
_OWN = pl.coalesce("prefill_prompt_tokens", _SAME)
_MORE = pl.when(_OWN == 1).then(_OWN + _SOME).otherwise(_OWN)
"""What decode counted if prefill's count is that of a placeholder."""

REMEDIES = (
    Remedy(
        "prefill side",
        NO_PREFILL & ~NO_DECODE,
        (lambda _: _prefill(_SAME), lambda _: _prefill(pl.lit(1, dtype=pl.Int64))),
    ),
    Remedy(
        "decode side",
        NO_DECODE & ~NO_PREFILL,
        (
            lambda _: _decode(_OWN, _TOKENS),
            lambda _: _decode(_MORE, _TOKENS),
            lambda _: _decode(_MORE, _NONE),
        ),
    ),
    Remedy(
        "both sides",
        NO_DECODE & NO_PREFILL,
        (
            lambda _: _decode(_SAME, _TOKENS) | _prefill(_SAME),
            lambda _: _decode(_SAME + 1, _TOKENS) | _prefill(pl.lit(1, dtype=pl.Int64)),
            lambda _: _decode(_SAME + 1, _NONE) | _prefill(pl.lit(1, dtype=pl.Int64)),
        ),
    ),
    Remedy(
        "prefill limit",
        NO_LIMIT,
        (
            lambda asked: _limit(_PROMPT + asked.trigger.slack_tokens + 1),
            lambda _: _limit(_PROMPT),
        ),
    ),
    Remedy(
        "outcome",
        NO_OUTCOME,
        (lambda _: {"completion_seen": _TOKENS}, lambda _: {"completion_seen": _NONE}),
    ),
    Remedy(
        "time zone",
        pl.col("assumed"),
        (
            lambda _: _limit(pl.col("limit_low")) | {"assumed": pl.lit(value=False)},
            lambda _: _limit(pl.col("limit_high")) | {"assumed": pl.lit(value=False)},
        ),
    ),
)


@dataclass(frozen=True)
class Effect:
    """Which requests a remedy would settle, and which it would at least get judged."""

    need: str
    settled: pl.Series
    judged: pl.Series


def effects(rows: pl.DataFrame, incident: Incident) -> list[Effect]:
    """Return what each remedy would do for each of some undecided requests."""
    return [effect(rows, remedy, incident) for remedy in REMEDIES]


def effect(rows: pl.DataFrame, remedy: Remedy, incident: Incident) -> Effect:
    """Return what a remedy would do; nothing for a request that does not lack it."""
    raw = _unjudged(rows)
    lacking = raw.select(remedy.lacking.fill_null(value=False).alias("lacking")).to_series()
    if not lacking.any():
        return Effect(remedy.need, lacking, lacking)
    tiers = [_tiers(raw, answer(incident), incident) for answer in remedy.answers]
    settled = reduce(lambda a, b: a & b, (tier.is_in(SURE) for tier in tiers))
    judged = reduce(lambda a, b: a & b, (tier != "not_assessable" for tier in tiers))
    was_judged = rows["tier"] != "not_assessable"
    return Effect(remedy.need, settled & lacking, judged & lacking & ~was_judged)


def _unjudged(rows: pl.DataFrame) -> pl.DataFrame:
    kept = rows.drop([name for name in _JUDGED if name in rows.columns])
    return ensure(kept, ["prefill_prompt_tokens", "decode_prompt_tokens", "transferred_pages"])


def _tiers(rows: pl.DataFrame, columns: dict[str, pl.Expr], incident: Incident) -> pl.Series:
    """Return the tiers that requests would have with other values."""
    nothing = pl.Series(dtype=rows["handoff"].dtype)
    return verdicts.judge(rows.with_columns(**columns), incident, nothing)["tier"]
