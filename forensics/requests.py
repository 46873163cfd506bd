"""Observations to one row per request and attempt.

A value is taken from the hop that is believed first for its column; what hops
disagree about is kept as a finding, not averaged away. If one hop logged several
values, the one that clears least is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from forensics import arrivals, failures, joins, schema
from forensics.attribution import sizes
from forensics.believed import BELIEVED, JOINED
from forensics.columns import ensure
from forensics.findings.not_delivered import UNTOLD_STATUS
from forensics.schema import ENGINE_HOP, Column

if TYPE_CHECKING:
    from forensics.folding.kept import Kept

_HOPS = ("gateway", JOINED, "decode", "prefill", ENGINE_HOP)
_SIGNALS = tuple(
    column.name
    for column in schema.ENGINE_COLUMNS
    if column.kind == "flag" and column.name != schema.TIMED_LATE
)
ANY_HOP = ("rejected", "stream_error", *_SIGNALS)
"""Columns that are true as soon as one hop says so."""
FEWEST, MOST = ("transferred_pages", "transferred_tokens"), ("reserved_pages", "reserved_tokens")
"""Where the sides differ about pages, the figures that clear least are held together."""
CLIENT_ANSWER = (
    "http_status",
    "finish_reason",
    "completion_tokens",
    "stream_error",
    "finished_at",
)
"""What a client was answered: of one attempt, the last."""
_COMPARED = (
    "model",
    "prompt_tokens",
    "http_status",
    "completion_tokens",
    "reserved_pages",
    "transferred_pages",
    "prefill_prompt_tokens",
    "decode_prompt_tokens",
)
_CLIENTS = ("model", "prompt_tokens", "http_status", "completion_tokens")
"""Of these each side of the hand-off speaks for itself."""

_CARRIED = (
    "request_id",
    "transfer_id",
    "tenant_id",
    "received_at",
    "prefill_node",
    "decode_node",
    "prompt_tokens",
    "decode_prompt_tokens",
    "prefill_ms",
    "transferred_pages",
    "reserved_at",
    "rejected",
    "rejection_code",
)
"""Columns that are there for all requests even if no record filled them."""


@dataclass(frozen=True)
class Requests:
    """One row per request and attempt, what is asked of its records, and what was set aside.

    ``frame`` has the columns of the schema that any record filled plus ``attempt``, ``handoff``,
    ``handed_off_at``, ``inferred``, ``tenant_inferred``, ``assumed``, ``disagreement`` (a column on
    which hops differ), ``sizes_differ``, ``delivery_disputed``, ``tenants_differ`` and, where
    records of one name several ranks, ``decode_ranks`` and ``prefill_ranks``. ``records`` are those
    behind them, with some of their columns, and ``logged`` the same with those that were set aside,
    each once; ``behind`` returns those of some hand-offs with all. ``assumed`` are the nodes whose
    zone was a guess, ``unsure`` hand-offs of :func:`forensics.attribution.hopclocks.unsure`.
    ``unpaired`` counts gateway records that an engine's own record may already stand for,
    ``stood_for`` prefill's that a gateway's stands for; both were set aside. ``unsettled`` is of
    :mod:`forensics.joins.unsettled`. ``within`` are keys of hand-offs that prefill alone logged, in
    the time of a gateway's record that may be theirs. ``doubled``, ``probes`` and ``probed`` are
    handed on. ``orphans`` are times of late releases under rooms that no other record names;
    ``clock_pairs`` says how far the nodes' clocks are apart.
    """

    frame: pl.DataFrame
    records: Kept
    logged: Kept
    unpaired: int
    stood_for: int
    unsettled: pl.DataFrame
    within: pl.Series
    doubled: pl.DataFrame
    probes: dict[int, int]
    probed: pl.DataFrame
    orphans: pl.Series
    clock_pairs: pl.DataFrame
    assumed: frozenset[str]
    unsure: pl.Series
    behind: Callable[[pl.Series], pl.DataFrame]

    @property
    def doubles(self) -> pl.Series:
        """Keys of hand-offs that may be one another's, of which records were set aside as well."""
        return doubles(self.unsettled)


