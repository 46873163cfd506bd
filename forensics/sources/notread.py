"""What engines and clients leave behind that is not read, how it is told, and why it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class NotRead:
    """A kind of file: what a list of formats says of it, and what is said of each such file."""

    name: str
    title: str
    why: str
    reason: str
    tells: Callable[[bytes], bool]


class _Meta(msgspec.Struct):
    id: str
    prompt_tokens: int


class _Saved(msgspec.Struct):
    """What an answer says of itself at its top; never what was generated."""

    meta_info: _Meta | None = None
    object: str | None = None
    usage: msgspec.Raw = msgspec.Raw()
    choices: msgspec.Raw = msgspec.Raw()


_OBJECTS = ("chat.completion", "text_completion")
_MARKS = (b'"meta_info"', b'"usage"')


def _is_pickle(head: bytes) -> bool:
    """Tell a pickle of protocol 2 or later, as engines dump requests on a crash."""
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_answer(head: bytes) -> bool:
    """Tell one answer, or one a line; a record that only holds one is none."""
    text = head.strip()
    if not text.startswith(b"{") or not any(mark in text for mark in _MARKS):
        return False
    return any(map(_says_so, (text, text.split(b"\n", 1)[0])))


def _says_so(text: bytes) -> bool:
    try:
        answer = msgspec.json.decode(text, type=_Saved)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    named = answer.object is not None and answer.object.startswith(_OBJECTS)
    whole = bool(bytes(answer.usage) and bytes(answer.choices))
    return answer.meta_info is not None or (named and whole)


_OTHER_TRACES = re.compile(
    rb'"traceID"\s*:[^\0]{0,2000}"(?:operationName|processID)"\s*:'  # Jaeger
    rb'|"localEndpoint"\s*:\s*\{'  # Zipkin
    rb'|"(?:resource_spans|scope_spans)"\s*:\s*\['  # OTLP by the names of its protobuf
)


def _is_other_trace(head: bytes) -> bool:
    """Tell traces that are JSON, but not the JSON that OTLP defines."""
    return head.lstrip()[:1] in (b"{", b"[") and _OTHER_TRACES.search(head) is not None


PICKLE = NotRead(
    "pickle",
    "pickled dumps of requests, as of --crash-dump-folder",
    "they hold content, and to open one can run code",
    "pickle: never opened, it holds content and can run code",
    _is_pickle,
)
ANSWER = NotRead(
    "saved-answer",
    "answers that were saved, of /generate, /v1/chat/completions and /v1/completions",
    "they name neither hand-off nor side, and client and gateway see the same counts whether "
    "pages were written or not",
    "saved answer of an engine: it names neither hand-off nor side",
    _is_answer,
)
TRACE = NotRead(
    "other-traces",
    "traces as Jaeger and Zipkin print them, and OTLP by its protobuf's names or in binary",
    "the same spans as OTLP/JSON are read, which a collector's file exporter and Tempo write",
    "traces that are not OTLP/JSON: export them so",
    _is_other_trace,
)
NOT_READ = (PICKLE, ANSWER, TRACE)
