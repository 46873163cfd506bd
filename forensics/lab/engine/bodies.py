"""Request and answer bodies as the OpenAI API and SGLang's own have them."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from forensics.lab.engine.journal import MODEL
from forensics.lab.engine.options import EngineOptions
from forensics.lab.engine.requests import Answer, Ask
from forensics.lab.engine.words import tokens_of

Body: TypeAlias = dict[str, Any]
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class BadBodyError(ValueError):
    """The body is none of the kind that the address takes."""


def ask_of(kind: str, body: Body, tenant: str) -> Ask:
    """Return the request in a body.

    Args:
        kind: ``chat``, ``completions`` or ``generate``.
        body: what the client sent.
        tenant: account of the client.

    Raises:
        BadBodyError: a field is missing or of another type.
    """
    settings = body.get("sampling_params") or {} if kind == "generate" else body
    wanted = settings.get("max_new_tokens" if kind == "generate" else "max_tokens") or 64
    rid = body.get("rid")
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise BadBodyError("max_tokens is a number")
    # It is logged: no line break, no text.
    if rid is not None and not (isinstance(rid, str) and _ID.fullmatch(rid)):
        raise BadBodyError("rid is a word of letters and digits")
    words = tuple(tokens_of(_text(kind, body)))
    if not words:
        raise BadBodyError("the prompt is empty")
    return Ask(tenant, words, wanted, rid)


def _text(kind: str, body: Body) -> str:
    if kind != "chat":
        text = body.get("prompt" if kind == "completions" else "text")
        if not isinstance(text, str):
            raise BadBodyError("the prompt is one text")
        return text
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise BadBodyError("messages is a list of objects")
    return " ".join(_content(message.get("content")) for message in messages)


def _content(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def whole(kind: str, answer: Answer) -> Body:
    """Return the body of an answer that is not streamed."""
    text = " ".join(answer.words)
    if kind == "generate":
        reason = {"type": answer.finish_reason}
        meta = {"id": answer.request_id, "finish_reason": reason, "cached_tokens": 0}
        meta |= {"prompt_tokens": answer.prompt_tokens, "completion_tokens": len(answer.words)}
        return {"text": text, "meta_info": meta}
    choice: Body = {"index": 0, "finish_reason": answer.finish_reason}
    choice |= (
        {"message": {"role": "assistant", "content": text}} if kind == "chat" else {"text": text}
    )
    return {
        "id": answer.request_id,
        "object": "chat.completion" if kind == "chat" else "text_completion",
        "model": MODEL,
        "choices": [choice],
        "usage": _usage(answer),
    }


def piece(kind: str, rid: str, word: str) -> Body:
    """Return one frame of a streamed answer."""
    if kind == "generate":
        return {"text": word, "meta_info": {"id": rid}}
    delta = {"delta": {"content": word}} if kind == "chat" else {"text": word}
    choice = {"index": 0, "finish_reason": None, **delta}
    name = "chat.completion.chunk" if kind == "chat" else "text_completion"
    return {"id": rid, "object": name, "model": MODEL, "choices": [choice]}


def last(answer: Answer) -> Body:
    """Return the frame that ends a streamed answer: its counts, no words."""
    frame = {"id": answer.request_id, "object": "chat.completion.chunk", "model": MODEL}
    return {**frame, "choices": [], "usage": _usage(answer)}


def error(answer: Answer) -> Body:
    """Return the body of a refusal or a failure."""
    name = "BadRequestError" if answer.status == 400 else "InternalServerError"
    return {"object": "error", "message": answer.error, "type": name, "code": answer.status}


def _usage(answer: Answer) -> Body:
    done = len(answer.words)
    total = answer.prompt_tokens + done
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": done,
        "total_tokens": total,
    }


def server_info(role: str, options: EngineOptions) -> Body:
    """Return a server's own account of its settings and its pool; the key in it is a fake."""
    prefill = role == "prefill"
    pool = options.prefill_pool_tokens if prefill else options.decode_pool_tokens
    limit = options.prefill_limit if prefill else options.decode_limit
    settings: Body = {
        "model_path": "/models/GLM-5.3-FP8",
        "served_model_name": MODEL,
        "context_length": options.context_tokens,
        "page_size": options.page_tokens,
        "tp_size": 1,
        "dp_size": 1,
        "api_key": "sk-SYNTHETIC-SECRET-DO-NOT-STORE",
        "disaggregation_mode": role,
        "allow_auto_truncate": options.auto_truncate and prefill,
        "version": options.engine_version,
    }
    memory = {"weight": 37.5, "kvcache": 40.1, "token_capacity": pool, "graph": 1.2}
    state = {**settings, "memory_usage": memory, "last_gen_throughput": 0.0}
    return {
        **settings,
        "status": "ready",
        "max_total_num_tokens": pool,
        "max_req_input_len": limit,
        "internal_states": [state],
    }


def metrics(role: str, options: EngineOptions) -> str:
    """Return a server's gauges in the text form that Prometheus scrapes."""
    pool = options.prefill_pool_tokens if role == "prefill" else options.decode_pool_tokens
    labels = f'{{engine_type="{role}",model_name="{MODEL}",tp_rank="0"}}'
    gauges = {
        "max_total_num_tokens": pool,
        "page_size": options.page_tokens,
        "num_pages": pool // options.page_tokens,
        "context_len": options.context_tokens,
    }
    return "".join(
        f"# TYPE sglang:{name} gauge\nsglang:{name}{labels} {float(value)}\n"
        for name, value in gauges.items()
    )
