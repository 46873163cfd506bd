"""Request logs in text form: a Python repr of the request and of its answer, any level.

The repr holds content. It is reduced to its skeleton first; what is taken from that stands
at fixed places, so that a text which imitates a field is never taken for one.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.jsonlines import Path
from forensics.sources.sglang import answers
from forensics.sources.sglang.clock import count_offsets
from forensics.sources.sglang.message import Message, Rows, counted
from forensics.sources.sglang.messages.request_batch import each
from forensics.sources.sglang.skeleton import CLOSE, OPEN, skeleton, sound
from forensics.sources.values import NOT_A_VALUE

_FLOAT = r"[0-9.]{1,24}(?:[eE][+-]?[0-9]{1,3})?"
_WHOLE = r"[0-9]{1,19}"
_WORD = rf"{OPEN}'([^']*)'{CLOSE}"
_TENANTS: tuple[Path, ...] = (
    ("headers", "x-tenant-id"),
    ("obj", "custom_labels", "tenant"),
    ("obj", "custom_labels", "tenant_id"),
)
_STATUS = rf"(?:<HTTPStatus\.[A-Z_]+: )?({_WHOLE})"
_META = {
    "prompt": ("prompt_tokens", _WHOLE),
    "completion": ("completion_tokens", _WHOLE),
    "cached": ("cached_tokens", _WHOLE),
    "dp_rank": ("dp_rank", _WHOLE),
    "forward": ("forward_entry_time", _FLOAT),
    "prefilled": ("prefill_finished_time", _FLOAT),
    "arrived": ("request_received_ts", _FLOAT),
    "finished": ("request_finished_ts", _FLOAT),
    "took": ("e2e_latency", _FLOAT),
}


def _key(name: str) -> str:
    return f"{OPEN}'{name}'{CLOSE}: "


_REASON = _key("finish_reason") + r"\{"
_CODES = {
    "reason": rf"{_key('finish_reason')}(?:\{{{_key('type')})?{_WORD}",
    "length": rf"{_REASON}[^{{}}]*{_key('length')}({_WHOLE})[,}}]",
    "status": rf"{_REASON}[^{{}}]*{_key('status_code')}{_STATUS}[,>}}]",
}


def _read(rows: Rows, event: str) -> None:
    finished = event == "request.finished"
    frame = rows.kept.frame
    if not frame.height:
        return
    meta = pl.col("bare").str.extract(rf"^.*{_key('meta_info')}(\{{.*)$", 1)
    frame = frame.with_columns(meta=meta if finished else pl.lit(None, dtype=pl.String))
    columns = frame.select(
        pl.lit(event).alias("event"),
        _timestamp().alias("timestamp"),
        _request_id().alias("request_id"),
        _room().alias("transfer_id"),
        _once(rf", received_time=({_FLOAT})[,)]").alias("received"),
        *(_meta(name, value).alias(column) for column, (name, value) in _META.items()),
        *(pl.col("meta").str.extract(form, 1).alias(name) for name, form in _CODES.items()),
        *_tenants(rows),
    )
    lines = frame["line"]
    found = answers.typed(columns.to_dict(), lines, rows.context, rows.parsed)
    _clock(rows, frame, found)
    answers.emit(found, answers.told(pl.lit(finished)), rows.context, rows.parsed)


def _once(form: str) -> pl.Expr:
    """A field that stands in the line once; where a key imitates it, neither is believed."""
    found = pl.col("bare").str.extract(form, 1)
    return pl.when(pl.col("bare").str.count_matches(form) == 1).then(found)


def _room() -> pl.Expr:
    """The room as it is written: of one that is no number more is judged, and then let go."""
    found = _once(r", bootstrap_room=([^,)]*)[,)]").str.strip_chars(f"{OPEN}{CLOSE}'")
    return pl.when(found == "").then(pl.lit(NOT_A_VALUE)).when(found != "None").then(found)


def _request_id() -> pl.Expr:
    """The id that the line begins with; one that is no short word is no identifier here."""
    first = r"^[A-Za-z]+\(rid="
    found = pl.col("bare").str.extract(rf"{first}{_WORD}", 1)
    unfit = pl.col("bare").str.contains(rf"{first}{OPEN}{CLOSE}")
    return pl.when(unfit).then(pl.lit(NOT_A_VALUE)).otherwise(found)


def _meta(name: str, value: str) -> pl.Expr:
    return pl.col("meta").str.extract(rf"{_key(name)}({value})[,}}]", 1)


def _timestamp() -> pl.Expr:
    text = pl.col("local").cast(pl.Datetime("us")).dt.to_string("%Y-%m-%dT%H:%M:%S%.6f")
    zone = pl.when("naive").then(pl.lit("")).otherwise(pl.lit("Z"))
    return pl.concat_str(text, zone)


def _tenants(rows: Rows) -> list[pl.Expr]:
    stated = tuple(tuple(path.split(".")) for path in rows.context.incident.logs.tenant_from)
    return [
        _tenant(path).alias(f"tenant{at}")
        for at, path in enumerate(stated or _TENANTS)
        if _place(path) is not None
    ]


def _tenant(path: Path) -> pl.Expr:
    place = _place(path)
    found = pl.col("bare").str.extract(rf"{place}{_WORD}[,}})]", 1)
    unfit = pl.col("bare").str.contains(rf"{place}{OPEN}{CLOSE}")
    # Keys are printed as they are: one of the client's own can imitate the place.
    unfit |= pl.col("bare").str.count_matches(f"{place}") > 1
    return pl.when(unfit).then(pl.lit(NOT_A_VALUE)).otherwise(found)


def _place(path: Path) -> str | None:
    """What stands before the value of a path; None where this form has no such place."""
    names = [_key(_escaped(name)) for name in path]
    if path[0] == "headers" and len(path) == 2:
        return rf"\), headers=\{{[^{{}}]*{names[1]}"
    if path[0] == "obj" and len(path) == 2:
        return rf", {_escaped(path[1])}="
    if path[0] == "obj" and len(path) == 3:
        return rf", {_escaped(path[1])}=\{{[^{{}}]*{names[2]}"
    return None


def _escaped(name: str) -> str:
    return "".join(letter if letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in name)


def _clock(rows: Rows, frame: pl.DataFrame, found: pl.DataFrame) -> None:
    epoch = pl.coalesce(answers.micros("finished"), answers.micros("received"))
    local = frame.select(pl.when("naive").then("local").alias("local")).to_series()
    offsets = found.select(local - epoch).to_series()
    count_offsets(offsets, rows.context.node, rows.parsed)


def _other_object() -> pl.Expr:
    return pl.when(pl.col("repr").is_null()).then(pl.lit("other record"))


def _message(form: Form, word: str, event: str, ending: str) -> Message:
    object_ = rf"(?<repr>GenerateReqInput\(rid=(?:'|\"|None,|\[).*{ending})$"
    others = r"(?<other>(?:[A-FH-Z]\w{0,80}|G[^e]\w{0,80})\()"
    return Message(
        form,
        (f"{word}: obj=",),
        (rf"^{word}: obj={object_}", rf"^{word}: obj={others}"),
        partial(_read, event=event),
        aside=_other_object(),
        bare=True,
        refine=_sound_only,
    )


def _sound_only(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out lines whose quotes a key has unbalanced: nothing in them is where it seems."""
    frame = frame.with_columns(bare=skeleton(pl.col("repr")))
    return each(frame.filter(sound(pl.col("repr"), pl.col("bare")).fill_null(value=True)))


_LEVELS = "0.4.6-0.5.23, any level; without a time of its own in 0.5.8-0.5.11"
MESSAGES = (
    _message(
        Form(
            "request-received",
            "request log line",
            _LEVELS,
            "id, room and arrival of a request; a tenant where a header or label has it",
        ),
        "Receive",
        "request.received",
        "[)}]",
    ),
    _message(
        Form(
            "request-finished",
            "request log line of an answer",
            _LEVELS,
            "the same, with the prompt as that side counted it, tokens, reason and times",
        ),
        "Finish",
        "request.finished",
        r"'meta_info': \{.*\}\}",
    ),
    counted(
        Form(
            "request-as-sent",
            "request as the client sent it",
            "0.5.11-0.5.23, level 2 and up",
            "nothing: it is all content",
        ),
        "Receive OpenAI: obj=",
    ),
)
