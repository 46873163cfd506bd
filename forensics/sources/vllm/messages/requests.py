"""Arrivals, ends and answers of requests. Their lines hold prompts, parameters and outputs.

Of a line with content the id at its beginning is taken, the reason at the end of an answer,
whether the parameters hand the request off, and how many tokens there are; none of it from
within a text.
"""

from __future__ import annotations

import polars as pl

from forensics.schema import ENGINE_HOP
from forensics.sources.forms import Form
from forensics.sources.vllm.hops import either
from forensics.sources.vllm.ids import external, internal
from forensics.sources.vllm.message import ID, Message, Rows, counted
from forensics.sources.vllm.messages import lengths

_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ANY = rf"""(?:[^'"]|{_TEXT})*"""
"""A Python repr: what stands outside its texts, and whole texts."""
_PROMPT = rf"prompt: (?:None|{_TEXT}), "
_RECEIVED = rf"^Received request (?:{ID}): (?:{_PROMPT})?params: {_ANY}\.$"
_NAMED = rf"^Received request (?<rid>{ID}): (?:prompt|params): "
_HANDED = rf"""^Received request (?:{ID}): (?:{_PROMPT})?params: (?:[^'"]|{_TEXT})*?"""
_LISTED = (
    rf"""^Received request (?:{ID}): prompt: (?<prompt>{_TEXT}), params: (?:[^'"]|{_TEXT})*?, """
    r"prompt_token_ids: \[(?<ids>[0-9]{1,12}(?:, [0-9]{1,12})*)\], "
)


def _counted(rows: pl.DataFrame) -> pl.Series:
    """Return the tokens of each prompt, null where they are not listed."""
    there = rows["body"].str.contains("prompt_token_ids: [", literal=True)
    count = pl.Series([None], dtype=pl.Int64).new_from_index(0, rows.height)
    if not there.any():
        return count
    listed = rows["body"].filter(there).str.extract_groups(_LISTED).struct.unnest()
    found = listed.select(lengths.tokens(pl.col("prompt"), pl.col("ids"))).to_series()
    return count.scatter(there.arg_true(), found)


def _hands_off(key: str) -> pl.Expr:
    """Say whether a setting of the hand-off is on, in the parameters and outside texts."""
    return pl.col("body").str.contains(rf"{_HANDED}'{key}': True[,}}]")


def _received(rows: Rows) -> None:
    frame = rows.frame.with_columns(_counted(rows.frame).alias("tokens"), hop=pl.lit(ENGINE_HOP))
    if (handed := frame["body"].str.contains("'do_remote_", literal=True)).any():
        frame = frame.with_columns(hop=pl.when(handed).then(_side()).otherwise("hop"))
    rows = Rows(frame, rows.context, rows.parsed)
    prefill, decode = pl.col("hop") == "prefill", pl.col("hop") == "decode"
    rows.observe(
        external("rid").alias("request_id"),
        pl.col("local").alias("received_at"),
        pl.when(~decode).then("identity").alias("prefill_node"),
        pl.when(~prefill).then("identity").alias("decode_node"),
        pl.col("hop"),
        pl.col("tokens").alias("prompt_tokens"),
    )
    _tell_roles(rows)


def _tell_roles(rows: Rows) -> None:
    """Each engine's part in hand-offs, as its own requests say."""
    told = rows.where(pl.col("hop") != ENGINE_HOP).frame
    first = told.unique(["identity", "hop"], keep="first", maintain_order=True)
    first = first.with_columns(naive=pl.lit(value=False), local=pl.lit(None, dtype=pl.Int64))
    roles = Rows(first, rows.context, rows.parsed)
    roles.fact("role", role=pl.col("hop"), disaggregated=pl.lit(value=True))


def _side() -> pl.Expr:
    """A request whose pages another engine fetches is prefill's, one that fetches decode's."""
    sends, fetches = _hands_off("do_remote_decode"), _hands_off("do_remote_prefill")
    return (
        pl.when(sends & ~fetches)
        .then(pl.lit("prefill"))
        .when(fetches & ~sends)
        .then(pl.lit("decode"))
        .otherwise(pl.lit(ENGINE_HOP))
    )


