"""The sample's requests as they would be judged, and what being a sample does to them.

A hand-off whose other side is in the files but not in the sample is undecided for no want
of logs. Such rows are set apart, unless the same time was read of all files: what is
unpaired there is unpaired in the files.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics.believed import JOINED
from forensics.checking import whatif
from forensics.checking.inventory import Stock, rounded
from forensics.checking.presence import DAY
from forensics.checking.survey import Survey
from forensics.checking.timeslices import Span
from forensics.observations import ensure
from forensics.schema import AFFECTED_TIERS, ENGINE_HOP
from forensics.verdicts import BY_LENGTH, ruled_by

_LONGEST_ANSWER = 600_000_000
"""Microseconds after which an answer that prefill began is thought to be logged."""
_ENOUGH = 20
"""Hand-offs of a common time from which a share of unpaired ones says something."""


@dataclass(frozen=True)
class Judged:
    """``rows`` are the undecided requests that lack something which is not in the files.

    They have ``weight``, how many requests of the whole files each stands for,
    ``lost_side``: prefill or decode, whose logs of that day are there without it,
    ``bare_side``: that whose record is there without a count, and
    ``told_by``: which hop's log names a request of which neither side's count is there.
    ``by_length`` are requests that are ruled out by their length alone and lack such a record,
    with the same columns. ``apart`` are those that only the sample leaves unpaired; ``lost`` is
    the share of hand-offs without a prefill record in times that were read of all files.
    """

    requests: pl.DataFrame
    rows: pl.DataFrame
    by_length: pl.DataFrame
    apart: pl.DataFrame
    lost: float | None

    @property
    def nameless(self) -> pl.DataFrame:
        """Requests that may be affected, as far as is known, and name no tenant."""
        rows = self.requests.filter(pl.col("tier").is_in([*AFFECTED_TIERS, "not_assessable"]))
        rows = rows.join(self.apart.select("handoff"), on="handoff", how="anti")
        return rows.filter(pl.col("tenant_id").is_null())

    @property
    def lost_weight(self) -> float:
        """About how many of decode's that were set apart have no partner in the files either."""
        rows = self.apart.filter(whatif.NO_PREFILL & ~whatif.NO_DECODE)
        return float(rows["weight"].sum()) * (self.lost or 0.0)

    @property
    def estimated(self) -> int:
        """About how many undecided requests there are in the whole files."""
        return whole_number(float(self.rows["weight"].sum()) + self.lost_weight)


def whole_number(weight: float) -> int:
    """Return a weight as a count: exact where it is one, else to two digits."""
    return int(weight) if weight == int(weight) else rounded(weight)


def judged(survey: Survey, stock: Stock) -> Judged:
    """Return the undecided requests of the sample and what they stand for."""
    requests = survey.analysis.requests
    rows = ensure(requests, ["prefill_prompt_tokens", "decode_prompt_tokens", "transferred_pages"])
    undecided = pl.col("tier").is_in(whatif.UNDECIDED)
    rows = rows.filter(undecided | (ruled_by(BY_LENGTH) & _LACKS_A_SIDE)).sort("handoff")
    rows = rows.join(_behind(survey), on="handoff", how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("weight").fill_null(1.0))
    rows = rows.with_columns(lacking=_lacking(survey, stock)).with_columns(
        lost_side=pl.when(~_BARE).then("lacking"), bare_side=pl.when(_BARE).then("lacking")
    )
    only_sample = _sampled(survey, stock) & ~_known_lost(survey) & _LACKS_A_SIDE
    by_length = rows.filter(~undecided & pl.col("lost_side").is_not_null() & ~only_sample)
    rows = rows.filter(undecided)
    paired = _would_be_settled(rows, survey) & rows.select(only_sample).to_series()
    apart, kept = rows.filter(paired), rows.filter(~paired)
    return Judged(requests, kept, by_length, apart, _lost(requests, survey))


def _behind(survey: Survey) -> pl.DataFrame:
    """Return how many requests each hand-off stands for, and which hop's log names it.

    Of a joined one the least of its files: all of its records had to be in the sample.
    """
    factors = {seen.source.number: seen.factor or 1.0 for seen in survey.looks}
    weight = pl.col("file").replace_strict(
        list(factors), list(factors.values()), default=1.0, return_dtype=pl.Float64
    )
    observed = survey.analysis.observations
    told_by = pl.coalesce(
        pl.when(pl.col("hop").eq(hop).any()).then(pl.lit(hop)) for hop in ("gateway", JOINED)
    ).fill_null(ENGINE_HOP)
    own = [pl.col("hop").eq(side).any().alias(f"has_{side}") for side in ("prefill", "decode")]
    return observed.group_by("handoff").agg(
        weight.min().alias("weight"), told_by.alias("told_by"), *own
    )


