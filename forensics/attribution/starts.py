"""When a rank's pool was empty for certain: its starts, as far as logs show them.

A capacity record may be a snapshot of a running engine, or a line of a second engine that never
ran. It counts as a start where the engine's own lines, or a warm-up, show one; where nothing can
have run on the rank before it; or where it tells another pool, another release or, among the same
settings, another figure, which cannot come without a start: a record holds from its time on. Not so
where records contradict each other, at one moment or there and back, where the engine's own figures
deny its pool, and where it is a line of a start that nothing bears out: which of them is right no
record says, and across them nothing is settled. That logs begin with a record shows nothing of what
ran before (:mod:`forensics.attribution.earliest`). Any other record may be of a start all the same,
unless a request held pages across it. A start is of a whole server: one that a request outlived on
any of its ranks was none. Where what is told may be of one start or of two, one looks back to the
earlier: whoever ran since is possible, and nobody is certain.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from forensics.attribution import deniedpools, earliest, moments, places
from forensics.attribution.anywhere import START_OFF
from forensics.attribution.earliest import Earliest
from forensics.attribution.refusals import at_the_door
from forensics.attribution.running import Told
from forensics.attribution.startlines import StartLines
from forensics.boots import BEGINNING
from forensics.capacity import server_of
from forensics.columns import ensure
from forensics.limits import epoch_nodes

TOLERANCE = START_OFF


@dataclass(frozen=True)
class Start:
    """A moment at which a rank's pool was empty, and whether the engine itself logged it.

    Whoever ran before ``serves`` may have run on the engine before: it may serve while this loads.
    """

    at: int
    logged: bool
    serves: int


@dataclass(frozen=True)
class Starts:
    """Starts of the ranks of one side, by rank, and what looks like one.

    ``outlived`` are those that a request held pages across, and records that contradict what was
    told before; ``unsure`` may be of a running engine, and of these ``against`` contradict it.
    """

    side: str
    known: dict[str, list[Start]]
    outlived: dict[str, list[int]]
    unsure: dict[str, list[int]]
    against: dict[str, list[int]]

    @property
    def moments(self) -> dict[str, list[int]]:
        """When each rank started (µs)."""
        return {rank: [start.at for start in known] for rank, known in self.known.items()}


def of_side(
    requests: pl.DataFrame,
    side: str,
    epochs: pl.DataFrame,
    told: StartLines,
    probed: pl.DataFrame,
    figures: pl.DataFrame,
) -> Starts:
    """Return the starts of the ranks of one side.

    Args:
        requests: with ``received_at`` and what decode logged.
        side: ``decode`` or ``prefill``.
        epochs: :attr:`forensics.capacity.Capacity.epochs`.
        told: of :func:`forensics.attribution.startlines.read`.
        probed: records of health checks and warm-ups.
        figures: of :func:`forensics.attribution.usage.figures`.
    """
    every_rank = _ran(requests, side)
    ran = every_rank.drop_nulls("node").sort("node")
    begun, came = earliest.by_rank(every_rank), earliest.moments(every_rank)
    asked, warmed = earliest.together(epochs), earliest.warm_ups(probed, side)
    homes = epoch_nodes(ran["node"].unique().sort(), epochs)
    servers = pl.col("node").map_elements(server_of, return_dtype=pl.String)
    holds = ran.drop_nulls(["taken", "ended"]).select("taken", "ended", server=servers)
    shares = deniedpools.by_rank(figures)
    starts = Starts(side, {}, {}, {}, {})
    for node in ran["node"].unique(maintain_order=True):
        home = pl.lit(homes.get(node), dtype=pl.String)
        own = epochs.filter(pl.col("node") == home).sort("effective_at")
        shown = Earliest(begun.get(node), came, warmed.get(node, came[:0]), asked)
        denied = deniedpools.moments(own, shares.get(node))
        found = _sorted_out(own, server_of(node), shown, told, denied)
        held = holds.filter(pl.col("server") == server_of(node))
        over = {at for at in found.moments if _outlived(at, held)}
        starts.known[node] = [start for start in found.starts if start.at not in over]
        starts.outlived[node] = sorted(over.intersection(found.firm))
        starts.against[node] = sorted({*found.against} - over)
        starts.unsure[node] = sorted({*found.maybe, *found.against} - over)
    return starts


def attach(requests: pl.DataFrame, *sides: Starts) -> pl.DataFrame:
    """Set ``decode_since`` or ``prefill_since`` to the last known start before each request.

    Null where none is known, or where the zone of the request's clock was assumed. A request that
    ran before the engine had a pool looks back to the start before, as the old one may serve on.
    One shortly before a start may be of the engine before it, and looks back to the start of that.
    """
    for starts in sides:
        asked = _ran(requests, starts.side)
        timed = asked.filter(pl.col("began").is_not_null() & ~pl.col("assumed")).sort("began")
        rows = [(node, one.at, one.serves) for node, known in starts.known.items() for one in known]
        kinds = {"node": pl.String, "start": pl.Int64, "serves": pl.Int64}
        found = timed.join_asof(
            pl.DataFrame(rows, kinds, orient="row").sort("serves", "start"),
            left_on="began",
            right_on="serves",
            by="node",
            check_sortedness=False,
        ).select("_row", "node", "start")
        every = asked.join(found, on=["_row", "node"], how="left", maintain_order="left")
        requests = _with_starts(requests, every.sort("_row", maintain_order=True), starts.side)
    return requests


def _with_starts(requests: pl.DataFrame, every: pl.DataFrame, side: str) -> pl.DataFrame:
    """Set the start of each row's own rank, which is the first, and those of all of several."""
    own = every.unique("_row", keep="first", maintain_order=True)["start"]
    requests = requests.with_columns(own.alias(f"{side}_since"))
    if f"{side}_ranks" not in requests.columns:
        return requests
    starts = every.group_by("_row", maintain_order=True).agg("start")["start"]
    of_several = pl.when(places.several(requests.columns, side)).then(starts)
    return requests.with_columns(of_several.alias(f"{side}_ranks_since"))


