"""Client records that share no identifier with an engine: a router's ids are not sent on.

A record joins the engine request of its prompt size where each is the only one that the
other can be: near in time, the hop before by its own times, and of one tenant, model and
delivery as far as both say. It
gives the request its tenant and the client's status; it decides nothing, since the join
is an inference. Records that could be several requests, and those without a size, are
set aside where there is an engine request for each of them: they would count one request
twice. Those of them that name a tenant are kept beside that, for as long as it is not known
whether a response that may be theirs is affected. All others stay requests, and stand for what
prefill alone logged.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from forensics import skew
from forensics.joins import candidates, direction, runs
from forensics.joins.beside import beside
from forensics.joins.callers import with_callers
from forensics.joins.gaps import ENGINE, NEAR_GAP, SESSION_GAP, UNPAIRED_GAP
from forensics.joins.in_time import in_time
from forensics.joins.unsettled import Taken, nothing, unsettled

_SPOKEN = {"attached": pl.col("spoken"), "agreed": pl.col("spoken")}
_ENOUGH = 20
"""Sure pairs from which their delay is called usual."""


@dataclass(frozen=True)
class Paired:
    """Observations with ``attached`` and ``agreed``; those set aside; and what is not settled.

    ``aside`` are client records, ``beside`` prefill's, each with the ``handoff`` of a request
    that may be theirs. ``attached`` marks client records that joined an engine request by
    inference, ``agreed`` those of them whose answer the engine's own record bears out.
    ``unsettled`` is of :mod:`forensics.joins.unsettled`: records of its client records that were
    set aside are among ``joined`` as well, under their own key.
    """

    joined: pl.DataFrame
    aside: pl.DataFrame
    beside: pl.DataFrame
    unsettled: pl.DataFrame


@dataclass(frozen=True)
class Around:
    """What the requests that are settled by identifiers tell of engines and clocks.

    ``decode`` says whether decode logged any, ``models`` are those of engines' requests,
    ``apart`` frames of :func:`forensics.skew.apart`.
    """

    decode: bool
    models: frozenset[str]
    apart: tuple[pl.DataFrame, ...]


def pair_gateway(joined: pl.DataFrame, around: Around) -> Paired:
    """Join or set aside the gateway records that pair with no record of an engine.

    Args:
        joined: observations with a numbered ``handoff``, ``earlier``, ``inferred``, ``hop``: of
            all requests that a client alone, or engines alone, logged.
        around: what the others tell, and whatever of these is told there already.
    """
    joined = with_callers(joined)
    every, requests = _both(joined, around)
    if not every.height:
        nobody = joined.with_columns(**_SPOKEN).drop("spoken", "caller")
        return Paired(nobody, nobody.clear(), nobody.clear(), nothing())
    calls = every.filter(~pl.col("own")).drop("own")
    moves, aside = _sized(calls.drop_nulls("size"), requests.drop_nulls("size"))
    moves = pl.concat([moves, _other_attempts(moves, calls, requests)])
    taken = [*moves["handoff"], *(key for _, key in aside)]
    free = requests.filter(~pl.col("handoff").is_in(taken))
    aside += in_time(calls.filter(pl.col("size").is_null()), free)
    taken += [key for pair in aside for key in pair] + moves["call"].to_list()
    rest = ~pl.col("handoff").is_in(taken)
    models = around.models | candidates.models(joined) if around.decode else None
    found = beside(models, every.filter(rest), requests.filter(rest))
    given = dict(aside)
    settled = Taken(
        calls={*moves["call"], *found.near.values()},
        requests={*moves["handoff"], *found.near, *found.stood},
    )
    open_ = unsettled(every, requests, settled, _records(joined, given))
    kept = _tenants(every.filter(pl.col("handoff").is_in(list(given))), requests, settled)
    left_out = pl.col("handoff").is_in([*(set(given) - kept), *found.stood])
    moved = _moved(joined.filter(~left_out), _agreed(moves, calls, requests))
    guessed = pl.col("handoff").is_in([*found.near, *found.near.values()])
    moved = moved.with_columns(
        inferred=pl.col("inferred") | guessed, handoff=pl.col("handoff").replace(found.near)
    )
    apart = (_renamed(joined, pairs) for pairs in (given, found.stood))
    joined, *others = (frame.drop("spoken", "caller") for frame in (moved, *apart))
    return Paired(joined, others[0], others[1], open_)


def _records(joined: pl.DataFrame, given: dict[int, int]) -> dict[int, int]:
    """Return of how many records each client record is that was set aside."""
    own = joined.filter(pl.col("handoff").is_in(list(given)))
    return dict(own.group_by("handoff").len().iter_rows())


def _tenants(aside: pl.DataFrame, requests: pl.DataFrame, taken: Taken) -> set[int]:
    """Return the client records set aside whose tenant may be that of a request without one."""
    nobodys = requests.filter(pl.col("tenant").is_null())
    if nobodys["handoff"].is_in(list(taken.requests)).all():
        return set()
    return set(aside.drop_nulls("tenant")["handoff"])


def _renamed(joined: pl.DataFrame, other: dict[int, int]) -> pl.DataFrame:
    """Return the records of some requests under the keys of others."""
    rows = joined.filter(pl.col("handoff").is_in(list(other)))
    keys = pl.col("handoff").replace_strict(other, return_dtype=pl.UInt32) if other else "handoff"
    return rows.with_columns(handoff=keys)


def _both(joined: pl.DataFrame, around: Around) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return client records and engine requests without a pair, on one clock."""
    if not joined["hop"].is_in(ENGINE).any():
        return joined.clear(), joined.clear()
    calls = candidates.calls(joined)
    if not calls.height:
        return calls, calls
    requests = candidates.requests(joined)
    usual = skew.delays(skew.measure(around.apart))
    delay = pl.col("server").replace_strict(
        list(usual) or [""], list(usual.values()) or [0], default=0, return_dtype=pl.Int64
    )
    delay = delay.fill_null(0)
    unmeasured = ~pl.col("server").is_in(list(usual)).fill_null(value=False) | pl.col("at_end")
    requests = requests.with_columns(wide=unmeasured)
    requests = direction.of_requests(requests, delay)
    started = pl.col("at") - pl.when("at_end").then(0).otherwise(delay)
    return candidates.of_one_moment(direction.of_calls(calls), requests.with_columns(at=started))


