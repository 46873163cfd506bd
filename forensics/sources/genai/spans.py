"""Spans of requests to models as OTLP/JSON: one line or one document an export.

Callers' spans (SDKs, gateways) follow GenAI conventions, OpenLLMetry or OpenInference and
often hold whole prompts; vLLM writes one span a request, with counts alone. Spans are in
UTC. Traces are sampled, and exporters drop spans under load: one that is not there shows
nothing. Events, links, status messages and all attributes that are not named in
:mod:`forensics.sources.genai.conventions` are never decoded.
"""

from __future__ import annotations

import re

from forensics.incident import Incident
from forensics.sources.context import Context
from forensics.sources.documents import Document, fault
from forensics.sources.forms import Form
from forensics.sources.genai import conventions, rows
from forensics.sources.genai.call import Call, call, is_request
from forensics.sources.genai.tenants import Tenants
from forensics.sources.otlp import Span, other_signal
from forensics.sources.parsed import Parsed

FORMS = (
    Form(
        "vllm-span",
        "span llm_request of a vLLM engine",
        "vLLM 0.6, 0.11-0.33",
        "id, prompt and generated tokens, engine, arrival; prefill time of a prefill engine",
    ),
    Form(
        "genai-span",
        "span of a request by the GenAI conventions, old or new names",
        "semantic conventions 1.27 and later, OpenLLMetry 0.4 and later",
        "id, model, prompt, cached and generated tokens, how it ended; a tenant where an "
        "attribute has it",
    ),
    Form(
        "openinference-span",
        "span of kind LLM by OpenInference",
        "openinference 0.1",
        "model, prompt, cached and generated tokens; id by its trace; a tenant as user.id or in "
        "metadata",
    ),
)
WANTED = conventions.ALL | {"gen_ai.latency.e2e"}
AT_A_TIME = 8_192
_KEYS = re.compile(
    rb'"(?:gen_ai\.(?:usage|request|response|operation|latency)\.[a-z_.]+|llm\.token_count\.[a-z_.]+'
    rb'|llm\.usage\.[a-z_]+|llm\.request\.type|openinference\.span\.kind)"'
)
_LISTS = re.compile(rb'"(?:resourceSpans|batches)"\s*:\s*\[')


def sniff(head: bytes, _: Incident) -> str | None:
    """Tell spans of requests by the list that they stand in and the names of their attributes."""
    if not re.match(rb"\s*\{", head) or not _LISTS.search(head):
        return None
    return "spans with attributes of requests to models" if _KEYS.search(head) else None


class Calls:
    """Takes the spans of requests, and holds their rows until there are enough of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tenants = Tenants(context.incident.logs.tenant_from)
        self.wanted = WANTED | self._tenants.wanted
        self.process = frozenset(conventions.WORKERS) | self._tenants.wanted
        self.waiting: list[Call] = []

    def take(self, span: Span, line: int, parsed: Parsed) -> bool:
        """Take a span if it is of a request; its row counts as kept once it is emitted."""
        if not is_request(span):
            return False
        tenant, scope = self._tenants.of(span), self._context.incident.scope.models
        self.waiting.append(call(span, tenant, line, parsed.bad_values, scope))
        return True

    def emit(self, parsed: Parsed) -> None:
        """Add the rows that wait."""
        rows.emit(self.waiting, self._context, parsed)
        self.waiting = []


def no_spans(document: Document, parsed: Parsed) -> None:
    """Count a document without spans: another signal of the same exporter, or unreadable."""
    parsed.read += 1
    signal = other_signal(document.data)
    if signal is not None:
        parsed.ignored[signal] += 1
    else:
        parsed.unread.append(document.unread(fault(document.data) or "no list of spans"))