def doubles(unsettled: pl.DataFrame) -> pl.Series:
    """Return :attr:`Requests.doubles` of :mod:`forensics.joins.unsettled`."""
    return unsettled.filter(pl.col("aside") > 0)["handoff"]


def folded(joined: pl.DataFrame) -> pl.DataFrame:
    """Return one row per hand-off of some records, without ``attempt``.

    Args:
        joined: all records of these hand-offs, each with its number in ``handoff``.
    """
    tried = joins.without_earlier_tries(_without_refused_tries(_without_early_answers(joined)))
    rows = failures.attach(_fold(joins.claims(tried)), tried)
    return _completed(_models(joins.tenant_inferred(rows, joined), joined))


def _without_early_answers(joined: pl.DataFrame) -> pl.DataFrame:
    """Take the client's answer from attempts that it is not from."""
    if not joined["earlier"].any():
        return joined
    return joined.with_columns(
        pl.when(~pl.col("earlier")).then(pl.col(name)).alias(name)
        for name in CLIENT_ANSWER
        if name in joined.columns
    )


def _without_refused_tries(joined: pl.DataFrame) -> pl.DataFrame:
    """Leave a client's refused try out where the same hop served a later one under its id.

    Without hand-off ids both tries are one request; a refusal that ended the first is no
    sign that the second was served in spite of it.
    """
    joined = ensure(joined, ["rejected", "http_status", "completion_tokens"])
    client = pl.col("hop").is_in(["gateway", JOINED])
    tokens, status = pl.col("completion_tokens"), pl.col("http_status")
    served = client & (pl.when(tokens.is_not_null()).then(tokens > 0).otherwise(status < 300))
    refused = client & pl.col("rejected") & ~served & (status >= 400)
    if not joined.select(refused.any()).item():
        return joined
    again = joined.filter(served).select("handoff", "hop").unique()
    tries = joined.filter(refused).join(again, on=["handoff", "hop"], how="semi")
    return joined.join(tries.select("observation"), on="observation", how="anti")


LONGEST_SAID = Column(
    "prompt_seen", "count", "largest count of the prompt by any record", worst="max"
)
"""A value that a record is not believed in still clears nobody who is over the limit by it."""
_LENGTHS = ("prompt_tokens", "prefill_prompt_tokens", "decode_prompt_tokens")


def _fold(joined: pl.DataFrame) -> pl.DataFrame:
    joined = arrivals.told(joined)
    lengths = [name for name in _LENGTHS if name in joined.columns]
    if lengths:
        joined = joined.with_columns(pl.max_horizontal(lengths).alias(LONGEST_SAID.name))
    known = (*schema.REQUEST_COLUMNS, *schema.ENGINE_COLUMNS, arrivals.ARRIVED, LONGEST_SAID)
    present = [c for c in known if c.name in joined.columns and c.name != schema.TIMED_LATE]
    apart = ("prefill_request_id", "received_at", arrivals.ARRIVED.name, LONGEST_SAID.name)
    folded = [c for c in present if c.name not in apart]
    by_hop = {hop: _one_per_handoff(rows, present) for hop, rows in _by_hop(joined)}
    if len(by_hop) == 1:
        ((hop, only),) = by_hop.items()
        wide = only.rename({name: f"{name}@{hop}" for name in only.columns if name != "handoff"})
    else:
        wide = joined.select(pl.col("handoff").unique())
        for hop, rows in by_hop.items():
            renamed = rows.rename({n: f"{n}@{hop}" for n in rows.columns if n != "handoff"})
            wide = wide.join(renamed, on="handoff", how="left")
    hops = tuple(by_hop)
    values = [_believed(column, hops, wide).alias(column.name) for column in folded]
    flags = [_any_of(name, hops, wide).alias(name) for name in ("inferred", "assumed")]
    return wide.select(
        "handoff",
        *values,
        *flags,
        *arrivals.folded(wide.columns),
        _handed_off_at(hops, wide).alias("handed_off_at"),
        _most_completed(hops, wide).alias("completion_seen"),
        _longest(hops, wide).alias(LONGEST_SAID.name),
        _disputed(hops, wide).alias("delivery_disputed"),
        _prefill_id(hops, wide).alias("prefill_request_id"),
        _disagreement(hops, wide).alias("disagreement"),
        sizes.differ(wide.columns).alias("sizes_differ"),
        _differ("tenant_id", [h for h in hops if h != ENGINE_HOP], wide).alias("tenants_differ"),
    )


