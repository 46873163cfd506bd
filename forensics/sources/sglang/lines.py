"""Text lines of a node log: which message each one is, and each counted once.

One look at how a line begins finds its message; only then are its fields taken, by the
patterns of that message. A line that has a message's literal but not its form is
unreadable; one that has no literal is another program's, or of no use here.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from forensics.sources import otherlines
from forensics.sources.bytewords import ByteLines, word_of
from forensics.sources.context import Context
from forensics.sources.lineids import fit_ids
from forensics.sources.parsed import Parsed, Unread
from forensics.sources.sglang import pieces, prefix
from forensics.sources.sglang.message import Message, Rows
from forensics.sources.sglang.messages import MESSAGES
from forensics.sources.stamps import Outer
from forensics.sources.vllm import cached

_BY_LITERAL = {literal: message for message in MESSAGES for literal in message.literals}
_LITERALS = list(_BY_LITERAL)
_DTYPES: dict[str, type] = {
    name: dtype
    for message in MESSAGES
    if message.template is not None
    for name, dtype in message.template.dtypes.items()
}
_NAMES = pl.Series("literal", [*_LITERALS, None], dtype=pl.Enum(_LITERALS))
_BY_WORD: dict[int, list[tuple[int, bytes]]] = {}
"""Number and bytes of the literals by their first word; each is at least that long."""
for _number, _literal in enumerate(_LITERALS):
    _BY_WORD.setdefault(word_of(_literal.encode()), []).append((_number, _literal.encode()))
_EITHER = "|".join(re.escape(literal) for literal in _LITERALS)
_SWALLOWED = r", bootstrap_room=|, input[ _]len=|\.bootstrap_room="
"""Fields that stand after an id and cannot be part of it."""
_CUT_PREFIX = r"^\[[0-9]{4}-[0-9A-Z_:., -]*\]?$"
_CUT_BEFORE = r"^(.{1,60}?)(?:$|\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:)"
_BEGUN = pl.Series(
    sorted({text[:end] for text in _LITERALS for end in range(1, len(text))}), dtype=pl.String
)
"""What is left of a message's literal in a line that was cut off within it."""


def tell(rows: pl.DataFrame, data: ByteLines, begins: np.ndarray) -> pl.DataFrame:
    """Return rows with the ``literal`` that each message begins with.

    Args:
        rows: of :func:`forensics.sources.sglang.prefix.split`.
        data: the lines as bytes.
        begins: where each message begins there.
    """
    first = data.words(begins)
    literal = np.full(rows.height, len(_LITERALS))
    figures = _Figures(rows.height)
    for word in pl.Series(first).unique().to_list():
        for number, text in _BY_WORD.get(word, ()):
            near = np.flatnonzero(first == word)
            near = near[data.begins_with(begins[near], text)]
            if len(near):
                literal[near] = number
                figures.read(_BY_LITERAL[_LITERALS[number]], data, begins, near)
    return rows.with_columns(_NAMES[literal], figures.column())


class _Figures:
    """Figures of lines whose messages have a template, in a column; of others they are null."""

    def __init__(self, height: int) -> None:
        self._fits = np.zeros(height, np.bool_)
        self._columns: dict[str, np.ndarray] = {
            name: np.zeros(height, dtype) for name, dtype in _DTYPES.items()
        }

    def read(self, message: Message, data: ByteLines, begins: np.ndarray, at: np.ndarray) -> None:
        """Read the lines of one message, which stand at these places among all."""
        if message.template is None:
            return
        self._fits[at], figures = message.template.read(data, begins[at])
        for name, values in figures.items():
            self._columns[name][at] = values

    def column(self) -> pl.Series:
        """Return the figures, and in which lines they were read."""
        return pl.DataFrame({**self._columns, "fits": self._fits}).to_struct("figures")


