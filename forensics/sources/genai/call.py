"""One span of a request as a row: what a caller saw, or what a vLLM engine counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forensics.sources.endings import reason
from forensics.sources.genai import conventions as names
from forensics.sources.models import first_of
from forensics.sources.otlp import Scalar, Span
from forensics.sources.parsed import Reasons


@dataclass(frozen=True)
class Call:
    """What a span says of a request; times in microseconds of UTC, ``prefill_ms`` as named.

    ``node`` is the engine for the engine's own spans and None for a caller's.
    """

    request_id: str
    transfer_id: str | None
    tenant: str | None
    model: str | None
    received: int | None
    finished: int | None
    prompt: int | None
    completion: int | None
    cached: int | None
    reason: str | None
    status: int | None
    prefill_ms: float | None
    engine: bool
    node: str | None
    line: int


def is_engine(span: Span) -> bool:
    """Say whether a vLLM engine wrote the span: callers' spans have other names."""
    known = span.scope.startswith("vllm") or span.measure("gen_ai.latency.e2e") is not None
    return span.name == "llm_request" and known


def is_request(span: Span) -> bool:
    """Say whether a span is of one request for tokens, and not of a chain or a tool."""
    if is_engine(span):
        return True
    kind = span.text(names.KIND)
    if kind is not None:
        return kind.upper() == "LLM"
    if {span.text(names.OPERATION), span.text(names.TYPE)} & names.NO_REQUESTS:
        return False
    if span.text(names.OPERATION) or span.text(names.TYPE):
        return True
    return any(key in span.attributes for key in (*names.PROMPT, *names.COMPLETION))


def call(
    span: Span, tenant: str | None, line: int, bad: Reasons, scope: Sequence[str] = ()
) -> Call:
    """Return the row of a span that is of a request.

    Args:
        span: the span.
        tenant: whose it is.
        line: where it stands.
        bad: where values that are no count are counted.
        scope: models of the incident.
    """
    prompt, completion, cached, created = (
        _count(span, keys, name, bad)
        for keys, name in (
            (names.PROMPT, "prompt_tokens"),
            (names.COMPLETION, "completion_tokens"),
            (names.CACHED, "cached_tokens"),
            (names.CREATED, "cached_tokens"),
        )
    )
    failed = span.failed or names.ERROR in span.attributes
    took = span.measure(names.PREFILL)
    request, transfer = _ids(span)
    return Call(
        request_id=request,
        transfer_id=transfer,
        tenant=tenant,
        model=first_of(list(filter(None, map(span.text, names.MODELS))), scope),
        received=span.start,
        finished=span.end,
        prompt=None if failed and not prompt else _whole_prompt(span, prompt, (cached, created)),
        completion=None if failed and not completion else completion,
        cached=cached,
        reason=reason(_reason(span)),
        status=_status(span),
        prefill_ms=None if took is None or took <= 0 else took * 1_000,
        engine=is_engine(span),
        node=_node(span),
        line=line,
    )


def _ids(span: Span) -> tuple[str, str | None]:
    """Return the request's id, and what else joins it to the hops before and behind it.

    A caller's span that has an id joins by that: under its trace it would stand apart from
    records that name their hand-off in another way. An engine's joins its other side by the
    trace that the hop before began; the root of a trace shares that with nobody, only its id.
    """
    trace, found = span.trace.lower(), _text(span, (*names.IDS, names.HEADER_ID))
    request = found or f"{trace}-{span.span.lower()}"
    if is_engine(span):
        return request, trace if span.parent.strip("0") else request
    return request, None if found else trace


def _whole_prompt(span: Span, prompt: int | None, kept: Sequence[int | None]) -> int | None:
    """Add tokens of a cache where they were, or may have been, left out of the prompt.

    A prompt that held them would be at least as long. Where a provider counts them apart, an
    instrumentation may have added them already: then the prompt is taken for longer than it was,
    which clears nobody.
    """
    if prompt is None:
        return None
    more = sum(filter(None, kept))
    apart = (_text(span, names.PROVIDER) or "").lower() in names.APART
    return prompt + more if apart or more > prompt else prompt


def _text(span: Span, keys: Iterable[str]) -> str | None:
    return next((text for key in keys if (text := span.text(key))), None)


def _first(span: Span, keys: Iterable[str]) -> Scalar | None:
    return next((span.attributes[key] for key in keys if key in span.attributes), None)


def _count(span: Span, keys: Iterable[str], name: str, bad: Reasons) -> int | None:
    value = _first(span, keys)
    number = _whole(value)
    bad[name] += number is None and value is not None
    return number


def _whole(value: Scalar | None) -> int | None:
    """Return a whole number, which some exporters write as text or as a float."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and value.isascii() and len(value) < 20 else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < 2**53 else None
    return value if value is not None and 0 <= value < 2**63 else None


def _reason(span: Span) -> str | None:
    """Return a finish reason; some write the list of them as one text."""
    text = _text(span, names.REASONS)
    return None if text is None else text.strip("[]()'\", ").split("'")[0].split('"')[0]


def _status(span: Span) -> int | None:
    """Return the HTTP status; ``error.type`` holds it for lack of a better word."""
    found = _whole(_first(span, names.STATUS))
    if found is None and (text := span.text(names.ERROR)) and text.isdecimal():
        found = _whole(text)
    return found if found is not None and 100 <= found <= 599 else None


def _node(span: Span) -> str | None:
    values = (span.resource.get(key) for key in names.WORKERS)
    return next((value for value in values if isinstance(value, str) and value), None)
