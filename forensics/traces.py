"""Lines that show what befell a request but not which one, held against the requests.

Such a line knows its node, its moment and the size of the prompt, to a page or exactly. A
request that fits all three may be the one: that carries it to ``possible`` and no further.
A line that no request explains stands for one that no record is left of. One that only counts
requests makes none of them possible: it knows neither size nor moment.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import duplicates, limits, matching, schema, tallies
from forensics.clock import ZONE_UNCERTAINTY, Clocks
from forensics.incident import Incident

STATE_MISMATCH, TRUNCATED = "state_mismatch", "truncated"
FITS = {STATE_MISMATCH: "fits_state_mismatch", TRUNCATED: "fits_truncated"}
"""The flag of a request that fits a line, by the line's kind."""
_PAGES = [2**power for power in range(11)]
"""Page sizes that are tried where none is known."""
_KEY = [
    *("kind", "node", "at", "tokens_low", "tokens_high"),
    *("pages_expected", "pages_sent", "tokens_kept", "requests", "named"),
]
_EXPECTED = pl.col("pages_expected")
_EVENT = [name for name in _KEY if name != "at"]
_LINE = [*_KEY, "tensor_rank"]


@dataclass(frozen=True)
class Traces:
    """Lines and what became of them.

    ``lines``: kind, node, at, assumed, requests (one), in_scope, explained. ``fits``: handoffs
    by kind of line. ``counts``: lines that count ``requests``, as many as nothing explains.
    """

    lines: pl.DataFrame
    fits: dict[str, set[int]]
    counts: pl.DataFrame

    def unexplained(self) -> pl.DataFrame:
        """Return the lines in scope that no request explains."""
        return self.lines.filter(pl.col("in_scope") & ~pl.col("explained"))

    def uncounted(self) -> pl.DataFrame:
        """Return the counts in scope of which a part or all is of requests that nothing names."""
        return self.counts.filter(pl.col("in_scope") & (pl.col("requests") > 0))

    def left(self, kind: str) -> int:
        """Return how many lines of a kind no request explains, or requests that one counts."""
        of_kind = pl.col("kind") == kind
        counted = self.uncounted().filter(of_kind)["requests"].sum()
        return self.unexplained().filter(of_kind).height + int(counted)


def match(
    lines: pl.DataFrame, requests: pl.DataFrame, epochs: pl.DataFrame, incident: Incident
) -> Traces:
    """Hold lines against the requests.

    Args:
        lines: of :func:`collect`.
        requests: one row per request, with limits attached.
        epochs: capacity epochs, for page sizes.
        incident: for the window; a line outside it stands for no response in scope.
    """
    counting = pl.col("kind").is_in(tallies.COUNTED)
    counts = _scoped(tallies.settle(lines.filter(counting), requests), incident)
    lines = lines.filter(~counting)
    if not lines.height:
        return Traces(_explained(lines, set(), incident), {}, counts)
    lines = _sized(lines, epochs)
    rows = matching.candidates(requests, _ranges(lines), lines["tokens_kept"].drop_nulls())
    state, cut = (lines.filter(pl.col("kind") == kind) for kind in FITS)
    shortened = matching.assign(cut, rows)
    stated = matching.assign(_fitted(state, rows), rows)
    rest = state.filter(~pl.col("line_number").is_in(sorted(stated.explained)))
    single = matching.assign_single(rest, rows)
    explained = shortened.explained | stated.explained | single.explained
    fits = {STATE_MISMATCH: stated.fits | single.fits, TRUNCATED: shortened.fits}
    return Traces(_explained(lines, explained, incident), fits, counts)


def attach(requests: pl.DataFrame, traces: Traces) -> pl.DataFrame:
    """Flag the requests that fit a line."""
    flags = {
        FITS[kind]: pl.col("handoff").is_in(pl.Series(sorted(keys), dtype=pl.UInt32).implode())
        for kind, keys in traces.fits.items()
        if keys
    }
    return requests.with_columns(**flags)


