"""Is it still happening: what later prompts of that size show, and nothing more than that.

A prompt that was refused before any hand-off, or served in full, shows a path that works. One
that was handed on short shows the fault even where its client went away and nothing
was delivered.
"""

from __future__ import annotations

import polars as pl

from forensics.analysis import Analysis
from forensics.coverage import HOUR, hours_covered
from forensics.exposure import Ongoing, stamp
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import flag
from forensics.wording import count

_SHORT = flag("short_transfer") & (flag("over_limit") | flag("complete_but_short"))
_SIGN = pl.col("tier").is_in(AFFECTED_TIERS) | flag("placeholder_prefill") | _SHORT
_BEYOND_WINDOW = (pl.col("rejection_code") == "context_exceeded").fill_null(value=False)
"""Longer than the advertised window: was refused all along, and shows nothing."""
_REFUSED = pl.col("rejected").fill_null(value=False) & flag("not_delivered") & ~_BEYOND_WINDOW
_SERVED = flag("full_transfer") | flag("same_count")


def ongoing(analysis: Analysis) -> Ongoing:
    """Return the answer, the sentence that carries it, and the counts it rests on."""
    rows = _dated(analysis)
    times = rows["at"]
    if not rows.height:
        return Ongoing("cannot tell", "No record with a time was read.", None, None, 0, 0, 0, 0)
    affected = rows.filter("affected")
    last_affected = _last(affected["at"])
    sign = _last(rows.filter("sign")["at"])
    first, end = int(times.min()), int(times.max())  # type: ignore[arg-type]
    since = rows if last_affected is None else rows.filter(pl.col("at") > last_affected)
    long = since.filter(pl.col("over") | (pl.col("tokens") >= _shortest(affected)))
    handled = long.filter(
        pl.col("handled") & (pl.col("at") > (first - 1 if sign is None else sign))
    )
    start = first if last_affected is None else last_affected
    seen, total = hours_covered(analysis.coverage, start, end + 1)
    answer, sentence = _answer(sign, end, handled.height, since.height, total)
    return Ongoing(
        answer,  # type: ignore[arg-type]
        sentence,
        stamp(last_affected),
        stamp(end),
        since.height,
        long.height,
        total,
        seen,
    )


def _dated(analysis: Analysis) -> pl.DataFrame:
    rows = analysis.requests.select(
        at="received_at",
        tokens="prompt_tokens",
        out=flag("out_of_scope"),
        over=flag("over_limit") | flag("limit_uncertain"),
        affected=pl.col("tier").is_in(AFFECTED_TIERS),
        sign=_SIGN & ~flag("out_of_scope"),
        handled=(_REFUSED | _SERVED) & ~_SIGN,
    )
    return rows.filter(pl.col("at").is_not_null() & ~pl.col("out"))


def _shortest(affected: pl.DataFrame) -> pl.Expr:
    return pl.lit(affected["tokens"].min(), dtype=pl.Int64)


def _last(times: pl.Series) -> int | None:
    last = times.max()
    return None if last is None else int(last)  # type: ignore[arg-type]


def _answer(sign: int | None, end: int, handled: int, since: int, hours: int) -> tuple[str, str]:
    logs = f"{count(since, 'request')} in {count(hours, 'hour')} of logs"
    prompts = count(handled, "prompt")
    if sign is None and handled:
        return (
            "no",
            f"No sign of the fault, in spite of {prompts} over the limit, among {logs}.",
        )
    if sign is None:
        return (
            "cannot tell",
            f"No sign of the fault, and no prompt that would show one, among {logs}.",
        )
    if handled:
        shown = f"{prompts} of that size refused before the hand-off or served in full"
        return "no", f"Since the last sign of the fault: {shown}. Since the last affected: {logs}."
    if end - sign < HOUR:
        return (
            "yes",
            f"The fault was last seen within an hour of the end of the logs ({stamp(sign)}).",
        )
    nothing = f"no later prompt of that size shows that it has stopped, among {logs}"
    return "cannot tell", f"The fault was last seen at {stamp(sign)}; {nothing}."
