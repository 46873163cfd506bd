"""Requests that were refused: by the V0 scheduler with a length, before the engine without."""

from __future__ import annotations

import polars as pl

from forensics.schema import REFUSAL_LIMIT
from forensics.sources.forms import Form
from forensics.sources.vllm.hops import either
from forensics.sources.vllm.message import COUNT, Message, Rows, counted, number


def _refused(rows: Rows, code: str, limit: pl.Expr) -> None:
    """The line names no request: its size and moment may tell which one it was."""
    rows.observe(
        *either(pl.lit(None, dtype=pl.String)),
        number("tokens").alias("prompt_tokens"),
        pl.lit(value=True).alias("rejected"),
        pl.lit(code).alias("rejection_code"),
        limit.alias(REFUSAL_LIMIT),
    )


def _over_limit(rows: Rows) -> None:
    # A prompt as long as the limit is still taken.
    limit = number("limit") + 1
    _refused(rows, "input_too_long", limit)
    rows.fact("limit", ranked=False, input_limit_tokens=limit)


def _over_pool(rows: Rows) -> None:
    # A hundredth of the blocks stays free: what is below the pool by less is refused as well.
    _refused(rows, "capacity", number("tokens"))


_INPUT = rf"^Input prompt \((?<tokens>{COUNT}) tokens\)"
_LONG = rf"{_INPUT} is too long and exceeds limit of (?<limit>{COUNT})$"
_POOL = (
    rf"{_INPUT} \+ lookahead slots \({COUNT}\) is too long and exceeds the capacity of "
    r"block_manager$"
)
_PREEMPTED = (
    r"^Sequence group \S{1,1024} is preempted by PreemptionMode\.[A-Z]{1,20} mode because there is "
)
_CONTEXT = (
    r"^(?:\w{1,80}: )?This model's maximum context length is [0-9]{1,12} tokens\. However, ",
    r"^(?:\w{1,80}: )?The decoder prompt \(length [0-9]{1,12}\) is longer than the maximum model ",
)
MESSAGES = (
    Message(
        Form(
            "prompt-too-long",
            "rejected prompt",
            "0.6-0.8, the V0 engine",
            "length of a refused prompt, and the limit; not which request it was",
        ),
        (),
        (_LONG,),
        _over_limit,
        inside=(" is too long and exceeds limit of ",),
    ),
    Message(
        Form(
            "prompt-over-pool",
            "prompt over the pool",
            "0.6-0.8, the V0 engine",
            "length of a prompt that the pool cannot take; not which request it was",
        ),
        (),
        (_POOL,),
        _over_pool,
        inside=(" is too long and exceeds the capacity of ",),
    ),
    counted(
        Form(
            "over-context",
            "request refused before the engine",
            "0.6-0.33",
            "nothing: one refusal is printed several times, and names no request",
        ),
        "This model's maximum context length is ",
        "The decoder prompt (length ",
        "ValueError: This model's maximum context length is ",
        "ValueError: The decoder prompt (length ",
        patterns=_CONTEXT,
    ),
    counted(
        Form(
            "request-shed",
            "request shed before the engine",
            "0.30-0.33",
            "nothing: no request is named",
        ),
        "The engine is currently busy and cannot accept new requests.",
        "The engine has reached its prefill token backlog limit.",
    ),
    counted(
        Form(
            "sequence-preempted",
            "preempted sequence",
            "0.6-0.8, the V0 engine",
            "nothing: one preemption in fifty is printed",
        ),
        "Sequence group ",
        patterns=(_PREEMPTED,),
    ),
)
