"""Limits after a hole: what was lost may be a start, and the pool another one since.

The log of a prefill server tells its pool where it starts. Where records of it are known to be
missing, and it wrote nothing for long enough to start anew, a start may be among them; what its
limit is then is not known until a log tells a pool again. Shown is that much: a prompt that
the server was given since, and computed, was below the limit, and so was each that is shorter.
Others clear nobody by their length; at or over the smallest limit that is in force on any prefill
server then they are possible. What the incident states holds all the same, and a
silence from which no record is known to be missing is none of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from forensics.boots import BEGINNING, END
from forensics.capacity import Capacity
from forensics.columns import ensure
from forensics.coverage.alive import MARGIN, MINUTE, batches, minutes, server
from forensics.findings.over_limit import most
from forensics.limits import OWN_REFUSAL, STATED, epoch_nodes, steps
from forensics.requests import JOINED

START = 2 * MINUTE
"""The shortest silence (µs) in which a server that served before may serve again from a start."""
_SPANS: dict[str, pl.DataType] = {
    "server": pl.String(),
    "begin": pl.Int64(),
    "until": pl.Int64(),
    "silent": pl.Boolean(),
}


@dataclass(frozen=True)
class Logged:
    """What is known of the logs of prefill.

    Attributes:
        capacity: epochs, when pools were told, and what the incident alone states.
        lacking: requests that logs lack, of :class:`forensics.coverage.holes.Holes`.
        observed: records with ``handoff``, ``hop`` and ``received_at``.
        worked: of :func:`forensics.activity.hourly`.
    """

    capacity: Capacity
    lacking: pl.DataFrame
    observed: pl.DataFrame
    worked: pl.DataFrame


def attach(requests: pl.DataFrame, logged: Logged) -> pl.DataFrame:
    """Widen the limits of requests after a hole; without one the frame is returned as it is.

    Args:
        requests: with the limits of :func:`forensics.limits.attach`.
        logged: what is known of the logs.

    Returns:
        The same rows. ``start_unseen`` says of whom the length shows nothing for that reason.
    """
    lost = logged.lacking.filter(pl.col("hop") == "prefill")
    spans = pl.DataFrame(list(_spans(lost, logged)), schema=_SPANS, orient="row")
    if not spans.height:
        return requests
    spans = spans.with_row_index("span")
    rows = _placed(_timed(requests, logged.observed), spans, logged.capacity)
    rows = rows.join(_computed(rows), on=["span", "prefill_node"], how="left")
    rows = _least(rows, logged.capacity.epochs).sort("_row")
    sure = pl.col("limit_basis").is_in([STATED, OWN_REFUSAL]).fill_null(value=False)
    doubt = pl.col("silent").is_not_null() & ~sure
    unseen = doubt & (most >= pl.col("shown")).fill_null(value=True)
    # Whom the limit from before does not clear, it need not be kept from clearing.
    unseen &= (most < pl.col("limit_low")).fill_null(value=False)
    least = pl.when(unseen).then(pl.min_horizontal("limit_low", "least"))
    told = rows.select(
        limit_low=least.otherwise("limit_low"),
        limit_unseen=pl.col("limit_unseen") | unseen,
        start_unseen=unseen,
    )
    return requests.with_columns(told)


_COUNTS = ("prompt_tokens", "decode_prompt_tokens", "prefill_prompt_tokens", "prompt_seen")
_PAGES = ("reserved_pages", "transferred_pages")


def _timed(requests: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Return the requests with the time at which the server's own log has them, if it has."""
    own = observed.filter(pl.col("hop").is_in(["prefill", JOINED]))
    own = own.group_by("handoff").agg(own=pl.col("received_at").min())
    names = ("handoff", "prefill_node", "received_at", "handed_off_at", "inferred")
    limited = ("limit_low", "limit_basis", "limit_unseen")
    rows = ensure(requests, [*_COUNTS, *_PAGES]).select(*names, *limited, *_COUNTS, *_PAGES)
    rows = rows.with_row_index("_row").join(own, on="handoff", how="left")
    at = pl.coalesce("own", "handed_off_at", "received_at")
    return rows.with_columns(at=at, server=server("prefill_node"))


def _placed(rows: pl.DataFrame, spans: pl.DataFrame, capacity: Capacity) -> pl.DataFrame:
    """Add the ``span`` that each row is in: of its server, or of any where that is not known."""
    homes = epoch_nodes(rows["prefill_node"], capacity.epochs)
    stated = [node for node, home in homes.items() if home in capacity.limited_by_statement]
    known = pl.col("prefill_node").is_in(list(homes)).fill_null(value=False)
    own = rows.filter(known & ~pl.col("prefill_node").is_in(stated))
    found = [_within(own, spans, ["server"]), _within(rows.filter(~known), _any(spans), [])]
    return rows.join(pl.concat(found), on="_row", how="left")


