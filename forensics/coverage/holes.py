"""Requests that other hops prove and of which the logs of a hop hold no record.

The rule of who is cleared by a prompt's length alone: **below the limit is no answer where the logs
of an engine's hop hold requests and none of this one, and the record would have shown**

* how many pages came, as the hop's others count them: a transfer that ended early is short at any
  length;
* or which limit there was: prefill's record tells the server. Where nobody else names it, and the
  logs hold requests before this one and after it, it was one of which no log was given, and what is
  known of the others says nothing of its pool. Before the first that they hold and after the last
  they may only not reach so far. What the incident states of every server holds of that one too.

It makes no difference how much of its hop the logs hold, and what other requests show: none of that
may vanish with a record, and clear somebody by it. A hop that holds no request has no log, or its
engines log troubles alone. Then lengths and statuses are all there is, and length clears, unless
the record was lost.

A record was *lost*, and length clears nobody either, where

* another hop's record names its server, and that server logged other requests;
* or the hop's logs hold nearly every request of its neighbours in their fuller hours, or, of many,
  more than one server of two could have. Where logs begin and end makes no difference: one that is
  cut off must not look more whole than one that has an hour less. Nor does the silence of a
  server: it counts as if the logs held as much as at their best, so that who takes more away from
  them cannot make them look less whole;
* or one of the hop's servers was silent for an hour or more, or wrote nothing at all though it was
  started; or it is of one of two hand-offs under one number, of which the hop logged the other.

Of the others nothing tells whether they were lost: one server's logs of four were given, or some
requests only are logged, or they are spans, of which no more than some are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from forensics import schema
from forensics.activity import HOUR
from forensics.believed import JOINED
from forensics.columns import ensure
from forensics.coverage.alive import Lines, batches, minutes, server, silences, started
from forensics.schema import ENGINE_HOP, HOPS

KEPT = 0.75
"""Share of the neighbours' requests from which on a hop's logs count as kept."""
FULLER = 0.75
"""Which hour of all is looked at, by its share: hours that lost records say nothing of the rest."""
HALF = 0.55
"""Share of the requests that one server of two may have: logs that hold more are no one's alone."""
_CHANCE = -math.log(1e-6)
"""How sure it must be that they do (Chernoff's bound on the tail of a binomial count)."""
LEAST, SEVERAL = 10, 20
"""Requests of an hour from which its share says something, and is no chance alone."""
SPEAKS_FOR = {
    "gateway": ("gateway", JOINED),
    "prefill": ("prefill", JOINED, ENGINE_HOP),
    "decode": ("decode", JOINED, ENGINE_HOP),
}
"""Hops whose records stand for one of each hop: a joined record speaks for the whole request."""
LACKS: dict[str, pl.DataType] = {
    "handoff": pl.UInt32(),
    "hop": pl.String(),
    "at": pl.Int64(),
    "hour": pl.Int64(),
    "node": pl.String(),
}

_UNTOLD: dict[str, pl.DataType] = {**LACKS, "needed": pl.Boolean()}


@dataclass(frozen=True)
class Holes:
    """Requests in holes, one row per request and hop that lacks a record, and shares kept.

    ``lacking``: handoff, hop, time and hour (µs), and the node where that is told. ``untold``:
    the same where nothing tells that a record was lost, and whether it is ``needed`` by the rule.
    ``shares``: hop, the share of the neighbours' requests that the hop's logs hold in one of their
    fuller hours (:data:`FULLER`), whether they hold so many that any which they lack was lost
    (``kept``), and from which hour to which they reach. ``unanswered``: keys of requests that
    gateways' logs lack, though they log requests: another attempt of theirs may have been answered.
    """

    lacking: pl.DataFrame
    untold: pl.DataFrame
    shares: pl.DataFrame
    unanswered: pl.Series

    @property
    def unheld(self) -> pl.Series:
        """Keys of the requests that their length does not clear, by the rule above."""
        needed = self.untold.filter("needed")["handoff"]
        return pl.concat([self.lacking["handoff"], needed]).unique()

    @property
    def lost(self) -> pl.DataFrame:
        """``lacking`` with ``sure``: of the others only the silence of a server tells.

        They may be of another one, of which no log was given or which logs no requests.
        """
        kept = self.shares.filter("kept")["hop"]
        sure = pl.col("hop").is_in(kept.implode()) | pl.col("node").is_not_null()
        return self.lacking.with_columns(sure=sure)