def _sized(
    calls: pl.DataFrame, requests: pl.DataFrame
) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    """Return which record joins which request, and which are set aside for which."""
    calls, requests = runs.runs(calls, requests, UNPAIRED_GAP)
    moves = runs.only_pairs(calls, requests, UNPAIRED_GAP)
    moves = pl.concat([moves, _after_the_usual_delay(moves, calls, requests)])
    rest, free = _rest(moves, calls, requests)
    # What only prefill logged says nothing of an answer: no record of one gives way to it.
    same, aside = _ambiguous(rest, free.filter(~pl.col("prefilled")))
    more = pl.DataFrame(same, schema=moves.schema, orient="row")
    return pl.concat([moves, more]), aside


def _rest(
    moves: pl.DataFrame, calls: pl.DataFrame, requests: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    rest = calls.filter(~pl.col("handoff").is_in(moves["call"].implode()))
    return rest, requests.filter(~pl.col("handoff").is_in(moves["handoff"].implode()))


def _after_the_usual_delay(
    moves: pl.DataFrame, calls: pl.DataFrame, requests: pl.DataFrame
) -> pl.DataFrame:
    """Return more pairs: each the only one within seconds of what the sure ones took.

    Where many prompts are of one size, a minute holds several; how long a request takes
    from the gateway to each server, by the sure pairs, tells most of them apart.
    """
    usual = _usual(moves, calls, requests)
    rest, free = _rest(moves, calls, requests)
    if not usual or not free["server"].is_in(list(usual)).all():
        return moves.clear()
    delay = pl.col("server").replace_strict(list(usual), list(usual.values()))
    free = free.with_columns(at=pl.col("at") - delay)
    return runs.only_pairs(*runs.runs(rest.drop("run"), free.drop("run"), NEAR_GAP), NEAR_GAP)


def _usual(moves: pl.DataFrame, calls: pl.DataFrame, requests: pl.DataFrame) -> dict[str, int]:
    """Return each server's usual delay, microseconds, where there are enough and they agree."""
    sent = calls.select(call="handoff", sent="at")
    pairs = moves.join(sent, on="call").join(requests, on="handoff")
    delay = pl.col("at") - pl.col("sent")
    spread = delay.quantile(0.95, "higher") - delay.quantile(0.05, "lower")
    found = pairs.group_by("server").agg(
        pl.len().alias("pairs"), spread.alias("spread"), delay.median().floor().cast(pl.Int64)
    )
    found = found.filter((pl.col("pairs") >= _ENOUGH) & (pl.col("spread") <= NEAR_GAP))
    return dict(found.select("server", "at").drop_nulls().sort("server").iter_rows())


def _ambiguous(
    rest: pl.DataFrame, free: pl.DataFrame
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return pairs that are of one tenant whichever is which, and those to be set aside."""
    left_in = dict(free.group_by("run").len().iter_rows())
    run_of = dict(free.select("handoff", "run").iter_rows())
    same: list[tuple[int, int]] = []
    aside: list[tuple[int, int]] = []
    for own, taken in runs.in_order(rest, free):
        alike = {(call.tenant, call.model, call.delivered) for call in own}
        whole = left_in[run_of[taken[0]]] == len(own)
        pairs = [(call.key, key) for call, key in zip(own, taken, strict=True)]
        (same if whole and len(alike) == 1 and own[0].tenant else aside).extend(pairs)
    return same, aside


def _other_attempts(
    moves: pl.DataFrame, calls: pl.DataFrame, requests: pl.DataFrame
) -> pl.DataFrame:
    """Return the hand-offs that share the engine's id with one that a record joined."""
    if not requests["unit"].is_duplicated().any():
        return moves.clear()
    mine = requests.select("handoff", "unit").join(moves, on="handoff").drop("handoff").unique()
    told = calls.select("at", "tenant", "size", *direction.TIMES, call="handoff")
    mine = mine.join(told, on="call")
    others = requests.join(moves, on="handoff", how="anti").join(mine, on="unit")
    same = [pl.col(n).eq(pl.col(f"{n}_right")).fill_null(value=True) for n in ("tenant", "size")]
    near = (pl.col("at") - pl.col("at_right")).abs() <= SESSION_GAP
    before = direction.holding(call="_right", request="")
    others = others.filter(near, before, *same, pl.col("handoff").is_unique())
    return others.select("call", "handoff")


def _agreed(moves: pl.DataFrame, calls: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Add whether both sides say the same about delivery, and which attempts are earlier."""
    said = calls.select(call="handoff", said="delivered")
    found = requests.select("handoff", "delivered", "at")
    moves = moves.join(said, on="call").join(found, on="handoff")
    last = pl.col("handoff").sort_by("at", "handoff").last().over("call")
    return moves.select(
        "call",
        to="handoff",
        before=pl.col("handoff") != last,
        agreed=pl.col("said").eq(pl.col("delivered")).fill_null(value=False),
    )


def _moved(joined: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    stays = joined.filter(~pl.col("handoff").is_in(moves["call"].implode()))
    own = joined.join(moves, left_on="handoff", right_on="call")
    own = own.with_columns(handoff="to", earlier="before", attached=pl.lit(value=True))
    stays = stays.with_columns(**_SPOKEN)
    return pl.concat([stays, own.select(stays.columns)]).rechunk()
