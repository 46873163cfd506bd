"""The five-item isolation checklist, answered from evidence: pass, fail, not observable.

``pass`` needs evidence that would have looked different otherwise. Logs in which
nothing was refused cannot show that a refusal is final.
"""

from __future__ import annotations

import polars as pl

from forensics.exposure import Check, Validation
from forensics.markers import Markers
from forensics.verdicts import TRACED, flag
from forensics.wording import count

HEADROOM = 1.25
_DELIVERED = pl.col("rung") == "delivered"


def answer(
    requests: pl.DataFrame,
    epochs: pl.DataFrame,
    markers: Markers,
    nameless: int,
    validations: list[Validation],
    long_canaries: int,
) -> list[Check]:
    """Return the five items with result and evidence.

    Args:
        requests: judged requests.
        epochs: capacity epochs.
        markers: canary records and what they show.
        nameless: lines of a hand-off cut short that no request explains.
        validations: what checked each epoch that began with a changed setting.
        long_canaries: canary records of requests that reached the limit of the incident.
    """
    prefill = epochs.filter(
        (pl.col("role") == "prefill")
        & pl.col("pool_tokens").is_not_null()
        & pl.col("context_tokens").is_not_null()
    )
    return [
        _pool(prefill),
        _rejection(requests, nameless),
        _transfer(requests),
        _content(markers.records.height, markers.foreign, long_canaries),
        _changes(epochs, validations),
    ]


def _pool(prefill: pl.DataFrame) -> Check:
    small = prefill.filter(pl.col("pool_tokens") < pl.col("context_tokens") * HEADROOM).height
    result = "not observable" if not prefill.height else "fail" if small else "pass"
    evidence = (
        f"{small:,} of {prefill.height:,} prefill epochs had a pool below 1.25 x the context"
        if prefill.height
        else "no prefill epoch with both pool and context is known"
    )
    return Check(
        1,
        "Pool against context is asserted at start-up, from the running process; "
        "a pool below 1.25 x the context blocks",
        result,  # type: ignore[arg-type]
        evidence,
    )


def _rejection(requests: pl.DataFrame, nameless: int) -> Check:
    rejected = requests.filter(pl.col("rejected").fill_null(value=False))
    served = rejected.filter(_DELIVERED).height
    placeholder = requests.filter(flag("placeholder_prefill") & _DELIVERED).height
    fitting = requests.filter(TRACED & ~flag("not_delivered")).height
    stopped = rejected.filter(flag("not_delivered")).height
    if served or placeholder:
        result = "fail"
    else:
        settled = rejected.height and stopped == rejected.height and not fitting + nameless
        result = "pass" if settled else "not observable"
    lines = (
        f"; {count(nameless, 'line')} of a hand-off cut short, of no request" if nameless else ""
    )
    return Check(
        2,
        "Rejected is an end state: the request stops before allocation or transfer, "
        "with its original error",
        result,  # type: ignore[arg-type]
        f"{rejected.height:,} rejections logged, {served:,} of them served; "
        f"{count(placeholder, 'response(s) delivered after a placeholder prefill')}{lines}",
    )


def _transfer(requests: pl.DataFrame) -> Check:
    short = requests.filter(flag("short_transfer"))
    served = short.filter(_DELIVERED).height
    both = flag("short_transfer") | flag("full_transfer")
    known = int(requests.select(both.sum()).item())
    stopped = short.filter(flag("not_delivered")).height
    result = (
        "fail"
        if served
        else "pass"
        if short.height and stopped == short.height
        else "not observable"
    )
    return Check(
        3,
        "Transfer counts are verified on both sides: as many pages arrive as were reserved",
        result,  # type: ignore[arg-type]
        f"{known:,} hand-offs with both counts logged, {short.height:,} of them short; "
        f"{served:,} short ones were answered, {stopped:,} were stopped",
    )


def _content(markers: int, foreign: int, long: int) -> Check:
    result = "fail" if foreign else "pass" if long else "not observable"
    return Check(
        4,
        "The failure path is tested with content assertions: canaries, boundary plus one",
        result,  # type: ignore[arg-type]
        f"{markers:,} canary records in the logs, {long:,} of a request at or over the limit of "
        f"the incident, {foreign:,} with a foreign marker",
    )


def _changes(epochs: pl.DataFrame, validations: list[Validation]) -> Check:
    later = epochs.filter(pl.col("effective_at") != pl.col("effective_at").min().over("node"))
    small = later.filter(
        (pl.col("role") == "prefill")
        & (pl.col("pool_tokens") < pl.col("context_tokens") * HEADROOM)
    ).height
    failed = later.filter(~pl.col("gate").fill_null(value=True)).height
    gated = sum(row.gate_at is not None for row in validations)
    shown = validations and gated == len(validations)
    return Check(
        5,
        "The gate runs again on every capacity change: quantization, parallelism, batch size, "
        "CUDA graphs, model version",
        "fail" if small or failed else "pass" if shown else "not observable",
        f"{count(len(validations), 'changed epoch')}, {gated:,} of them with a gate that passed "
        f"after the change at 1.25 x or more; {failed:,} gates failed; {small:,} later prefill "
        "epochs had a pool below 1.25 x the context",
    )
