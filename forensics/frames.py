"""Stages on the user's own frames: any kind goes in, the same kind comes out, unchanged rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from forensics import capacity, limits, schema, verdicts
from forensics.anyframe import as_polars, eager
from forensics.clock import Clocks
from forensics.incident import Incident, load
from forensics.observations import ensure
from forensics.sources import plain, records
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.timing import percentiles, stage

if TYPE_CHECKING:
    import pandas as pd

_ADDED = ("input_limit_tokens", "rung", "tier", "reasons", "missing")
_NUMPY_BACKED: dict[Any, Any] = {pl.String: "str", pl.Int64: "Int64", pl.Float64: "float64"}


def judge(
    requests: Any, capacity_records: Any = None, incident: Incident | str | None = None
) -> Any:
    """Add the verdict to a frame with one row per request.

    Args:
        requests: a frame of any kind that narwhals knows (Polars eager or lazy, pandas,
            Arrow, ...), with columns named as in the plain input format, or mapped by
            the incident's ``[columns]``. Other columns are kept and never looked at.
        capacity_records: a frame of capacity records, or None.
        incident: an incident or the path of its file.

    Returns:
        A new frame with the same rows in the same order (and the same pandas index), and
        the columns ``input_limit_tokens``, ``rung``, ``tier``, ``reasons`` and
        ``missing``, in place of own ones of that name. It is of the same kind; for kinds
        other than Polars, pandas and Arrow it is an Arrow table.

    Example:
        >>> import pandas as pd
        >>> import forensics
        >>> pool = {"node": ["prefill-01"], "role": ["prefill"], "pool_tokens": [681_280]}
        >>> mine = pd.DataFrame({"prefill_node": ["prefill-01"] * 2, "prompt_tokens": [9, 700_000]})
        >>> times = ["2026-08-27T10:00:00Z"] * 2
        >>> mine = mine.assign(received_at=times, completion_tokens=[4, 4])
        >>> judged = forensics.judge(mine, pd.DataFrame(pool | {"disaggregated": [True]}))
        >>> judged["tier"].tolist()
        ['ruled_out', 'possible']
    """
    asked = load(incident)
    frame = eager(requests)
    epochs = _epochs(capacity_records, asked)
    judged = _judged(_typed(_known(frame, asked), asked, "observations"), epochs, asked)
    return _as_given(requests, _beside(frame, judged.select(_ADDED)))


def prefill_p5(requests: Any, incident: Incident | str | None = None) -> Any:
    """Return the 5th percentile of prefill time by day and prompt-length bucket.

    Takes and returns frames as :func:`judge` does; columns ``day``, ``low`` (tokens, a power
    of two), ``requests`` and ``p5_ms``.

    Example:
        >>> import polars as pl
        >>> import forensics
        >>> times = {"received_at": ["2026-08-27T10:00:00Z"] * 3, "prefill_ms": [80.0, 4.0, 90.0]}
        >>> forensics.prefill_p5(pl.DataFrame(times | {"prompt_tokens": [5000] * 3})).rows()
        [('2026-08-27', 4096, 3, 4.125)]
    """
    asked = load(incident)
    frame = eager(requests)
    rows = ensure(
        _typed(_known(frame, asked), asked, "observations"),
        ["prefill_ms", "prompt_tokens", "received_at"],
    )
    table = percentiles.p5(percentiles.histogram(rows))
    return _as_given(requests, _native(table, frame.to_native()))


def _known(frame: nw.DataFrame[Any], incident: Incident) -> pl.DataFrame:
    """Return as Polars the columns that the schema or the incident names, and no other.

    What is left out may be text of prompts, or hold objects that no other library has.
    """
    wanted = plain.names(incident)
    known = [name for name in frame.columns if name in wanted]
    if not known:
        return pl.DataFrame(height=frame.shape[0])
    return as_polars(frame.select(known))


def _beside(frame: nw.DataFrame[Any], added: pl.DataFrame) -> Any:
    """Return the caller's eager frame with columns put beside its own."""
    native = frame.drop(*added.columns, strict=False).to_native()
    columns = _native(added, native)
    if isinstance(native, pl.DataFrame):
        return native.hstack(columns)
    if frame.implementation.is_pandas():
        columns.index = native.index
        return native.assign(**{name: columns[name] for name in columns.columns})
    table = native if frame.implementation.is_pyarrow() else frame.to_arrow()
    for name in added.columns:
        table = table.append_column(name, columns[name])
    return table


def _native(table: pl.DataFrame, like: Any) -> Any:
    """Return a Polars frame as the kind of another eager frame; Arrow for kinds unknown here."""
    if isinstance(like, pl.DataFrame):
        return table
    if nw.from_native(like).implementation.is_pandas():
        return _pandas(table, like)
    return table.to_arrow()


def _pandas(table: pl.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return a pandas frame backed as the other one is; whole numbers stay whole beside nulls."""
    import pandas as pd

    if any(isinstance(dtype, pd.ArrowDtype) for dtype in like.dtypes):
        arrow: pd.DataFrame = table.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        return arrow
    # By way of Python: through numpy a null would turn whole numbers to floats.
    columns = {
        name: pd.Series(table[name].to_list(), dtype=_NUMPY_BACKED[type(dtype)])
        for name, dtype in table.schema.items()
    }
    return pd.DataFrame(columns)


def _as_given(given: Any, result: Any) -> Any:
    """Return a Polars result lazily where the caller's frame was lazy."""
    return result.lazy() if isinstance(given, pl.LazyFrame) else result


def _typed(frame: pl.DataFrame, incident: Incident, kind: str) -> pl.DataFrame:
    """Type the columns that the schema names; the rows stay in order."""
    wanted = plain.names(incident)
    columns = {wanted[name]: frame[name] for name in frame.columns if name in wanted}
    lines = pl.int_range(frame.height, dtype=pl.Int64, eager=True)
    parsed = Parsed()
    raw = records.Raw(columns, lines, require_zone=False)
    records.add(raw, Context(incident, 0, "frame"), parsed, kind)
    found = getattr(parsed, kind)
    empty = pl.DataFrame({"line": lines})
    return (
        empty.join(pl.concat(found), on="line", how="left", maintain_order="left")
        if found
        else empty
    )


def _epochs(native: Any, incident: Incident) -> pl.DataFrame:
    facts = []
    if native is not None:
        facts = [_typed(_known(eager(native), incident), incident, "capacity")]
    return capacity.build(facts, Clocks({}, incident.logs.timezone), incident).epochs


def _judged(rows: pl.DataFrame, epochs: pl.DataFrame, incident: Incident) -> pl.DataFrame:
    rows = ensure(rows, [*(c.name for c in schema.REQUEST_COLUMNS), "naive"])
    rows = rows.with_columns(
        prompt_tokens=pl.coalesce("prompt_tokens", "decode_prompt_tokens"),
        inferred=pl.lit(value=False),
        assumed=pl.col("naive").fill_null(value=False),
        tenants_differ=pl.lit(value=False),
        models_differ=pl.lit(value=False),
        handoff=pl.lit(None, dtype=pl.UInt32),
        completion_seen=pl.col("completion_tokens"),
        prompt_seen=pl.lit(None, dtype=pl.Int64),
        disagreement=pl.lit(None, dtype=pl.String),
    )
    rows = limits.attach(rows, epochs, incident.trigger.threshold_tokens)
    rows, _ = stage.attach(rows, pl.DataFrame(), {}, epochs)
    nothing = pl.Series("handoff", [], dtype=pl.UInt32)
    return verdicts.explained(verdicts.judge(rows, incident, nothing))