def _figured(message: Message, rows: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Return the rows whose figures were read, with these in place of ``body``, and the others."""
    if "figures" not in rows.columns:
        return [], rows
    left = rows.drop("figures")
    if message.template is None:
        return [], left
    figures = rows["figures"].struct.unnest()
    fits = figures["fits"]
    taken = left.drop("body").hstack(figures.select(list(message.template.dtypes)))
    return ([taken], left.clear()) if fits.all() else ([taken.filter(fits)], left.filter(~fits))


def parse(rows: pl.DataFrame, context: Context, parsed: Parsed, stamped: Outer) -> None:
    """Add what lines hold to ``parsed``; each is counted once.

    Args:
        rows: lines as :func:`forensics.sources.sglang.prefix.split` returns them.
        context: the file that they stand in.
        parsed: where to add.
        stamped: gives lines the time of a log collector.
    """
    rest = _begun(rows, context, parsed)
    if not rest.height:
        return
    unusual = ~pl.col("known") & ~pl.col("body").str.contains(r"^\s*$|^[ \t]")
    known = _without_cache(rest.filter(~unusual), context, parsed)
    rest = rest.filter(unusual)
    if rest.height:
        rest = _begun(stamped(prefix.split_unusual(rest, context.node)), context, parsed)
    for frame in (known, rest):
        if frame.height:
            _others(frame, context, parsed)


def _begun(rows: pl.DataFrame, context: Context, parsed: Parsed) -> pl.DataFrame:
    """Take the lines that begin with a message's literal; return the others."""
    rest = rows.select(prefix.COLUMNS).clear()
    if "literal" not in rows.columns:
        rows = rows.with_columns(literal=pl.col("body").str.extract(f"^({_EITHER})", 1))
    for (literal,), found in rows.partition_by("literal", as_dict=True).items():
        if literal is None:
            rest = found.select(prefix.COLUMNS)
        else:
            _take(_BY_LITERAL[str(literal)], found.drop("literal"), context, parsed)
    return rest


RECORD = r'\{"timestamp": ?"[^"]{10,40}", ?"event": ?"request\.'
"""Begin of a request log's record."""


def _others(rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    """Lines that begin with none: a literal further on makes them unreadable, and a record."""
    body = pl.col("body")
    wrapped = rows["body"].str.contains(RECORD)
    if wrapped.any():
        reason = "request record behind an unknown prefix"
        parsed.unread += [Unread(line, None, reason) for line in rows.filter(wrapped)["line"]]
        rows = rows.filter(~wrapped)
    rows = _whole(_shared(rows), parsed)
    # What tracebacks quote of a program is indented, and is of no time; no message is.
    quoted = body.str.contains(r"^[ \t]") & ~body.str.contains(_STAMPED)
    literal = pl.when(~quoted).then(body.str.extract(f"({_EITHER})", 1))
    sought = rows.with_columns(literal=literal)
    for (found,), part in sought.partition_by("literal", as_dict=True).items():
        if found is None:
            otherlines.count(part, context, parsed)
        else:
            _take(_BY_LITERAL[str(found)], part, context, parsed)


_CACHED = pl.col("known") & pl.col("body").str.starts_with(cached.LMCACHE)
"""Lines of a cache, which prints with the engine's prefix in the engine's process."""
_ANY_TIME = "[2000-01-01 00:00:00,000] "


def _without_cache(rows: pl.DataFrame, context: Context, parsed: Parsed) -> pl.DataFrame:
    """Take the lines of a cache; return the others."""
    theirs = rows.select(_CACHED).to_series()
    if not theirs.any():
        return rows
    cached.parse(rows.filter(theirs), context, parsed)
    return rows.filter(~theirs)


def _shared(rows: pl.DataFrame) -> pl.DataFrame:
    """Give a cache's lines of another engine's process their prefix back: they are that one's."""
    theirs = _CACHED
    if not rows.select(theirs.any()).item():
        return rows
    whole = pl.when(theirs).then(pl.lit(_ANY_TIME) + pl.col("body")).otherwise("body")
    return rows.with_columns(body=whole, known=pl.col("known") & ~theirs)


def _whole(rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Leave out lines that were cut off before it could be told what they are."""
    body = pl.col("body")
    begun = body.str.extract(_CUT_BEFORE, 1).is_in(_BEGUN.implode())
    begun &= pl.col("known") | (body.str.len_bytes() > 3)
    begun &= ~body.str.contains(_STAMPED)
    cut = rows.select(begun | (body.str.contains(_CUT_PREFIX) & ~pl.col("known"))).to_series()
    if not cut.any():
        return rows
    parsed.unread += [Unread(line, None, "line cut off") for line in rows.filter(cut)["line"]]
    return rows.filter(~cut.fill_null(value=False))


_STAMPED = r"^[ \t]+\S{0,40}\d{4}-\d\d-\d\d[ T]\d\d:"
_AGAIN = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_GLUED = f".{_AGAIN}"
"""Begin of a line behind another one that lost its end; a URL holds no such text as it is."""
_NO_TEXT = frozenset({"web-server", "prefill-batch", "decode-batch"})
"""Lines that hold no text of a client, and of which no request is taken."""


def _take(message: Message, rows: pl.DataFrame, context: Context, parsed: Parsed) -> None:
    if message.form.name in _NO_TEXT:
        rows = _alone(rows, parsed)
    if message.build is None:
        _count(message, rows, parsed)
        return
    found, misfits = _fields(message, rows)
    reason = f"{message.form.title} not in a known form"
    parsed.unread += [Unread(line, None, reason) for line in misfits]
    if not found.height:
        return
    # A line may hold the requests of a batch: each is a record.
    parsed.read += max(0, found.height + len(misfits) - rows.height)
    kept = parsed.kept + found.height
    if message.aside is not None:
        found = found.with_columns(aside=message.aside)
        for kind, count in found["aside"].drop_nulls().value_counts().iter_rows():
            parsed.ignored[kind] += count
            kept -= count
    message.build(Rows(fit_ids(found, ("rid",), context, parsed), context, parsed))
    parsed.kept = kept


def _alone(rows: pl.DataFrame, parsed: Parsed) -> pl.DataFrame:
    """Leave out lines with a further one behind them, which may be of a request."""
    # Begun with a rare byte it is found at once, which the same with any byte before it is not.
    if not rows["body"].str.contains(_AGAIN).any():
        return rows
    glued = rows["body"].str.contains(_GLUED)
    if not glued.any():
        return rows
    parsed.unread += [Unread(n, None, "two lines in one") for n in rows.filter(glued)["line"]]
    return rows.filter(~glued)


def _count(message: Message, rows: pl.DataFrame, parsed: Parsed) -> None:
    """Count lines of which nothing is taken; what is near them is not theirs."""
    fits = [pl.col("body").str.contains(pattern) for pattern in message.patterns]
    count = int(rows.select(pl.any_horizontal(fits).sum()).item()) if fits else rows.height
    parsed.ignored[message.form.title] += count
    parsed.ignored[otherlines.OTHER] += rows.height - count


def _fields(message: Message, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    """Return the rows that have a pattern, with its fields, and the lines of those that have not.

    What is usual comes first and is tried on all rows, odd patterns on what is left.
    """
    left = rows if message.bare or rows["known"].all() else rows.filter("known")
    found, left = _figured(message, left)
    if message.shapes and left.height:
        found, left = pieces.take(left, message.shapes)
    for pattern in message.patterns if left.height else ():
        fields = left["body"].str.extract_groups(pattern).struct.unnest()
        tried = left.drop("body").hstack(fields)
        fits = fields[_first_group(pattern)].is_not_null()
        if fits.all():
            found.append(tried)
            break
        found.append(tried.filter(fits))
        left = left.filter(~fits)
    whole = _together(found)
    if whole is None:
        return rows.clear(), rows["line"].to_list()
    absent = [name for name in message.groups if name not in whole.columns]
    if absent:
        whole = whole.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)
    if "rid" in whole.columns:
        whole = _ids_end(whole)
    if message.refine is not None:
        whole = message.refine(whole)
    if whole.height == rows.height:
        return whole, []
    return whole, rows["line"].filter(~rows["line"].is_in(whole["line"].implode())).to_list()


def _together(found: list[pl.DataFrame]) -> pl.DataFrame | None:
    """Return all frames as one, with the types of the first; None where there is no row."""
    found = [frame for frame in found if frame.height]
    if len(found) < 2:
        return found[0] if found else None
    first = found[0].schema
    same = [
        frame.cast({n: t for n, t in first.items() if n in frame.columns}, strict=False)
        for frame in found
    ]
    return pl.concat(same, how="diagonal", rechunk=True)


def _first_group(pattern: str) -> str:
    start = pattern.index("(?<") + 3
    return pattern[start : pattern.index(">", start)]


def _ids_end(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out lines in which an id that may hold anything holds the field that follows it."""
    swallowed = frame["rid"].str.contains(_SWALLOWED).fill_null(value=False)
    return frame.filter(~swallowed) if swallowed.any() else frame