def collect(
    found: list[pl.DataFrame], clocks: Clocks, epochs: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines in UTC, one an event, in order and numbered; without those of no hand-off.

    Beside them, the lines that those of another file repeat (a rotated copy). A prompt that a
    decode or a unified engine shortened is no sign: decode then works on the shortened prompt
    as well.

    Args:
        found: frames of :data:`forensics.schema.TRACE_COLUMNS` with their origin.
        clocks: zone of each node's wall clock.
        epochs: capacity epochs, for roles.
    """
    wanted = {**schema.dtypes(schema.TRACE_COLUMNS), **schema.ORIGIN}
    frame = pl.concat([pl.DataFrame(schema=wanted), *found], how="diagonal_relaxed")
    frame, doubled = duplicates.without_copies(clocks.resolve(frame, ["at"]), _LINE)
    others = epochs.filter(pl.col("role").is_in(["decode", "unified"]))["node"].unique().implode()
    server = pl.col("node").str.replace(r"/[^/]*$", "")
    elsewhere = (pl.col("node").is_in(others) | server.is_in(others)).fill_null(value=False)
    frame = frame.filter(~((pl.col("kind") == TRUNCATED) & elsewhere))
    frame = _events(frame).sort(*_KEY, nulls_last=False)
    return frame.rechunk().with_row_index("line_number"), doubled


def _events(lines: pl.DataFrame) -> pl.DataFrame:
    """Return one line per event: the n-th that each tensor rank of an engine logged is one."""
    # What counts, or is one of a count, is there as often as it is logged.
    rank = pl.when(~pl.col("kind").is_in(tallies.COUNTED)).then("tensor_rank")
    nth = pl.int_range(pl.len()).over(*_EVENT, rank, order_by="at")
    events = lines.with_columns(nth=nth).group_by(*_EVENT, "nth")
    return events.agg(pl.col("at").min(), pl.col("assumed").any()).drop("nth")


def _sized(lines: pl.DataFrame, epochs: pl.DataFrame) -> pl.DataFrame:
    """Add the sizes that a prompt can have, where the page size is known."""
    asked = lines.select(
        pl.col("line_number").alias("_row"),
        pl.col("node").alias("prefill_node"),
        pl.col("at").alias("received_at"),
    )
    own = limits.in_force(asked, epochs, "prefill_node", {"page_tokens": "page"})
    page = asked.join(own, on="_row", how="left", maintain_order="left")["page"]
    fleet = epochs["page_tokens"].drop_nulls().unique()
    page = page.fill_null(fleet[0]) if len(fleet) == 1 else page
    return _paged(lines.with_columns(page=page), pl.col("page")).drop("page")


def _paged(lines: pl.DataFrame, page: pl.Expr) -> pl.DataFrame:
    return lines.with_columns(
        low=pl.coalesce("tokens_low", (_EXPECTED - 1) * page + 1),
        high=pl.coalesce("tokens_high", _EXPECTED * page),
    )


def _ranges(lines: pl.DataFrame) -> pl.DataFrame:
    """Return all sizes that a line allows; of unknown page size, for each that is tried."""
    known = lines.select("low", "high").drop_nulls()
    unknown = lines.filter(pl.col("low").is_null()).drop("low", "high")
    tried = [_paged(unknown, pl.lit(page)).select("low", "high").drop_nulls() for page in _PAGES]
    return pl.concat([known, *(tried if unknown.height else [])]).unique()


def _fitted(lines: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of known size; of the others too where one page size explains most."""
    known = lines.filter(pl.col("low").is_not_null())
    unknown = lines.filter(pl.col("low").is_null()).drop("low", "high")
    if not unknown.height:
        return known
    tried = [_paged(unknown, pl.lit(page)) for page in _PAGES]
    scores = [len(matching.assign(part.drop_nulls("low"), rows).explained) for part in tried]
    best = max(scores)
    single = best > 0 and scores.count(best) == 1
    return pl.concat([known, tried[scores.index(best)]]) if single else known


def _explained(lines: pl.DataFrame, explained: set[int], incident: Incident) -> pl.DataFrame:
    known = pl.col("line_number").is_in(sorted(explained))
    lines = lines.with_columns(pl.lit(1, dtype=pl.Int64).alias("requests"))
    return _scoped(lines, incident, explained=known)


def _scoped(lines: pl.DataFrame, incident: Incident, **more: pl.Expr) -> pl.DataFrame:
    inside = pl.lit(value=True)
    if incident.window_us is not None:
        start, end = incident.window_us
        margin = pl.when(pl.col("assumed")).then(ZONE_UNCERTAINTY).otherwise(0)
        at = pl.col("at")
        inside = ((at >= start - margin) & (at < end + margin)).fill_null(value=True)
    return lines.select(
        "kind",
        "node",
        "at",
        "assumed",
        "requests",
        in_scope=inside,
        **more,
    )
