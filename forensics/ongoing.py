"""Is it still happening: what later prompts of that size show, and nothing more than that.

A prompt that was refused before any hand-off, or served in full, shows a path that works. One
that was handed on short shows the fault even where its client went away and nothing
was delivered. A line of a hand-off cut short that no request explains, or a count of requests
that nothing names, is no proof of it, and leaves open whether it has stopped.
"""

from __future__ import annotations

import polars as pl

from forensics.activity import HOUR
from forensics.analysis import Analysis
from forensics.coverage import hours_covered
from forensics.exposure import Ongoing, stamp
from forensics.schema import AFFECTED_TIERS
from forensics.verdicts import flag
from forensics.wording import count, moment

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
    sign, line = _last(rows.filter("sign")["at"]), _last(_nameless(analysis))
    first, end = int(times.min()), int(times.max())  # type: ignore[arg-type]
    since = rows if last_affected is None else rows.filter(pl.col("at") > last_affected)
    long = since.filter(pl.col("over") | (pl.col("tokens") >= _shortest(affected)))
    hint = max(first - 1 if at is None else at for at in (sign, line))
    handled = long.filter(pl.col("handled") & (pl.col("at") > hint))
    start = first if last_affected is None else last_affected
    seen, total = hours_covered(analysis.coverage, start, end + 1)
    logs = f"{count(since.height, 'request')} in {count(total, 'hour')} of logs"
    answer, sentence = _answer(sign, line, end, handled.height, logs)
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


def _nameless(analysis: Analysis) -> pl.Series:
    """Return the times of lines that may show the fault and that no request explains."""
    found = (analysis.traces.unexplained(), analysis.traces.uncounted())
    return pl.concat([part["at"] for part in found])


def _shortest(affected: pl.DataFrame) -> pl.Expr:
    return pl.lit(affected["tokens"].min(), dtype=pl.Int64)


def _last(times: pl.Series) -> int | None:
    last = times.max()
    return None if last is None else int(last)  # type: ignore[arg-type]


def _answer(
    sign: int | None, line: int | None, end: int, handled: int, logs: str
) -> tuple[str, str]:
    prompts = count(handled, "prompt")
    nothing = f"no later prompt of that size shows that it has stopped, among {logs}"
    if handled and sign is None and line is None:
        return "no", f"No sign of the fault, in spite of {prompts} over the limit, among {logs}."
    if handled:
        shown = f"{prompts} of that size refused before the hand-off or served in full"
        return "no", f"Since the last sign of the fault: {shown}. Since the last affected: {logs}."
    if sign is not None and end - sign < HOUR:
        seen = f"The fault was last seen within an hour of the end of the logs ({moment(sign)})."
        return "yes", seen
    if line is not None and (sign is None or line > sign):
        cut = f"A line that shows the fault or may, at {moment(line)}, fits no request"
        return "cannot tell", f"{cut}; {nothing}."
    if sign is None:
        without = f"No sign of the fault, and no prompt that would show one, among {logs}."
        return "cannot tell", without
    return "cannot tell", f"The fault was last seen at {moment(sign)}; {nothing}."