def _within(rows: pl.DataFrame, spans: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Return ``_row``, ``span`` and ``silent`` of the rows in some spans that do not overlap."""
    joined = (
        rows.drop_nulls("at")
        .sort("at")
        .join_asof(
            spans.sort("begin"),
            left_on="at",
            right_on="begin",
            by=by or None,
            strategy="backward",
            check_sortedness=False,
        )
    )
    return joined.filter(pl.col("at") < pl.col("until")).select("_row", "span", "silent")


def _any(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans of all servers as one: where a row is of none that is known."""
    rows = spans.sort("begin", "until")
    before = pl.col("until").cum_max().shift(1, fill_value=BEGINNING)
    group = (pl.col("begin") > before).cum_sum()
    whole = rows.group_by(group=group).agg(pl.col("begin").min(), pl.col("until").max())
    return whole.select("begin", "until", span=pl.lit(None, pl.UInt32), silent=pl.lit(value=True))


def _computed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the largest prompt that each node computed in each span, as ``shown``."""
    same = pl.col("prefill_prompt_tokens") == pl.col("decode_prompt_tokens")
    whole = pl.col("transferred_pages") == pl.col("reserved_pages")
    sure = rows.filter((same | whole) & ~pl.col("inferred") & ~pl.col("silent"))
    least = pl.min_horizontal(*_COUNTS)
    return sure.group_by("span", "prefill_node").agg(shown=least.max() + 1)


def _least(rows: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Add the smallest limit that was in force on any server of prefill, as ``least``."""
    of_prefill = pl.col("role").is_null() | (pl.col("role") == "prefill")
    known = steps(epochs.filter(of_prefill & pl.col("limit_low").is_not_null()))
    known = known.select(since="at", least="low")
    return rows.sort("at").join_asof(known, left_on="at", right_on="since", strategy="backward")


def _spans(lost: pl.DataFrame, logged: Logged) -> Iterator[tuple[str, int, int, bool]]:
    """Yield the spans in which the limit of a server is not known, and whether it was silent."""
    if not lost.height:
        return
    told = _told(logged.capacity)
    wrote = minutes(logged.observed, "prefill", JOINED).drop_nulls("server")
    ran = batches(logged.worked, "prefill").join(wrote, on="server", how="anti")
    cells = pl.concat([wrote, ran, told.select("server", begin="at", end=pl.col("at") + 1)])
    lost = lost.select("at", server=server("node")).sort("at")
    nobody = lost.filter(pl.col("server").is_null())["at"]
    moments = dict(told.group_by("server").agg(pl.col("at").sort()).iter_rows())
    for (name,), own in cells.sort("server", "begin", "end").group_by("server"):
        missing = pl.concat([nobody, lost.filter(pl.col("server") == name)["at"]]).sort()
        holes = _holes(own, missing)
        yield from ((str(name), *span) for span in _after(holes, moments.get(name, [])))


def _told(capacity: Capacity) -> pl.DataFrame:
    """Return when logs told a pool or a start of a server of prefill."""
    epochs = capacity.epochs.filter(
        (pl.col("role").is_null() | (pl.col("role") == "prefill"))
        & ~pl.col("effective_at").is_in([BEGINNING])
    )
    every = pl.concat([epochs.select("node", at="effective_at"), capacity.told])
    return every.select("at", server=server("node")).drop_nulls().unique()


def _holes(cells: pl.DataFrame, lost: pl.Series) -> list[tuple[int, int]]:
    """Return the silences of a server in which a start has room and a record is missing."""
    begin = np.append(cells["begin"].to_numpy(), END)
    end = np.append(BEGINNING, np.maximum.accumulate(cells["end"].to_numpy()))
    times = lost.to_numpy()
    last = np.searchsorted(times, begin + MARGIN, side="right")
    first = np.searchsorted(times, end - MARGIN, side="left")
    found = (begin - end >= START) & (last > first)
    return list(zip(end[found].tolist(), begin[found].tolist(), strict=True))


def _after(holes: list[tuple[int, int]], told: list[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield each silence, and what follows until a pool is told or the next one begins."""
    moments = np.array([*told, END])
    for (begin, end), (following, _) in pairwise([*holes, (END, END)]):
        until = min(int(moments[np.searchsorted(moments, end)]), following)
        yield begin, end, True
        if until > end:
            yield end, until, False