def _by_hop(joined: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the records of each hop; a log of one hop alone is not copied."""
    present = set(joined["hop"].unique())
    for hop in _HOPS:
        if present == {hop}:
            yield hop, joined
        elif hop in present:
            yield hop, joined.filter(pl.col("hop") == hop)


def _one_per_handoff(rows: pl.DataFrame, present: list[Column]) -> pl.DataFrame:
    """Return one row per hand-off of one hop; of several values the one that clears least."""
    kept = rows.select("handoff", *[c.name for c in present], "inferred", "assumed")
    doubled = kept["handoff"].is_duplicated()
    if not doubled.any():
        return kept
    worst = [getattr(pl.col(column.name), column.worst)().alias(column.name) for column in present]
    flags = [pl.col("inferred").any(), pl.col("assumed").any()]
    folded = kept.filter(doubled).group_by("handoff").agg(*worst, *flags)
    return pl.concat([kept.filter(~doubled), folded.select(kept.columns)])


def _sources(
    name: str, order: tuple[str, ...], hops: tuple[str, ...], wide: pl.DataFrame
) -> list[pl.Expr]:
    return [
        pl.col(f"{name}@{hop}") for hop in order if hop in hops and f"{name}@{hop}" in wide.columns
    ]


def _believed(column: Column, hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    order = BELIEVED[column.belief]
    found = _sources(column.name, order, hops, wide)
    if column.name in ANY_HOP:
        return _any_of(column.name, hops, wide)
    if column.name in (*FEWEST, *MOST) and len(found) > 1:
        held = _not_complete_elsewhere(column.name, hops, wide)
        most = column.name in MOST
        return pl.max_horizontal(held) if most else pl.min_horizontal(held)
    if len(found) == 1:
        return found[0]  # shares the column's memory, which coalesce would copy
    return pl.coalesce(found) if found else pl.lit(None, dtype=column.dtype)


def _most_completed(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """Tokens that any hop speaking for the client saw: a zero of one does not undo them."""
    found = _sources("completion_tokens", BELIEVED["delivery"], hops, wide)
    return pl.max_horizontal(found) if found else pl.lit(None, dtype=pl.Int64)


def _longest(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """The largest count of the prompt by any record of any hop."""
    found = _sources(LONGEST_SAID.name, _HOPS, hops, wide)
    return pl.max_horizontal(found) if found else pl.lit(None, dtype=pl.Int64)


def _disputed(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """Say where decode's own record shows that nothing left, and a gateway's that tokens did.

    Either decode's zero is none, or the answer is that of another try, whose record was lost.
    """
    (own, status), (said, _) = (
        [
            pl.coalesce([*_sources(name, (hop,), hops, wide), pl.lit(None, dtype=pl.Int64)])
            for name in ("completion_tokens", "http_status")
        ]
        for hop in ("decode", "gateway")
    )
    refused = own.is_null() & (status >= 400) & ~status.is_in(UNTOLD_STATUS)
    return (((own == 0) | refused) & (said > 0)).fill_null(value=False)


def _handed_off_at(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """When this hand-off began: the engine's own time, since attempts share the client's."""
    order = ("decode", "prefill", ENGINE_HOP, JOINED, "gateway")
    found = _sources("received_at", order, hops, wide)
    return pl.coalesce(found) if found else pl.lit(None, dtype=pl.Int64)


def _not_complete_elsewhere(name: str, hops: tuple[str, ...], wide: pl.DataFrame) -> list[pl.Expr]:
    """Leave out a side that reserved and got all of its own: it counts other pages than decode.

    Decode reserves what its own prefix cache lacks; prefill may count the whole prompt.
    """
    unit = name.rsplit("_", 1)[1]
    decode = f"reserved_{unit}@decode"
    held = []
    for hop in hops:
        own, got = f"reserved_{unit}@{hop}", f"transferred_{unit}@{hop}"
        if f"{name}@{hop}" not in wide.columns:
            continue
        value = pl.col(f"{name}@{hop}")
        if hop != "decode" and {own, got, decode} <= set(wide.columns):
            apart = (pl.col(own) == pl.col(got)) & pl.col(decode).is_not_null()
            value = pl.when(~apart.fill_null(value=False)).then(value)
        held.append(value)
    return held


def _any_of(name: str, hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """True where any hop says so, false where some hop says not, else null."""
    found = _sources(name, _HOPS, hops, wide)
    return pl.max_horizontal(found) if found else pl.lit(None, dtype=pl.Boolean)


def _prefill_id(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """Prefill's own id, where the request is known by another."""
    stated = _sources("prefill_request_id", _HOPS, hops, wide)
    own = _sources("request_id", ("prefill",), hops, wide)
    known = pl.coalesce([*stated, *own]) if stated or own else pl.lit(None, dtype=pl.String)
    other = _sources("request_id", ("decode", JOINED, "gateway"), hops, wide)
    if not other:
        return pl.coalesce(stated) if stated else pl.lit(None, dtype=pl.String)
    return pl.when(known != pl.coalesce(other)).then(known)


def _differ(name: str, hops: list[str], wide: pl.DataFrame) -> pl.Expr:
    found = _sources(name, _HOPS, tuple(hops), wide)
    if len(found) < 2:
        return pl.lit(value=False)
    return (pl.min_horizontal(found) != pl.max_horizontal(found)).fill_null(value=False)


def _disagreement(hops: tuple[str, ...], wide: pl.DataFrame) -> pl.Expr:
    """Name the first column that hops which speak for the same thing differ about."""
    client = [hop for hop in hops if hop in ("gateway", JOINED, "decode")]
    return pl.coalesce(
        pl.when(_differ(name, client if name in _CLIENTS else list(hops), wide)).then(pl.lit(name))
        for name in _COMPARED
    )


def _models(rows: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """Mark requests whose records name several models: none of them rules it out."""
    differ = pl.lit(value=False)
    if "model" in joined.columns and joined["model"].n_unique() > 1:
        models = joined.group_by("handoff").agg(pl.col("model").drop_nulls().n_unique())
        several = models.filter(pl.col("model") > 1)["handoff"]
        differ = pl.col("handoff").is_in(several.implode())
    return rows.with_columns(models_differ=differ)


def _completed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add what later stages read though nobody filled it, and stand-ins for two columns.

    A hand-off of which no record has a request's id is known by its own: by none, its values and
    those of the next one would be told apart nowhere.
    """
    rows = ensure(rows, _CARRIED)
    return rows.with_columns(
        request_id=pl.coalesce("request_id", "transfer_id"),
        prompt_tokens=pl.coalesce("prompt_tokens", "decode_prompt_tokens"),
        inferred=pl.col("inferred").fill_null(value=False),
        assumed=pl.col("assumed").fill_null(value=False),
    )


KEYS = ("request_id", "tenant_id", "handed_off_at", "transfer_id", "handoff")
"""By what the hand-offs of one id and tenant are put in order."""


def attempts(keys: pl.DataFrame, times: pl.DataFrame | None) -> pl.DataFrame:
    """Number the hand-offs of one id and tenant by time, then transfer id.

    Args:
        keys: :data:`KEYS` of the rows of :func:`folded`, of all hand-offs.
        times: of :func:`forensics.joins.attempts.on_one_clock`.

    Returns:
        ``_row``, the place of a row among them, and ``attempt``, in the order of these.
    """
    rows = keys.with_row_index("_row")
    if times is not None:
        told = keys.select("handoff").join(times, on="handoff", how="left", maintain_order="left")
        rows = rows.with_columns(handed_off_at=told["at"].fill_null(rows["handed_off_at"]))
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("request_id", "tenant_id")
    return rows.sort(KEYS, nulls_last=False).select("_row", attempt=number)