def _ran(requests: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return where each request ran on one side, since when, and what it held of the pool when."""
    rows = ensure(requests.with_row_index("_row"), ["reserved_at", "released_at"])
    rows = places.on_each(rows, side)
    # Of several ranks the times are from the first hold to the last, and of none.
    held = pl.lit(side == "decode") & ~places.several(rows.columns, side)
    began = moments.first(rows.columns, side)
    return rows.select(
        "_row",
        "node",
        began=pl.when(~moments.timeless(rows.columns, side)).then(began),
        taken=pl.when(held).then("reserved_at"),
        ended=pl.when(held).then("released_at"),
        assumed=pl.col("assumed"),
        may_have_run=~at_the_door(rows.columns),
    )


@dataclass
class _Sorted:
    """Starts, and moments of records that may be of one or that contradict what was told before."""

    starts: list[Start] = field(default_factory=list)
    maybe: list[int] = field(default_factory=list)
    against: list[int] = field(default_factory=list)

    @property
    def firm(self) -> list[int]:
        """Moments of what cannot be of one run with what was before."""
        return [*(start.at for start in self.starts), *self.against]

    @property
    def moments(self) -> list[int]:
        return [*self.firm, *self.maybe]


def _sorted_out(
    own: pl.DataFrame, server: str, shown: Earliest, told: StartLines, denied: set[int]
) -> _Sorted:
    """Sort the records of a rank by what they show."""
    found = _Sorted()
    known: Told | None = None
    every = [(int(row["effective_at"]), Told.of(row)) for row in own.iter_rows(named=True)]
    for place, (at, told_now) in enumerate(every):
        logged = told.shows(server, at, first=known is None)
        other = known is not None and known.contradicts(told_now)
        early = known is None and shown.nothing_before(at)
        stray = (server, at) in told.stray or at in denied
        settled = other and not stray and not _disputed(every, place)
        if logged or early or settled or (other and shown.warmed_up(at)):
            serves = told.loaded.get((server, at), at)
            found.starts += [Start(at, logged, serves)] if at > BEGINNING else []
        elif known is not None:
            (found.against if other else found.maybe).append(at)
        if known is None or not other:
            known = told_now if known is None or logged else known.with_more(told_now)
        elif logged or at not in denied:
            known = told_now
    apart = {*told.apart.get(server, ())}.difference(one.at for one in found.starts)
    found.starts += [Start(at, logged=True, serves=at) for at in apart]
    found.starts.sort(key=lambda one: one.at)
    return found


def _disputed(every: list[tuple[int, Told]], place: int) -> bool:
    """Say whether records disagree with one that contradicts what was told before it.

    Another of the same moment does, and so do those that tell again what was told before it, or
    that told what it says before others that deny it: settings do not go there and back unseen.
    """
    at, now = every[place]
    against = [n for n, (_, told) in enumerate(every) if told.contradicts(now)]
    if any(every[n][0] == at for n in against):
        return True
    before = [every[n][1] for n in against if n < place]
    after = [every[n][1] for n in against if n > place]
    back = any(not one.contradicts(told) for one in before for told in after)
    agreed = [n for n in range(place) if n not in against]
    return back or any(
        every[n][1].contradicts(every[between][1])
        for n in agreed
        for between in against
        if n < between < place
    )


def _outlived(at: int, held: pl.DataFrame) -> bool:
    """Say whether a request held pages from before a moment until after it."""
    over = (pl.col("taken") < at) & (pl.col("ended") > at + TOLERANCE)
    return bool(held.select(over.any()).item()) if held.height else False
