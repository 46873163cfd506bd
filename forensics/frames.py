"""Stages on the user's own frames: any kind goes in, the same kind comes out, unchanged rows."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

from forensics import capacity, limits, schema, verdicts
from forensics.clock import Clocks
from forensics.incident import Incident, load
from forensics.observations import ensure
from forensics.sources import records
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.timing import percentiles

_ADDED = ("input_limit_tokens", "rung", "tier", "reasons", "missing")


def judge(
    requests: Any, capacity_records: Any = None, incident: Incident | str | None = None
) -> Any:
    """Add the verdict to a frame with one row per request.

    Args:
        requests: a frame of any kind that narwhals knows (Polars eager or lazy, pandas,
            Arrow, ...), with columns named as in the plain input format, or mapped by
            the incident's ``[columns]``.
        capacity_records: a frame of capacity records, or None.
        incident: an incident or the path of its file.

    Returns:
        A new frame of the same kind with the same rows in the same order, and the columns
        ``input_limit_tokens``, ``rung``, ``tier``, ``reasons`` and ``missing`` added.
    """
    asked = load(incident)
    frame, restore = _to_polars(requests)
    rows = _typed(frame, asked, "observations")
    epochs = _epochs(capacity_records, asked)
    judged = _judged(rows, epochs, asked)
    named = judged.select(_ADDED)
    return restore(frame.drop(_ADDED, strict=False).hstack(named))


def prefill_p5(requests: Any, incident: Incident | str | None = None) -> Any:
    """Return the 5th percentile of prefill time by day and prompt-length bucket.

    Takes and returns frames as :func:`judge` does; columns ``day``, ``low`` (tokens, a power
    of two), ``requests`` and ``p5_ms``.
    """
    frame, restore = _to_polars(requests)
    rows = ensure(
        _typed(frame, load(incident), "observations"),
        ["prefill_ms", "prompt_tokens", "received_at"],
    )
    return restore(percentiles.p5(percentiles.histogram(rows)))


def _to_polars(native: Any) -> tuple[pl.DataFrame, Any]:
    """Return the frame as eager Polars, and a function that gives back the caller's kind."""
    frame = nw.from_native(native)
    lazy = isinstance(frame, nw.LazyFrame)
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    implementation = frame.implementation

    def restore(result: pl.DataFrame) -> Any:
        if implementation.is_polars():
            return result.lazy() if lazy else result
        if implementation.is_pandas():
            import pandas as pd

            return result.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
        if implementation.is_pyarrow():
            return result.to_arrow()
        return nw.from_native(result).to_arrow()

    return eager.to_polars(), restore


def _typed(frame: pl.DataFrame, incident: Incident, kind: str) -> pl.DataFrame:
    """Type the columns that the schema names; the rows stay in order."""
    from forensics.sources.plain import names

    wanted = names(incident)
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
        facts = [_typed(_to_polars(native)[0], incident, "capacity")]
    return capacity.build(facts, Clocks({}, incident.logs.timezone), incident).epochs


def _judged(rows: pl.DataFrame, epochs: pl.DataFrame, incident: Incident) -> pl.DataFrame:
    rows = ensure(rows, [c.name for c in schema.REQUEST_COLUMNS])
    rows = rows.with_columns(
        prompt_tokens=pl.coalesce("prompt_tokens", "decode_prompt_tokens"),
        inferred=pl.lit(value=False),
        assumed=pl.lit(value=False),
        tenants_differ=pl.lit(value=False),
        disagreement=pl.lit(None, dtype=pl.String),
    )
    rows = limits.attach(rows, epochs, incident.trigger.threshold_tokens)
    nothing = pl.DataFrame(schema={"seen_request_id": pl.String})
    return verdicts.judge(rows, incident, nothing)
