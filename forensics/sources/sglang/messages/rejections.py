"""Requests that were refused or shortened, on either side of the hand-off."""

from __future__ import annotations

import polars as pl

from forensics.schema import ENGINE_HOP, REFUSAL_LIMIT, TIMED_LATE
from forensics.sources.forms import Form
from forensics.sources.sglang.message import COUNT, LONG_ID, QUOTE, Message, Rows, number

_FRONT_END = r"\[http_server\] Error: "
_OTHER_RANK = "rejection line of another tensor rank"
_ANSWERED = "refusal as the web server answers with it"


def _refused(
    rows: Rows, code: str, *more: pl.Expr, tokens: str = "tokens", hop: str = ENGINE_HOP
) -> None:
    rows.kept.observe(
        pl.col("rid").alias("request_id"),
        # The engine refuses when it comes to a request, which had arrived before.
        pl.col("local").alias("received_at"),
        pl.lit(value=True).alias(TIMED_LATE),
        *([pl.col("identity").alias("prefill_node")] if hop != "decode" else []),
        pl.col("identity").alias("decode_node"),
        *([number(tokens).alias("prompt_tokens")] if tokens else []),
        pl.lit(value=True).alias("rejected"),
        pl.lit(code).alias("rejection_code"),
        pl.lit(hop).alias("hop"),
        *more,
    )


def _over_limit(rows: Rows) -> None:
    _refused(rows, "input_too_long", number("limit").alias(REFUSAL_LIMIT))
    rows.fact("limit", ranked=False, input_limit_tokens=number("limit"))


def _over_pool(rows: Rows) -> None:
    # The figure that it quotes is a pool or a limit, by version: no fact is made of it.
    _refused(rows, "input_too_long")


def _over_window(rows: Rows) -> None:
    # What it counts are tokens of the sliding window, not of the prompt.
    _refused(rows, "capacity", tokens="", hop="decode")


def _truncated(rows: Rows) -> None:
    rows.trace(
        "truncated",
        tokens_low=number("tokens"),
        tokens_high=number("tokens"),
        tokens_kept=number("limit"),
        tensor_rank=number("tp"),
    )
    rows.fact(
        "truncation",
        ranked=False,
        auto_truncate=pl.lit(value=True),
        input_limit_tokens=number("limit"),
    )


def _over_context(rows: Rows) -> None:
    context = number("context")
    said = context.is_not_null() & (number("tokens").fill_null(context) >= context)
    here = rows.frame.filter(said & pl.col("local").is_not_null())
    Rows(here, rows.context, rows.parsed).fact("server_pool", ranked=False, context_tokens=context)


def _both(text: str, ending: str = "$") -> tuple[str, str]:
    """Return the forms of a refusal: the engine's line, and the web server's answer with it."""
    return rf"^{text}{ending}", rf"^{_FRONT_END}{text}(?<answered>)$"


def _once_more() -> pl.Expr:
    """The engine has a line of its own for it: a second row would be a second request."""
    return pl.when(pl.col("answered").is_not_null()).then(pl.lit(_ANSWERED))


def _printed_again() -> pl.Expr:
    """Up to 0.4.6 every tensor rank prints the line, without an id.

    The first rank of a data-parallel engine has a multiple of that engine's number.
    """
    dp, tp = pl.col("dp").fill_null(0), pl.col("tp").fill_null(0)
    first = pl.when(dp > 0).then(tp % pl.when(dp > 0).then(dp).otherwise(1) == 0).otherwise(tp == 0)
    return pl.when(pl.col("rid").is_null() & ~first).then(pl.lit(_OTHER_RANK))


_REFUSED_BEFORE = "request refused before the engine"
_REQUESTED = "Requested token count exceeds the model's"
_LONGER = (
    rf"^(?:{_FRONT_END})?The input \((?<tokens>{COUNT}) tokens\) is longer than the model's "
    rf"context length \((?<context>{COUNT}) tokens\)\."
)
_OVER_CONTEXT = (
    _LONGER,
    rf"^(?:{_FRONT_END})?{_REQUESTED} maximum context length of (?<context>{COUNT}) tokens\.",
    rf"^\w{{1,80}}: (?<elsewhere>The input \([0-9]|{_REQUESTED})",
)
_REJECTION = _both(
    rf"Input length \((?<tokens>{COUNT}) tokens\) exceeds the maximum allowed length "
    rf"\((?<limit>{COUNT}) tokens\)\. Use a shorter input or enable --allow-auto-truncate\.",
    rf"(?:, self\.rid={QUOTE}(?<rid>{LONG_ID}){QUOTE})? ?$",
)
_MULTIMODAL = _both(
    r"Multimodal prompt is too long after expanding multimodal tokens\. After expanding "
    rf"len\(req\.origin_input_ids_unpadded\)={COUNT} => (?<tokens>{COUNT}) >= "
    rf"(?<limit>{COUNT})\.",
    rf", self\.rid={QUOTE}(?<rid>{LONG_ID}){QUOTE}$",
)
_OVER_POOL = _both(
    rf"Request (?<rid>{LONG_ID}) exceeds the maximum number of tokens: "
    rf"(?<tokens>{COUNT}) > {COUNT}"
)
_OVER_WINDOW = _both(
    rf"Request (?<rid>{LONG_ID}) requires too many SWA KV tokens for decode "
    rf"preallocation: (?<needed>{COUNT}) > {COUNT}"
)
_TRUNCATION = (
    r"^Request length is longer than the KV cache pool size or the max context length\. "
    rf"Truncated\. len\(req\.origin_input_ids\)=(?<tokens>{COUNT}), "
    rf"max_req_input_len=(?<limit>{COUNT})\."
)
MESSAGES = (
    Message(
        Form(
            "rejection",
            "rejection line",
            "0.4.10-0.5.23; 0.4.6 without an id, once per tensor rank",
            "id and length of a refused prompt, and the limit; under dp-attention rank 0 alone",
        ),
        ("Input length (",),
        _REJECTION,
        _over_limit,
        aside=pl.coalesce(_once_more(), _printed_again()),
    ),
    Message(
        Form(
            "multimodal-rejection",
            "multimodal rejection line",
            "0.4.10-0.5.23",
            "the same, of a prompt that grew too long with its images",
        ),
        ("Multimodal prompt is too long",),
        _MULTIMODAL,
        _over_limit,
        aside=_once_more(),
    ),
    Message(
        Form(
            "over-pool",
            "over-pool line",
            "0.4.10-0.5.23",
            "id and length of a prompt that is longer than the pool",
        ),
        (" exceeds the maximum number of tokens: ",),
        _OVER_POOL,
        _over_pool,
        aside=_once_more(),
    ),
    Message(
        Form(
            "over-window",
            "over-window line",
            "0.5.13-0.5.23",
            "id of a prompt that decode's sliding-window pool cannot take",
        ),
        (" requires too many SWA KV tokens",),
        _OVER_WINDOW,
        _over_window,
        aside=_once_more(),
    ),
    Message(
        Form(
            "over-context",
            _REFUSED_BEFORE,
            "0.4.6-0.5.23",
            "the context, in tokens; the request never reached an engine",
        ),
        (" is longer than the model's context length (", "Requested token count exceeds "),
        _OVER_CONTEXT,
        _over_context,
        aside=pl.lit(_REFUSED_BEFORE),
        bare=True,
    ),
    Message(
        Form(
            "truncation",
            "truncation line",
            "0.4.6-0.5.23",
            "length of a prompt that was shortened, and to what; not which request it was",
        ),
        ("Request length is longer than the KV cache pool size",),
        (_TRUNCATION,),
        _truncated,
    ),
)
