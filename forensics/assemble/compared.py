"""Published figures beside what these logs show."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics import exposure as doc
from forensics import tables
from forensics.analysis import Analysis
from forensics.exposure import stamp
from forensics.incident import micros
from forensics.wording import count


def compared(analysis: Analysis) -> list[doc.Compared]:
    """Return one row for each figure that the incident file says was published."""
    return [*_sizes(analysis), *_counts(analysis), *_versions(analysis)]


def _sizes(analysis: Analysis) -> Iterator[doc.Compared]:
    said = analysis.incident.published
    prefill = analysis.capacity.epochs.filter(pl.col("role").fill_null("prefill") == "prefill")
    if said.threshold_tokens is not None:
        yield doc.Compared(
            "threshold",
            f"longer than {said.threshold_tokens:,} tokens",
            _tokens(prefill["limit"], "smallest rejected prompt: {} tokens"),
            "a pool is larger than the prompt it accepts: what is kept back differs by engine",
        )
    if said.pool_tokens is not None:
        found = _tokens(prefill["pool_tokens"], "{} tokens")
        yield doc.Compared("prefill pool", f"{said.pool_tokens:,} tokens", found, "")
    if said.context_tokens is not None:
        found = _tokens(prefill["context_tokens"], "{} tokens")
        yield doc.Compared("window", f"{said.context_tokens:,} tokens", found, "")


def _tokens(values: pl.Series, form: str) -> str:
    known = values.drop_nulls().unique().sort().to_list()
    if not known:
        return "not known from these logs"
    several = f", in {len(known):,} sizes up to {known[-1]:,}" if len(known) > 1 else ""
    return form.format(f"{known[0]:,}") + several


def _counts(analysis: Analysis) -> Iterator[doc.Compared]:
    said, affected = analysis.incident.published, tables.affected(analysis.requests)
    sure = affected.filter(pl.col("tier") != "possible")
    if said.responses is not None:
        found = f"{sure.height:,} confirmed or probable, {affected.height - sure.height:,} possible"
        yield doc.Compared("responses", f"{said.responses:,}", found, "")
    if said.tenants is not None:
        found = count(sure["tenant_id"].drop_nulls().n_unique(), "recipient(s) by name")
        yield doc.Compared("tenants", f"{said.tenants:,}", found, "confirmed or probable")
    times = sure["received_at"].drop_nulls()
    for name, at, value in (("first", said.first, times.min()), ("last", said.last, times.max())):
        if at is not None:
            found = "none found" if value is None else _utc(int(value))  # type: ignore[arg-type]
            yield doc.Compared(f"{name} response", _utc(micros(at)), found, "")


def _utc(moment: int) -> str:
    return (stamp(moment) or "not known")[:19].replace("T", " ") + " UTC"


def _versions(analysis: Analysis) -> Iterator[doc.Compared]:
    said = analysis.incident.published
    if said.fixed_version is None:
        return
    affected = tables.affected(analysis.requests).filter(pl.col("tier") != "possible")
    epochs = analysis.capacity.epochs
    seen = affected.select("received_at", node="prefill_node").drop_nulls()
    during = seen.join(epochs.select("node", "effective_at", "until", "engine_version"), on="node")
    within = pl.col("received_at") >= pl.col("effective_at")
    during = during.filter(within & (pl.col("received_at") < pl.col("until")))
    versions = during["engine_version"].drop_nulls().unique().sort().to_list()
    found = f"affected responses on version {', '.join(versions)}" if versions else "not known"
    note = "a version alone rules nothing out: what a build holds is not in its number"
    yield doc.Compared("fixed in version", said.fixed_version, found, note)
