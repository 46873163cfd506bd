"""Hand-offs of KV blocks between engines that were short, or failed."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.sglang.skeleton import CLOSE, OPEN, skeleton, sound
from forensics.sources.vllm.hops import LATE, either, on
from forensics.sources.vllm.ids import internal
from forensics.sources.vllm.message import COUNT, Message, Rows, counted, number

_FAILED = pl.lit("failed").alias("transfer_status")


def _short(rows: Rows) -> None:
    rows.kept.observe(
        *on("prefill", internal("rid", random=True)),
        number("remote").alias("reserved_pages"),
        number("local_blocks").alias("transferred_pages"),
    )


_STATE = pl.when(pl.col("state") == "True").then(pl.lit("block counts of a state cache"))


def _context(name: str) -> pl.Expr:
    """An identifier of the failure's context; where a key stands twice, neither is believed."""
    key = rf"[{{ ]{OPEN}'{name}'{CLOSE}: "
    found = pl.col("bare").str.extract(rf"{key}{OPEN}'([^']+)'{CLOSE}", 1)
    return pl.when(pl.col("bare").str.count_matches(key) == 1).then(found)


def _blocks(name: str) -> pl.Expr:
    form = rf"[{{ ]{OPEN}'{name}'{CLOSE}: ({COUNT})[,}}]"
    return pl.col("bare").str.extract(form, 1).cast(pl.Int64, strict=False)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the failures whose context can be read, with both ids of the hand-off."""
    text, bare = pl.col("text"), pl.col("bare")
    frame = frame.with_columns(bare=skeleton(text))
    frame = frame.filter(sound(text, bare).fill_null(value=False))
    frame = frame.with_columns(rid=_context("request_id"), remote=_context("remote_request_id"))
    return frame.drop("text").filter(pl.col("rid").is_not_null())


def _nixl(rows: Rows) -> None:
    rows.observe(
        *on("decode", internal("rid", random=True), _FAILED),
        internal("remote", random=True).alias("prefill_request_id"),
        _blocks("num_local_blocks").alias("reserved_pages"),
    )


def _failed(rows: Rows) -> None:
    rows.observe(*either(internal("rid", random=True), _FAILED, LATE))


def _each(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each id of a set as Python prints it."""
    ids = pl.col("rids").str.extract_all(r"'[^']*'").list.eval(pl.element().str.strip_chars("'"))
    return frame.with_columns(rid=ids).drop("rids").explode("rid")


def _load_failed(rows: Rows) -> None:
    error = pl.lit("error").alias("finish_reason")
    rows.observe(*on("decode", internal("rid", random=True), _FAILED, error))


_ID = r"(?<rid>\S+)"
_BLOCKS = (
    rf"^req {_ID}: local blocks\((?<local_blocks>{COUNT})\) < remote blocks\((?<remote>{COUNT})\)"
    r" in a KV cache group \(is_mamba_group=(?<state>True|False)\)$"
)
_NIXL = r"^NIXL transfer failure: [^{]{0,200}\| Context: (?<text>\{.*\})$"
_WORD = r"'[0-9A-Za-z_.:@+=-]{1,128}'"
_LOAD = (
    rf"^Failing {COUNT} request\(s\) due to KV load failure \(failure_policy=fail, {COUNT} tokens "
    rf"affected\)\. Request IDs: (?<rids>[\[{{]{_WORD}(?:, {_WORD})*[\]}}])\.?$"
)
MESSAGES = (
    Message(
        Form(
            "short-blocks",
            "line of too few blocks",
            "0.16-0.33, Mooncake",
            "id of a hand-off, the blocks that decode had reserved and those that prefill had",
        ),
        (),
        (_BLOCKS,),
        _short,
        aside=_STATE,
        inside=(": local blocks(",),
        front=False,
    ),
    counted(
        Form(
            "group-mismatch",
            "line of differing block groups",
            "0.16-0.33, Mooncake",
            "nothing: numbers of groups, not of blocks",
        ),
        inside=(": KV group count mismatch: ",),
        patterns=(rf"^req \S+: KV group count mismatch: local={COUNT}, remote={COUNT}$",),
    ),
    Message(
        Form(
            "nixl-failure",
            "NIXL transfer failure",
            "0.12-0.33",
            "both ids of a hand-off that failed on decode, and the blocks it had reserved",
        ),
        ("NIXL transfer failure: ",),
        (_NIXL,),
        _nixl,
        front=False,
        ids=("rid", "remote"),
        prepare=_named,
    ),
    Message(
        Form(
            "mooncake-failure",
            "Mooncake transfer failure",
            "0.14-0.33",
            "id of a hand-off that failed",
        ),
        ("Mooncake transfer failed for request ",),
        (rf"^Mooncake transfer failed for request {_ID}$",),
        _failed,
        front=False,
    ),
    counted(
        Form(
            "sending-failure",
            "failed sending",
            "0.14-0.33, Mooncake",
            "nothing: addresses and bytes, of no named request",
        ),
        "Sending to ",
        patterns=(r"^Sending to \S{1,200} failed \(ret=-?[0-9]{1,9}\) after ",),
    ),
    Message(
        Form(
            "load-failure",
            "failed KV load",
            "0.14-0.33",
            "ids of requests that ended because their blocks could not be loaded",
        ),
        (),
        (_LOAD,),
        _load_failed,
        inside=(" due to KV load failure (failure_policy=fail",),
        front=False,
        prepare=_each,
    ),
    counted(
        Form(
            "load-recovered",
            "recovered KV load",
            "0.12-0.33",
            "nothing: how many requests were computed again",
        ),
        "Recovered from KV load failure: ",
    ),
    counted(
        Form(
            "p2p-transfer",
            "line of a transfer between GPUs",
            "0.9-0.33, P2P NCCL",
            "nothing: tensors, one line a layer",
        ),
        "\U0001f534[PUT]",
        "\U0001f534[GET]",
    ),
)