def _added(rows: Rows) -> None:
    rows.observe(*either(internal("rid")))


def _finished(rows: Rows) -> None:
    rows.observe(*either(internal("rid"), moment="finished_at"))


def _each(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each id; one that holds a comma is taken for two."""
    frame = frame.with_columns(pl.col("rid").str.split(",")).explode("rid")
    return frame.with_columns(pl.col("rid").str.strip_chars(" "))


def _aborted(rows: Rows) -> None:
    abort = pl.lit("abort").alias("finish_reason")
    rows.observe(*either(internal("rid"), abort, moment="finished_at"))


def _generated(rows: Rows) -> None:
    reason = pl.col("body").str.extract(r", finish_reason: ([a-z_]{1,32})$", 1)
    reason = pl.when(reason != "None").then(reason)
    known = reason.is_in(["stop", "length", "abort", "error"])
    code = pl.when(known).then(reason).when(reason.is_not_null()).then(pl.lit("other"))
    rows.kept.observe(*either(external("rid"), code.alias("finish_reason"), moment="finished_at"))


_TOKENS = r"(?:None|[A-Za-z_.()\[\], 0-9'=]*)"
_GENERATED = (
    rf"^Generated response (?:{ID})(?: \([a-z ]{{1,40}}\))?: output: (?:None|{_TEXT})"
    rf"(?:, output_token_ids: {_TOKENS})?, finish_reason: [A-Za-z_]{{1,32}}$"
)
_ANSWER = rf"^Generated response (?<rid>{ID}?)(?<part> \([a-z ]{{1,40}}\))?: output: "
_DELTA = "part of a streamed answer"
_DETAILS = rf"^Request (?:{ID}) details: {_PROMPT}prompt_token_ids: {_ANY}\.$"
_LIST = r"\S+(?:, ?\S+)*"
MESSAGES = (
    Message(
        Form(
            "request-received",
            "received request",
            "0.6-0.33",
            "id and arrival; its side where the parameters hand it off; up to 0.11 the length, "
            "where the ids of all tokens are listed",
        ),
        ("Received request ",),
        (_NAMED,),
        _received,
        whole=(_RECEIVED,),
    ),
    Message(
        Form(
            "response-generated",
            "generated response",
            "0.11-0.33, where outputs are logged",
            "id, end and how it ended",
        ),
        ("Generated response ",),
        (_ANSWER,),
        _generated,
        aside=pl.when(pl.col("part") == " (streaming delta)").then(pl.lit(_DELTA)),
        whole=(_GENERATED,),
    ),
    Message(
        Form(
            "request-details",
            "details of a request",
            "0.12-0.33, DEBUG",
            "nothing: it is all content",
        ),
        (),
        (),
        whole=(_DETAILS, rf"^Request (?:{ID}) JSON body: \{{{_ANY}\}}$"),
        inside=(" details: prompt: ", " JSON body: "),
    ),
    Message(
        Form(
            "request-added",
            "added request",
            "0.6-0.33; from 0.12 on with request logging",
            "id and arrival",
        ),
        ("Added request ",),
        (rf"^Added request (?<rid>{ID})\.$",),
        _added,
    ),
    Message(
        Form("request-finished", "finished request", "0.6-0.8, the V0 engine", "id and end"),
        ("Finished request ",),
        (rf"^Finished request (?<rid>{ID})\.$",),
        _finished,
    ),
    Message(
        Form("request-aborted", "aborted request", "0.6-0.33", "ids and end"),
        ("Aborted request ", "Aborted request(s) "),
        (rf"^Aborted request(?:\(s\))? (?<rid>{_LIST})\.$",),
        _aborted,
        prepare=_each,
    ),
    counted(
        Form(
            "request-aborting", "request being aborted", "0.6-0.33", "nothing: the next line does"
        ),
        "Aborting request ",
    ),
)