def _known_lost(survey: Survey) -> pl.Expr:
    """Say where a partner would be in the sample if it were in the files.

    Prefill is done before decode is: what decode logged in a common time has its partner there.
    The other way round, answers that took long may be logged after its end.
    """
    early = [(start, end - _LONGEST_ANSWER) for start, end in survey.together]
    prefill = whatif.NO_PREFILL & ~whatif.NO_DECODE & _within(survey.together)
    return prefill | (whatif.NO_DECODE & ~whatif.NO_PREFILL & _within(early))


def _within(spans: list[Span]) -> pl.Expr:
    inside = [_AT.is_between(start, end) for start, end in spans]
    return pl.any_horizontal(inside or [pl.lit(value=False)]).fill_null(value=False)


_LACKS_A_SIDE = whatif.NO_PREFILL | whatif.NO_DECODE
_AT = pl.col("received_at")


_BARE = (
    pl.when(pl.col("lacking") == "engine")
    .then((pl.col("has_prefill") | pl.col("has_decode")) & (pl.col("told_by") != ENGINE_HOP))
    .otherwise(pl.when(pl.col("lacking") == "prefill").then("has_prefill").otherwise("has_decode"))
    .fill_null(value=False)
)
"""Whether the record of a side that lacks is there, without what it should count.

Of what engines alone name the sentence says no more than that.
"""


def _lacking(survey: Survey, stock: Stock) -> pl.Expr:
    """The side of which a row has no count though files have that side's of its day.

    ``engine`` stands for both.
    """
    prefill, decode = (
        _within([_days(span) for span in _spans(survey, stock, side, partly=False)])
        for side in ("prefill", "decode")
    )
    return pl.coalesce(
        pl.when(lacks & covered).then(pl.lit(side))
        for side, lacks, covered in (
            ("prefill", whatif.NO_PREFILL & ~whatif.NO_DECODE, prefill),
            ("decode", whatif.NO_DECODE & ~whatif.NO_PREFILL, decode),
            ("engine", whatif.NO_DECODE & whatif.NO_PREFILL, prefill & decode),
        )
    )


def _sampled(survey: Survey, stock: Stock) -> pl.Expr:
    """Say where a side that a row lacks may be in a file that was read in part."""
    lacking = {"prefill": whatif.NO_PREFILL, "decode": whatif.NO_DECODE}
    return pl.any_horizontal(
        lacks & _within(_spans(survey, stock, side, partly=True)) for side, lacks in lacking.items()
    )


def _days(span: Span) -> Span:
    return span[0] // DAY * DAY, (span[1] // DAY + 1) * DAY - 1


def _spans(survey: Survey, stock: Stock, side: str, *, partly: bool) -> list[Span]:
    """Return the times of files that have a side's counts; ``partly``: of sampled ones."""
    spans = {
        stock.spans[seen.source.number]
        for seen in survey.looks
        if side in stock.offered[seen.source.number]
        and seen.source.number in stock.spans
        and not (partly and seen.whole)
    }
    return sorted(spans)


def _would_be_settled(rows: pl.DataFrame, survey: Survey) -> pl.Series:
    """Say which rows only their other side is missing from."""
    needs = ("prefill side", "decode side", "both sides")
    settled = pl.Series([False] * rows.height, dtype=pl.Boolean)
    for remedy in whatif.REMEDIES:
        if remedy.need in needs and rows.height:
            settled = settled | whatif.effect(rows, remedy, survey.incident).settled
    return settled


def _lost(requests: pl.DataFrame, survey: Survey) -> float | None:
    """Return the share of decode's hand-offs without prefill, where all files were read."""
    rows = ensure(requests, ["prefill_prompt_tokens", "decode_prompt_tokens", "transferred_pages"])
    rows = rows.filter(_within(survey.together) & ~whatif.NO_DECODE)
    if rows.height < _ENOUGH:
        return None
    return float(rows.select(whatif.NO_PREFILL.mean()).item())
