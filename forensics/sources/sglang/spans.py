"""SGLang's request traces (``--enable-trace``) as OTLP/JSON, 0.5.11 to 0.5.23.

One root span a request and side, with both token counts and the room in hexadecimal.
Spans of its threads say the rank and whether it was aborted; that of the prefill
forward says how long it took. Of attributes, ``message`` and ``reason`` of an abort may
quote a prompt: they are never decoded. A collector's file holds spans of callers as well:
those are read as :mod:`forensics.sources.genai` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from forensics.incident import Incident
from forensics.sources.blocks import Source
from forensics.sources.context import Context
from forensics.sources.documents import Document, documents
from forensics.sources.forms import Form
from forensics.sources.genai.spans import AT_A_TIME, Calls, no_spans
from forensics.sources.otlp import SAMPLED, NotSpansError, Span, spans
from forensics.sources.parsed import Parsed, Reasons
from forensics.sources.sglang.traced import Root, Traced

FORMS = (
    Form(
        "root-span",
        "root span of a request on one side",
        "0.5.11-0.5.23",
        "both counts of a prompt, room or trace, generated tokens, model, how it ended",
    ),
    Form(
        "thread-span",
        "span of a scheduler's thread",
        "0.5.11-0.5.23",
        "DP rank; whether the request was aborted, and with which status",
    ),
    Form(
        "prefill-forward-span",
        "span of the prefill forward pass",
        "0.5.11-0.5.23",
        "prefill time, without queue and transfer",
    ),
)


_MODULE = "sglang::request"
_ID, _RID, _ROOM = "gen_ai.request.id", "rid", "bootstrap_room"
_COUNTS = {
    "prompt_tokens": "gen_ai.usage.prompt_tokens",
    "completion_tokens": "gen_ai.usage.completion_tokens",
    "cached_tokens": "gen_ai.usage.cached_tokens",
}
_REASONS, _MODEL = "gen_ai.response.finish_reasons", "gen_ai.response.model"
_RANK, _TYPE, _STATUS = "dp_rank", "type", "status_code"
_WANTED = frozenset(
    {"module", _ID, _RID, _ROOM, *_COUNTS.values(), _REASONS, _MODEL, _RANK, _TYPE, _STATUS}
)
_ROOT = re.compile(r"\s*(?:(prefill|decode) )?Req ")
_FORWARD = "prefill_forward"


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell traces of SGLang by the module that its root spans name."""
    if re.match(rb"\s*\{", head) and b'"resourceSpans"' in head and b'"sglang::request"' in head:
        return "spans of the module sglang::request"
    return None


def read(opened: Source, context: Context) -> Iterator[Parsed]:
    """Yield what each document was counted as, then the requests of the file."""
    log = SpanLog(context)
    yield from log.add(opened)
    yield log.rest()


class SpanLog:
    """Reads the documents of one file, however many sources they come in."""

    def __init__(self, context: Context) -> None:
        self._traced = Traced(context)
        self._calls = Calls(context)

    def add(self, source: Source) -> Iterator[Parsed]:
        """Yield what each document of a source was counted as."""
        for document in documents(source):
            parsed = Parsed()
            if document.reason is not None:
                parsed.read = 1
                parsed.unread.append(document.unread(document.reason))
            else:
                _spans(document, self._traced, self._calls, parsed)
            if len(self._calls.waiting) >= AT_A_TIME:
                self._calls.emit(parsed)
            yield parsed

    def rest(self) -> Parsed:
        """Return the requests whose spans may lie anywhere in the file."""
        parsed = self._traced.rows()
        self._calls.emit(parsed)
        return parsed


def _spans(document: Document, traced: Traced, calls: Calls, parsed: Parsed) -> None:
    wanted, line = _WANTED | calls.wanted, document.line
    try:
        for span in spans(document.data, wanted, calls.process):
            parsed.read += 1
            if span is not None and span.sampled:
                parsed.notes[SAMPLED] += 1
            if span is None:
                parsed.unread.append(document.unread("span not in a known form"))
            elif not (
                _is_root(span, line, traced, parsed.bad_values)
                # Before what threads are told by: a caller's span may have such names as well.
                or calls.take(span, line, parsed)
                or _is_child(span, traced)
            ):
                parsed.ignored["other span"] += 1
    except NotSpansError:
        no_spans(document, parsed)


def _is_root(span: Span, line: int, traced: Traced, bad: Reasons) -> bool:
    """Hand on the root span of a request; say whether it is one."""
    role = _ROOT.match(span.name) if span.text("module") == _MODULE else None
    if role is not None:
        traced.add_root(span, _root(span, role[1] or "unified", line, bad))
    return role is not None


def _is_child(span: Span, traced: Traced) -> bool:
    """Hand on what a span says of the request above it; say whether it says anything."""
    if _RANK in span.attributes or span.text(_TYPE) == "abort":
        aborted = span.text(_TYPE) == "abort"
        traced.add_thread(span, span.whole(_RANK), span.whole(_STATUS), aborted=aborted)
    elif span.name == _FORWARD:
        traced.add_forward(span)
    else:
        return False
    return True


def _root(span: Span, role: str, line: int, bad: Reasons) -> Root:
    room = _room(span)
    bad["transfer_id"] += room is None and _ROOM in span.attributes
    counts = {name: span.whole(key) for name, key in _COUNTS.items()}
    for name, key in _COUNTS.items():
        bad[name] += counts[name] is None and key in span.attributes
    return Root(
        role=role,
        request_id=span.text(_ID) or span.text(_RID),
        transfer_id=room or span.trace,
        model=span.text(_MODEL),
        reason=_reason(span.text(_REASONS)),
        prompt=counts["prompt_tokens"],
        completion=counts["completion_tokens"],
        cached=counts["cached_tokens"],
        arrived=None if span.start is None else span.start / 1e6,
        finished=None if span.end is None else span.end / 1e6,
        line=line,
    )


def _room(span: Span) -> str | None:
    """Return ``bootstrap_room`` in decimal; it has 63 bits, so it never passes a float."""
    text = span.text(_ROOM)
    if text is not None and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return str(int(text, 16))
    number = span.whole(_ROOM)
    return None if number is None else str(number)


def _reason(text: str | None) -> str | None:
    """Return the first of the finish reasons, which are a JSON list in one text."""
    try:
        reasons = msgspec.json.decode(text or "[]", type=list[str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return reasons[0] if reasons else None
