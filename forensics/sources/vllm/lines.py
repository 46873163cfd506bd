"""Text lines of a vLLM log: which message each one is, and each counted once.

A line counts as a message only behind a prefix. One that begins as a message and has not its
form is unreadable; one that begins as none is of no use here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from forensics import years
from forensics.sources import otherlines
from forensics.sources.context import Context
from forensics.sources.lineids import fit_ids
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.vllm import doubt, prefix
from forensics.sources.vllm.message import Message, Rows
from forensics.sources.vllm.messages import MESSAGES
from forensics.sources.vllm.year import NO_YEAR

_NUMBER = {text: at for at, message in enumerate(MESSAGES) for text in message.literals}
_INSIDE = {text: at for at, message in enumerate(MESSAGES) for text in message.inside}
_BARE = [at for at, message in enumerate(MESSAGES) if message.bare]
_CONTENT = [at for at, message in enumerate(MESSAGES) if message.whole]
_READ = [text for message in MESSAGES if message.build is not None for text in message.literals]
_CACHED = sorted(text for text in _READ if text.startswith(prefix.LMCACHE))
_ANOTHER = (
    rf"(?:{prefix.STAMP}\] (?:{'|'.join(map(re.escape, sorted(_READ)))})"
    rf"|{prefix.DATED}(?:{'|'.join(map(re.escape, _CACHED))}))"
)
"""A line of which something would be taken."""
_TIMELESS = pl.col("yearless") & pl.col("local").is_null()
ELSEWHERE = "message from a place that does not print it"
_QUOTES = pl.col("file").str.contains(
    r"^(?:serving|protocol|chat_utils|preprocess|renderer|exception)\w*\.py$|parser\w*\.py$"
)
"""Modules of the API server that print what clients sent, and no message of the engine."""


def _either(texts: dict[str, int]) -> str:
    return "|".join(re.escape(text) for text in texts)


_BEGINS = pl.col("body").str.extract(f"^({_either(_NUMBER)})", 1)
_HOLDS = pl.col("body").str.extract(f"({_either(_INSIDE)})", 1)


def parse(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Add what lines hold to ``parsed``; each is counted once.

    Args:
        rows: lines as :func:`forensics.sources.vllm.prefix.split` returns them.
        context: the file that they stand in.
        parsed: where to add.
    """
    rows = _placed(_told(rows), parsed)
    rows = _without(rows, lambda told: doubt.continued(told, _CUT_OFF), parsed)
    opened = sorted(line for at in _CONTENT for line in _message(at, rows, context, parsed))
    rows = rows.filter(~pl.col("message").is_in(_CONTENT).fill_null(value=False))
    if opened:
        rows = _without(rows, lambda rest: doubt.enclosed(rest, opened), parsed)
    for at in sorted(rows["message"].drop_nulls().unique()):
        _message(at, rows, context, parsed)
    _others(rows.filter(pl.col("message").is_null()), context, parsed)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the number of each line's message."""
    begin = _BEGINS.replace_strict(_NUMBER, default=None, return_dtype=pl.Int32)
    rows = rows.with_columns(message=begin)
    rest = rows["message"].is_null()
    # What is indented belongs to a traceback or a dump, which quote anything.
    if rest.any() and (sought := rest & ~rows["body"].str.contains(r"^\s")).any():
        held = rows.filter(sought).select(
            _HOLDS.replace_strict(_INSIDE, default=None, return_dtype=pl.Int32)
        )
        number = rows["message"].scatter(sought.arg_true(), held.to_series())
        rows = rows.with_columns(message=number)
    bare = pl.col("message").is_in(_BARE)
    return rows.with_columns(message=pl.when(pl.col("known") | bare).then("message"))


_TAKEN = [at for at, message in enumerate(MESSAGES) if message.build is not None]
_OF_FRONT = [at for at, message in enumerate(MESSAGES) if message.front]
_DOUBTED = "message at the place and time of another one: a record, or text of that one"


