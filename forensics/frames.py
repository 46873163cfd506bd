"""Stages on the user's own frames: any kind goes in, the same kind comes out, unchanged rows."""

from __future__ import annotations

from typing import Any

import polars as pl

from forensics import capacity, limits, schema, verdicts
from forensics.clock import Clocks
from forensics.incident import Incident, load
from forensics.observations import ensure
from forensics.samekind import Given, given
from forensics.sources import plain, records
from forensics.sources.context import Context
from forensics.sources.parsed import Parsed
from forensics.timing import percentiles, stage

_ADDED = ("input_limit_tokens", "rung", "tier", "reasons", "missing")


def judge(
    requests: Any, capacity_records: Any = None, incident: Incident | str | None = None
) -> Any:
    """Add the verdict to a frame with one row per request.

    Args:
        requests: a frame of Polars (eager or lazy), pandas, pyarrow (a table or a record
            batch), DuckDB, Dask or narwhals, with columns named as in the plain input
            format, or mapped by the incident's ``[columns]``. Other columns are kept and
            never looked at.
        capacity_records: a frame of capacity records, or None.
        incident: an incident or the path of its file.

    Returns:
        A new frame with the same rows in the same order (and the same pandas index), and
        the columns ``input_limit_tokens``, ``rung``, ``tier``, ``reasons`` and
        ``missing``, in place of own ones of that name. It is of the same kind; a relation of
        DuckDB is on the same connection.

    Raises:
        TypeError: one of the two is no frame of these kinds.

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
    asked, mine = load(incident), given(requests)
    epochs = _epochs(capacity_records, asked)
    judged = _judged(_typed(mine, asked, "observations"), epochs, asked)
    return mine.beside(judged.select(_ADDED))


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
    asked, mine = load(incident), given(requests)
    named = ["prefill_ms", "prompt_tokens", "received_at"]
    rows = ensure(_typed(mine, asked, "observations"), named)
    return mine.alone(percentiles.p5(percentiles.histogram(rows)))


def _typed(mine: Given, incident: Incident, kind: str) -> pl.DataFrame:
    """Type the columns that the schema or the incident names; the rows stay in order."""
    wanted = plain.names(incident)
    frame = mine.known(wanted)
    columns = {wanted[name]: frame[name] for name in frame.columns}
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
        facts = [_typed(given(native), incident, "capacity")]
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