_SIGNALS = [
    column.name
    for column in schema.ENGINE_COLUMNS
    if column.kind == "flag" and column.name not in ("unverified", schema.TIMED_LATE)
]
_TOLD = ("rejected", "rejection_code", "transfer_status", *_SIGNALS)
_TROUBLE = (
    pl.any_horizontal(pl.col("rejected", *_SIGNALS).fill_null(value=False))
    | pl.col("rejection_code").is_not_null()
    | pl.col("transfer_status").is_in(["failed", "aborted"]).fill_null(value=False)
)
"""What engines that log no requests say all the same of those that fared badly."""
_KEPT = ("handoff", "hop", "file", "received_at", "prefill_node", "decode_node")
READ = (*_KEPT, *_TOLD)
"""What is read of records."""


def find(
    requests: pl.DataFrame,
    observed: pl.DataFrame,
    within: pl.Series,
    lines: Lines | None,
    partial: list[int],
    *,
    anywhere: bool,
) -> Holes:
    """Return the requests that a hop's logs should hold and do not.

    Args:
        requests: folded requests with ``handoff``, ``received_at`` and ``handed_off_at``.
        observed: their records, with what is there of :data:`READ`.
        within: keys of requests that a gateway's record may be of, of
            :func:`forensics.joins.within`: whether it lacks them is not known.
        lines: what else shows that a server was there; None where only parts of logs were read.
        partial: numbers of files that hold some requests by their nature: no loss shows there.
        anywhere: whether the limit is known of whatever server of prefill there may be.
    """
    observed = ensure(observed, READ).select(*_KEPT, served=~_TROUBLE)
    rows = _seen(requests, observed)
    rows = rows.with_columns(open=pl.col("handoff").is_in(within.implode()))
    whole = observed.filter(~pl.col("file").is_in(partial)) if partial else observed
    found, untold, shares = [pl.DataFrame(schema=LACKS)], [pl.DataFrame(schema=_UNTOLD)], []
    unanswered = rows["handoff"].clear()
    for hop in HOPS:
        hours = _hours(observed, lines, hop)
        if not hours.len():
            continue
        first, last = int(hours.min()), int(hours.max())  # type: ignore[arg-type]
        asked = rows.filter(_expected(hop) & ~(pl.col("open") & (hop == "gateway"))).select(
            "handoff", "at", "hour", has=f"has_{hop}"
        )
        silent = pl.repeat(False, asked.height, dtype=pl.Boolean, eager=True)
        if lines is not None and _hours(whole, lines, hop).len():
            silent = silences(asked["at"], whole, lines, hop).over(asked["at"])
        asked = asked.with_columns(silent=silent)
        reach = asked.filter(pl.col("hour").is_between(first, last))
        logs = _logs_requests(asked.filter("has")["handoff"], whole, hop)
        share, kept = _share(reach)
        kept &= logs
        shares.append((hop, share, kept, first, last))
        lost = asked.filter(~pl.col("has")).with_columns(hop=pl.lit(hop))
        lost = _placed(lost, requests, observed)
        hole = lost["silent"]
        if logs:
            hole |= lost["named"] | kept
            hole |= lost["handoff"].is_in(_beside(requests, rows, hop).implode())
            unanswered = lost["handoff"] if hop == "gateway" else unanswered
        hole &= ~_elsewhere(lost["node"], observed, lines, hop)
        unlimited = ~pl.col("named") & _amid(asked) & (hop == "prefill" and not anywhere)
        needed = (unlimited | _counts_pages(requests, rows, hop)) & logs
        untold.append(lost.filter(~hole).with_columns(needed=needed).select(*_UNTOLD))
        found.append(lost.filter(hole).select(*LACKS))
    schema = {"hop": pl.String, "share": pl.Float64, "kept": pl.Boolean}
    schema |= {"first_hour": pl.Int64, "last_hour": pl.Int64}
    return Holes(
        pl.concat(found).sort("handoff", "hop"),
        pl.concat(untold).sort("handoff", "hop"),
        pl.DataFrame(shares, schema=schema, orient="row"),
        unanswered,
    )


