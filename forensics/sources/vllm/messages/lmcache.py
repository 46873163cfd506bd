"""LMCache in the engine's stream: what it found, loaded and stored for a request."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.vllm.hops import LATE, either
from forensics.sources.vllm.ids import ADDED, internal
from forensics.sources.vllm.message import COUNT, Message, Rows, counted, number


def _looked_up(rows: Rows) -> None:
    # Tokens that were generated before a request was put back count here as its prompt. A single
    # one may be prefill's placeholder, which is nobody's prompt: the line does not tell its side.
    tokens = number("tokens")
    prompt = pl.when(tokens > 1).then(tokens).alias("prompt_tokens")
    rows.observe(*either(internal("rid", random=pl.col(ADDED)), LATE, prompt))


def _moved(rows: Rows) -> None:
    """What was loaded completely shows nothing: a cache's tokens are not a hand-off's."""
    rows.kept.observe(
        *either(
            internal("rid", random=pl.col(ADDED)),
            LATE,
            number("required").alias("reserved_tokens"),
            number("loaded").alias("transferred_tokens"),
        )
    )


_LEVEL = "^LMCache [A-Z]{4,8}: "
_ID = r"\[req_id=(?<rid>\S+?)\] "
_LOOKUP = (
    rf"{_LEVEL}Reqid: (?<rid>\S+), Total tokens (?<tokens>{COUNT}), "
    rf"(?:Inference Engine computed tokens: {COUNT}, )?LMCache hit tokens: {COUNT}, need to load: "
)
_LOADED = (
    rf"{_LEVEL}{_ID}Retrieved (?<loaded>{COUNT}) out of (?<required>{COUNT})"
    rf"(?: required tokens \(from {COUNT} total tokens\)| out of total {COUNT} tokens)"
)
_STORED = rf"{_LEVEL}{_ID}Stored (?<stored>{COUNT}) out of total {COUNT} tokens"
_WHOLE = (
    pl.when(pl.col("rid") == "None")  # as an engine has it that tells the cache no name
    .then(pl.lit("tokens that a cache moved for no named request"))
    .when(pl.col("stored").is_not_null())
    .then(pl.lit("stored tokens of a cache"))
    .when(number("loaded") >= number("required"))
    .then(pl.lit("tokens that a cache loaded as required"))
)
_LEVELS = ("INFO", "DEBUG", "WARNING", "ERROR")
MESSAGES = (
    Message(
        Form(
            "lmcache-lookup",
            "LMCache lookup",
            "LMCache 0.3-0.5",
            "id and prompt tokens of a request",
        ),
        tuple(f"LMCache {level}: Reqid: " for level in _LEVELS),
        (_LOOKUP,),
        _looked_up,
        front=False,
    ),
    Message(
        Form(
            "lmcache-load",
            "LMCache transfer",
            "LMCache 0.4-0.5",
            "id of a request for which fewer tokens were loaded than required, and both counts",
        ),
        tuple(f"LMCache {level}: [req_id=" for level in _LEVELS),
        (_LOADED, _STORED),
        _moved,
        aside=_WHOLE,
        front=False,
    ),
    counted(
        Form(
            "lmcache-unnamed",
            "LMCache transfer of no named request",
            "LMCache 0.3",
            "nothing: tokens that were stored or loaded, and not of which request",
        ),
        *(f"LMCache {level}: {did} " for level in _LEVELS for did in ("Retrieved", "Stored")),
        patterns=(rf"{_LEVEL}(?:Retrieved|Stored) {COUNT} out of ",),
    ),
)
