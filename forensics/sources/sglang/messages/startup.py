"""Start-up: settings, warm-up and readiness. The settings line holds keys; few are named."""

from __future__ import annotations

import polars as pl

from forensics.enginesettings import UNREADABLE
from forensics.schema import CONFIG_KEYS
from forensics.sources.forms import Form
from forensics.sources.sglang.message import Message, Rows, counted
from forensics.sources.sglang.skeleton import CLOSE, OPEN, skeleton

_ROLES = {"prefill": "prefill", "decode": "decode", "null": "unified"}


def _setting(name: str) -> pl.Expr:
    """One setting, in either form of the line; ``None`` is absent."""
    found = _value(name)
    return pl.when(~found.is_in(["None", ""])).then(found)


def _value(name: str) -> pl.Expr:
    value = rf"{OPEN}'([A-Za-z0-9_.:+-]{{0,48}})'{CLOSE}|([A-Za-z0-9_.:+-]{{1,48}})"
    groups = pl.col("args").str.extract_groups(rf"{_key(name)}(?:{value})[,)}}]").struct
    return pl.coalesce(groups.field("1"), groups.field("2"))


def _key(name: str) -> str:
    return rf"[ ({{](?:{OPEN}'{name}'{CLOSE}: |{name}=)"


def _kept(name: str) -> pl.Expr:
    """One setting that is kept: what is there and cannot be read is not absent."""
    odd = pl.col("args").str.contains(_key(name)) & _value(name).is_null()
    return pl.when(odd).then(pl.lit(UNREADABLE)).otherwise(_setting(name))


def _start(rows: Rows) -> None:
    frame = rows.frame.with_columns(args=skeleton(pl.col("args")))
    mode = _setting("disaggregation_mode")
    role = mode.replace_strict(_ROLES, default=None)
    config = pl.concat_str(
        [pl.concat_str(pl.lit(f"{key}="), _kept(key)) for key in sorted(CONFIG_KEYS)],
        separator=";",
        ignore_nulls=True,
    )
    Rows(frame, rows.context, rows.parsed).fact(
        "start",
        ranked=False,
        role=role,
        disaggregated=role != "unified",
        page_tokens=_setting("page_size").cast(pl.Int64, strict=False),
        context_tokens=_setting("context_length").cast(pl.Int64, strict=False),
        auto_truncate=_setting("allow_auto_truncate") == "True",
        config=config,
    )


def _ready(rows: Rows) -> None:
    rows.fact("ready", ranked=False)


MESSAGES = (
    Message(
        Form(
            "server-args",
            "server_args line",
            "0.4.6-0.5.18 as a call, 0.5.19-0.5.23 as a dictionary",
            "start of a boot: role, page size, context, truncation, settings that move a pool",
        ),
        ("server_args=",),
        (r"^server_args=(?<args>(?:ServerArgs\(|\{).*[)}])$",),
        _start,
    ),
    Message(
        Form("ready", "ready line", "0.4.6-0.5.23", "when a boot was ready to serve"),
        ("The server is fired up",),
        (r"^(?<ready>The server is fired up and ready to roll)!",),
        _ready,
    ),
    counted(
        Form("warm-up", "warm-up line", "0.4.6-0.5.23", "nothing; it may hold model output"),
        "Start of pd disaggregation warmup",
        "End of disaggregation warmup",
        "Disaggregation warmup request",
    ),
)