def _amid(asked: pl.DataFrame) -> pl.Expr:
    """Say whose time is between those of requests that a hop holds, or is not known."""
    held = asked.filter("has")["at"]
    return pl.col("at").is_between(pl.lit(held.min()), pl.lit(held.max())).fill_null(value=True)


def _placed(lost: pl.DataFrame, requests: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Add the node that lost each record: another hop's record names it, or it is the only one.

    ``named`` says that it is the former.
    """
    rows = ensure(requests, ["prefill_node", "decode_node"])
    found = lost.join(rows.select("handoff", "prefill_node", "decode_node"), on="handoff")
    told, named = pl.lit(None, dtype=pl.String), pl.lit(value=False)
    for hop in ("prefill", "decode"):
        own = pl.col(f"{hop}_node").filter(pl.col("hop") == hop).drop_nulls()
        nodes = observed.select(own.unique()).to_series().to_list()
        only = pl.lit(nodes[0] if len(nodes) == 1 else None, dtype=pl.String)
        told = pl.when(pl.col("hop") == hop).then(pl.coalesce(f"{hop}_node", only)).otherwise(told)
        named |= (pl.col("hop") == hop) & pl.col(f"{hop}_node").is_not_null()
    return found.with_columns(node=told, named=named)


def _logs_requests(held: pl.Series, observed: pl.DataFrame, hop: str) -> bool:
    """Say whether a hop logs requests, and not troubles alone."""
    speakers = pl.col("hop").is_in(list(SPEAKS_FOR[hop]))
    served = observed.select("handoff", told=speakers & pl.col("served")).filter("told")["handoff"]
    return bool(held.is_in(served.implode()).any())


_PAGES = {
    "gateway": (),
    "prefill": ("transferred_pages", "transferred_tokens"),
    "decode": ("reserved_pages", "reserved_tokens", "transferred_pages", "transferred_tokens"),
}
"""What a hop's record says of a transfer that ended early."""


def _counts_pages(requests: pl.DataFrame, rows: pl.DataFrame, hop: str) -> bool:
    """Say whether a hop's logs count pages: of others a record shows no transfer to be short."""
    names = _PAGES[hop]
    own = rows.filter(f"has_{hop}").select("handoff")
    told = ensure(requests, list(names)).select("handoff", *names)
    own = told.join(own, on="handoff", how="semi")
    return any(own[name].is_not_null().any() for name in names)


_ROOM = r"^[0-9]{1,19}$"
"""A hand-off's own number: a trace, which spans several calls, has another form."""


def _beside(requests: pl.DataFrame, rows: pl.DataFrame, hop: str) -> pl.Series:
    """Return the requests that share their hand-off's number with one that a hop logged.

    One record of two uses of a number was kept: the other was written to a log that was, too.
    """
    twice = requests.filter(requests["transfer_id"].is_duplicated())
    twice = twice.filter(pl.col("transfer_id").str.contains(_ROOM)).select("handoff", "transfer_id")
    if hop == "gateway" or not twice.height:
        return twice["handoff"].clear()
    logged = twice.join(rows.filter(f"has_{hop}"), on="handoff", how="semi")
    return twice.join(logged, on="transfer_id", how="semi")["handoff"]


def _elsewhere(
    nodes: pl.Series, observed: pl.DataFrame, lines: Lines | None, hop: str
) -> pl.Series:
    """Say which nodes are known, and of a server that nothing which was given is of."""
    given = [minutes(observed, hop, JOINED)["server"]]
    if lines is not None:
        given += [batches(lines.worked, hop)["server"], started(lines.epochs, hop)]
    named = nodes.to_frame("node").select(server("node")).to_series()
    return named.is_not_null() & ~named.is_in(pl.concat(given).drop_nulls().unique().implode())


def _seen(requests: pl.DataFrame, observed: pl.DataFrame) -> pl.DataFrame:
    """Return each request with its hour, the hops that logged it, and whether it was refused."""
    hops = observed.group_by("handoff").agg(
        pl.col("hop").is_in(list(speakers)).any().alias(f"has_{hop}")
        for hop, speakers in SPEAKS_FOR.items()
    )
    known = [name for name in ("http_status", "completion_tokens") if name in requests.columns]
    whole = requests.select("handoff", "received_at", "handed_off_at", *known)
    absent = [name for name in ("http_status", "completion_tokens") if name not in known]
    whole = whole.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in absent)
    refused = (pl.col("http_status") >= 400) & (pl.col("completion_tokens").fill_null(0) == 0)
    at = pl.coalesce("handed_off_at", "received_at")
    refused = refused.fill_null(value=False)
    rows = whole.select("handoff", at=at, hour=at // HOUR * HOUR, refused=refused)
    return rows.join(hops, on="handoff").filter(pl.col("hour").is_not_null())


def _expected(hop: str) -> pl.Expr:
    """Say which requests a hop must have logged: a gateway's refusal reaches no engine."""
    if hop == "gateway":
        return pl.lit(value=True)
    engines = pl.col("has_prefill") | pl.col("has_decode")
    return engines | ~pl.col("refused")


def _hours(observed: pl.DataFrame, lines: Lines | None, hop: str) -> pl.Series:
    """Return the hours in which any node of a hop logged a request, or ran a batch."""
    at = pl.col("received_at").filter(pl.col("hop") == hop).drop_nulls()
    logged = observed.select(at // HOUR * HOUR).to_series().unique()
    if lines is None:
        return logged
    ran = lines.worked.filter(pl.col("hop") == hop)["hour"].drop_nulls()
    return pl.concat([logged, ran]).unique()


def _share(within: pl.DataFrame) -> tuple[float, bool]:
    """Return the share of requests that a hop holds in one of its fuller hours, and what it tells.

    Args:
        within: requests in reach of its logs: ``hour``, ``has``, and ``silent`` where a server was.

    Returns:
        The share, and whether so many of the requests are held that the others were lost.
    """
    told = ~pl.col("silent")
    hours = within.group_by("hour").agg(
        pl.len(),
        pl.col("has").sum().alias("held"),
        told.sum().alias("told"),
        (pl.col("has") & told).sum().alias("kept"),
    )
    many = hours.filter(pl.col("told") >= SEVERAL)
    best = (many if many.height else hours).select((pl.col("kept") / pl.col("told")).max()).item()
    if best is None or math.isnan(best):
        best = 1.0
    silent = pl.col("len") - pl.col("told")
    hours = hours.with_columns(kept=pl.max_horizontal("held", pl.col("kept") + best * silent))
    share, least = _fuller(hours, "held"), _fuller(hours, "kept")
    number, held = int(hours["len"].sum()), float(hours["kept"].sum())
    return share, least >= KEPT or _beyond_half(held, number)


def _fuller(hours: pl.DataFrame, held: str) -> float:
    """Return the share that is held of one of the fuller hours."""
    each = pl.col(held) / pl.col("len")
    some = hours.filter(pl.col("len") >= LEAST).select(each).to_series()
    if some.len():
        return float(some.quantile(FULLER, "higher") or 0.0)
    return float(hours[held].sum()) / max(1.0, float(hours["len"].sum()))


def _beyond_half(held: float, number: int) -> bool:
    """Say whether that many of so many are more than one server of two could have."""
    if held <= HALF * number:
        return False
    part, rest = held / number, 1 - held / number
    apart = part * math.log(part / HALF)
    apart += rest * math.log(rest / (1 - HALF)) if rest > 0 else 0.0
    return number * apart >= _CHANCE


def attach(requests: pl.DataFrame, holes: Holes) -> pl.DataFrame:
    """Flag the requests in holes; without any the frame is returned as it is."""
    if not (holes.lacking.height or holes.untold.height or holes.unanswered.len()):
        return requests
    return requests.with_columns(
        in_a_hole=pl.col("handoff").is_in(holes.unheld.implode()),
        in_a_gateway_hole=pl.col("handoff").is_in(holes.unanswered.implode()),
    )
