"""Names of the attributes that are read, of all conventions; no other is ever decoded.

GenAI semantic conventions old and new, OpenLLMetry (``llm.usage.*``, ``traceloop.*``),
OpenInference (``llm.token_count.*``) and vLLM, which keeps the oldest GenAI names. Of each
row the first name that a span has is taken.
"""

from __future__ import annotations

IDS = ("gen_ai.response.id", "gen_ai.request.id")
HEADER_ID = "http.request.header.x-request-id"
MODELS = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.model_name",
    "llm.request.model",
    "llm.response.model",
)
PROMPT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "llm.token_count.prompt",
)
COMPLETION = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
)
CACHED = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
CREATED = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
)
"""Tokens of the prompt that went into a cache; some count them apart, as those read from it."""
PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
APART = frozenset({"anthropic", "aws.bedrock"})
"""Providers whose own count of a prompt leaves out what a cache has to do with."""
REASONS = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "llm.response.finish_reason",
    "llm.finish_reason",
    "gen_ai.completion.0.finish_reason",
)
STATUS = ("http.response.status_code", "http.status_code")
ERROR = "error.type"
PREFILL = "gen_ai.latency.time_in_model_prefill"
"""Seconds from a request's first step to its first token, waits for chunks included."""

OPERATION, TYPE, KIND = "gen_ai.operation.name", "llm.request.type", "openinference.span.kind"
NO_REQUESTS = frozenset(
    (
        *("embeddings", "embedding", "rerank", "execute_tool", "create_agent", "invoke_agent"),
        *("invoke_workflow", "retrieval", "image_generation", "speech", "transcription"),
    )
)
"""Operations that are no request for tokens, or that sum up several."""

TENANTS = (
    "tenant.id",
    "tenant_id",
    "traceloop.association.properties.tenant_id",
    "traceloop.association.properties.tenant",
    "traceloop.association.properties.organization_id",
    "traceloop.association.properties.customer_id",
    "metadata.tenant_id",
    "metadata.tenant",
    "traceloop.association.properties.user_id",
    "enduser.id",
    "user.id",
    "gen_ai.user",
    "llm.user",
)
"""No convention names a tenant: where one is usually found, the account before the user."""
METADATA = "metadata"

WORKERS = ("k8s.pod.name", "host.name", "service.instance.id")
"""Attributes of the process that name one engine, surest first."""

ALL = frozenset(
    (
        *IDS,
        HEADER_ID,
        *MODELS,
        *PROMPT,
        *COMPLETION,
        *CACHED,
        *CREATED,
        *PROVIDER,
        *REASONS,
        *STATUS,
    )
) | {OPERATION, TYPE, KIND, ERROR, PREFILL}