def _placed(rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Leave out messages that can be read and may be a part of a record above: neither is known.

    What stands at a place that prints no such message is text of that record.
    """
    own = pl.col("message").is_in(_TAKEN) & ~_QUOTES.fill_null(value=False)
    own &= ~pl.col("front") | pl.col("message").is_in(_OF_FRONT)
    doubted = doubt.continued(rows, _CUT_OFF) & rows.select(own.fill_null(value=False)).to_series()
    if not doubted.any():
        return rows
    parsed.unread += [Unread(line, None, _DOUBTED) for line in rows.filter(doubted)["line"]]
    return rows.filter(~doubted)


def _without(
    rows: pl.DataFrame, part: Callable[[pl.DataFrame], pl.Series], parsed: Parsed
) -> pl.DataFrame:
    """Count the lines that belong to a record above them, and return the others."""
    doubted = part(rows)
    if not doubted.any():
        return rows
    parsed.ignored[doubt.CONTINUED] += int(doubted.sum())
    return rows.filter(~doubted)


_STAMPED = (
    r"^\s+(?:\([^()]{1,60}\) )?"
    rf"(?:[A-Z]{{4,8}} \d\d-\d\d \d\d:\d\d:\d\d |{prefix.DATED}{prefix.LMCACHE})"
)
"""Begin of a line of the log that something moved to the right: no traceback has it."""


_GLUED = rf"\S.*{_ANOTHER}"
"""Such a line behind a progress bar, or behind one that lost its end."""
_CUT = rf"^{prefix.LEVEL} [0-9]{{2}}-[0-9]{{2}}[0-9: ]*(?:\[?[^\[\]\s]*)?$"
_BEGUN = pl.Series(
    sorted({text[:end] for text in _READ for end in range(2, len(text))}), dtype=pl.String
)
"""What is left of a message in a line that was cut off within it."""
_CUT_OFF = pl.col("body").is_in(_BEGUN.implode()).fill_null(value=False)
_ODD = {
    "log line behind white space": pl.col("body").str.contains(_STAMPED),
    "log line behind other text": pl.col("body").str.contains(_GLUED),
    "line cut off": pl.when("known").then(_CUT_OFF).otherwise(pl.col("body").str.contains(_CUT)),
}


def _others(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    for reason, is_odd in _ODD.items():
        odd = rows.select(is_odd.fill_null(value=False)).to_series()
        if odd.any():
            parsed.unread += [Unread(line, None, reason) for line in rows.filter(odd)["line"]]
            rows = rows.filter(~odd)
    otherlines.count(rows, context, parsed)


def _message(at: int, rows: pl.DataFrame, context: Context, parsed: Parsed) -> list[int]:
    """Take the lines of one message; return those that are not in its form."""
    found, message = rows.filter(pl.col("message") == at), MESSAGES[at]
    if at not in _CONTENT:
        found = _alone(found, parsed)
    if not found.height:
        return []
    if message.build is None:
        return _count(message, found, parsed)
    elsewhere = _QUOTES.fill_null(value=False)
    if not message.front:
        elsewhere = elsewhere | pl.col("front")
    doubted = found.select(elsewhere).to_series()
    if doubted.any():
        parsed.ignored[ELSEWHERE] += int(doubted.sum())
        found = found.filter(~doubted)
    return _take(message, found, context, parsed)


def _alone(rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Leave out lines with a further one behind them: the values of neither can be told."""
    glued = rows["body"].str.contains(_ANOTHER)
    if not glued.any():
        return rows
    lines = rows.filter(glued)["line"].to_list()
    parsed.read += len(lines)
    parsed.unread += [Unread(line, None, "two lines in one") for line in lines for _ in range(2)]
    return rows.filter(~glued)


def _take(message: Message, rows: pl.DataFrame, context: Context, parsed: Parsed) -> list[int]:
    found, misfits = _fields(message, rows)
    reason = f"{message.form.title} not in a known form"
    parsed.unread += [Unread(line, None, reason) for line in misfits]
    if found.height and message.build is not None:
        # A line may hold several requests: each is a record.
        parsed.read += found.height - found["line"].n_unique()
        kept = found.height
        if message.aside is not None:
            found = found.with_columns(aside=message.aside)
            for kind, count in found["aside"].drop_nulls().value_counts().iter_rows():
                parsed.ignored[kind] += count
                kept -= count
        parsed.kept += kept
        taken = Rows(fit_ids(found, message.ids, context, parsed), context, parsed).kept
        _count_yearless(taken.frame, parsed)
        message.build(taken)
    return misfits


def _count_yearless(rows: pl.DataFrame, parsed: Parsed) -> None:
    untold = rows.filter(years.is_untold("local")).height
    if untold:
        parsed.notes[NO_YEAR] += untold
    parsed.bad_values["received_at"] += rows.filter(_TIMELESS).height


def _count(message: Message, rows: pl.DataFrame, parsed: Parsed) -> list[int]:
    """Count lines of which nothing is taken; what is near them is not theirs."""
    patterns = message.whole or message.patterns
    fits = rows.select(_any(patterns)).to_series() if patterns else None
    count = rows.height if fits is None else int(fits.sum())
    parsed.ignored[message.form.title] += count
    parsed.ignored[otherlines.OTHER] += rows.height - count
    return rows.filter(~fits)["line"].to_list() if fits is not None and message.whole else []


def _any(patterns: tuple[str, ...]) -> pl.Expr:
    return pl.any_horizontal(pl.col("body").str.contains(pattern) for pattern in patterns)


def _fields(message: Message, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    """Return the rows that have a pattern, with its fields, and the lines of the others."""
    left = rows.filter(_any(message.whole)) if message.whole else rows
    found: list[pl.DataFrame] = []
    for pattern in message.patterns:
        if not left.height:
            break
        fields = left["body"].str.extract_groups(pattern).struct.unnest()
        fits = fields[fields.columns[0]].is_not_null()
        if fits.any():
            found.append(left.hstack(fields).filter(fits))
            left = left.filter(~fits)
    if not found:
        return rows.clear(), rows["line"].to_list()
    whole = pl.concat(found, how="diagonal", rechunk=True)
    names = {name for pattern in message.patterns for name in re.findall(r"\(\?<(\w+)>", pattern)}
    absent = sorted(names - set(whole.columns))
    whole = whole.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)
    if message.prepare is not None:
        whole = message.prepare(whole)
    elif whole.height == rows.height:
        return whole, []
    return whole, rows["line"].filter(~rows["line"].is_in(whole["line"].implode())).to_list()
