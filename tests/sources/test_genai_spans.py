"""Spans of requests to models: all conventions, any order, and nothing of what was said."""

import json
from typing import Any

import pytest

import forensics

MICROS = 1_770_120_000_123_456
SGLANG_ROOM = 6066694201313984764


def value(of: Any) -> dict[str, Any]:
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    if isinstance(of, list):
        return {"arrayValue": {"values": [value(one) for one in of]}}
    return {kinds[type(of)]: str(of) if type(of) is int else of}


def listed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(of)} for key, of in attributes.items()]


def span(name: str = "chat m", own: str = "a1", trace: str = "f0", **more: Any) -> dict[str, Any]:
    attributes = more.pop("attributes", {})
    return {
        "traceId": trace,
        "spanId": own,
        "name": name,
        "startTimeUnixNano": f"{MICROS}789",
        "endTimeUnixNano": f"{MICROS + 1_000_000}000",
        "attributes": listed(attributes),
        **more,
    }


def chat(**attributes: Any) -> dict[str, Any]:
    dotted = {key.replace("__", "."): of for key, of in attributes.items()}
    return span(attributes={"gen_ai.operation.name": "chat"} | dotted)


def vllm(completion: int, prompt: int = 50, rid: str = "a-1", **more: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.request.id": f"chatcmpl-{rid}",
        "gen_ai.usage.prompt_tokens": prompt,
        "gen_ai.usage.completion_tokens": completion,
        "gen_ai.latency.time_in_model_prefill": 0.0625,
        "gen_ai.latency.e2e": 1.5,
    }
    return span("llm_request", attributes=attributes, **more)


def export(*spans: Any, scope: str = "x", **resource: Any) -> str:
    attributes = {key.replace("__", "."): of for key, of in resource.items()}
    scopes = [{"scope": {"name": scope}, "spans": list(spans)}]
    return json.dumps(
        {"resourceSpans": [{"resource": {"attributes": listed(attributes)}, "scopeSpans": scopes}]}
    )


@pytest.fixture
def row(read):
    def run(document: str, **incident: Any) -> dict[str, Any]:
        seen = read(f"{document}\n", "traces.jsonl", form="genai-spans", **incident)
        (found,) = seen.rows.to_dicts()
        return found

    return run


@pytest.mark.parametrize(
    ("prompt", "completion", "cached", "reason", "model"),
    [
        (
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.model",
        ),
        (
            "gen_ai.usage.prompt_tokens",
            "gen_ai.usage.completion_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.completion.0.finish_reason",
            "gen_ai.request.model",
        ),
        (
            "llm.usage.prompt_tokens",
            "llm.usage.completion_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "llm.response.finish_reason",
            "llm.request.model",
        ),
        (
            "llm.token_count.prompt",
            "llm.token_count.completion",
            "llm.token_count.prompt_details.cache_read",
            "llm.finish_reason",
            "llm.model_name",
        ),
    ],
)
def test_all_generations_of_names(row, prompt, completion, cached, reason, model):
    reasons = ["length"] if reason.endswith("reasons") else "length"
    found = row(
        export(span(attributes={prompt: 50, completion: 9, cached: 8, reason: reasons, model: "m"}))
    )
    assert (found["hop"], found["prompt_tokens"], found["completion_tokens"]) == ("gateway", 50, 9)
    assert (found["cached_tokens"], found["finish_reason"], found["model"]) == (8, "length", "m")
    assert found["received_at"] == MICROS
    assert found["finished_at"] == MICROS + 1_000_000


@pytest.mark.parametrize(
    ("attributes", "request_id", "transfer_id"),
    [
        ({"gen_ai__response__id": "chatcmpl-a-1"}, "a-1", None),
        ({"http__request__header__x-request-id": ["a-1"]}, "a-1", None),
        ({}, "f0-a1", "f0"),
    ],
)
def test_the_trace_stands_in_where_no_id_is_there(row, attributes, request_id, transfer_id):
    found = row(export(chat(gen_ai__usage__input_tokens=5, **attributes)))
    assert (found["request_id"], found.get("transfer_id")) == (request_id, transfer_id)


@pytest.mark.parametrize(
    ("parent", "transfer_id"), [("", "a-1"), ("0000000000000000", "a-1"), ("b7", "f0")]
)
def test_an_engine_joins_its_other_side_by_the_trace_unless_it_began_it(row, parent, transfer_id):
    found = row(export(vllm(9, parentSpanId=parent), scope="vllm.llm_engine"))
    assert (found["request_id"], found["transfer_id"]) == ("a-1", transfer_id)


def test_two_calls_of_one_trace_are_two_requests(read):
    calls = [span(own=f"b{n}", attributes={"gen_ai.usage.input_tokens": 5}) for n in range(2)]
    seen = read(export(*calls), "traces.jsonl")
    assert sorted(seen.column("request_id")) == ["f0-b0", "f0-b1"]


@pytest.mark.parametrize("completion", [1, 0])
def test_a_vllm_span_of_one_token_may_be_of_either_side(row, completion):
    found = row(export(vllm(completion), scope="vllm.llm_engine", k8s__pod__name="pod-3"))
    assert found["hop"] == "engine"
    assert found["prefill_node"] == found["decode_node"] == found["source_node"] == "pod-3"
    assert found["prefill_prompt_tokens"] == found["decode_prompt_tokens"] == 50
    assert found["prompt_tokens"] is None
    assert found["prefill_ms"] == 62.5


def test_a_vllm_span_of_more_tokens_is_of_decode(row):
    found = row(export(vllm(9), scope="vllm.llm_engine", host__name="h-1"))
    assert (found["prefill_node"], found["decode_node"]) == (None, "h-1")
    assert (found["prefill_prompt_tokens"], found["decode_prompt_tokens"]) == (None, 50)


def test_the_engines_of_one_file_are_kept_apart(read):
    lines = [
        export(vllm(9, own=f"c{n}"), scope="vllm.llm_engine", k8s__pod__name=f"pod-{n}")
        for n in range(3)
    ]
    seen = read("\n".join(lines), "traces.jsonl")
    assert seen.column("decode_node") == ["pod-0", "pod-1", "pod-2"]
    assert seen.column("source_node") == ["pod-0", "pod-1", "pod-2"]


def test_a_failure_reports_no_tokens(row):
    failed = chat(gen_ai__usage__input_tokens=0, gen_ai__usage__output_tokens=0)
    found = row(export(failed | {"status": {"code": 2, "message": "CANARY"}}))
    assert found["prompt_tokens"] is found["completion_tokens"] is None
    assert found["http_status"] is None


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"error__type": "429"}, 429),
        ({"error__type": "CANARY error of a client"}, None),
        ({"error__type": "404040"}, None),
        ({"http__response__status_code": 503, "error__type": "500"}, 503),
        ({"http__status_code": "200"}, 200),
    ],
)
def test_a_status_is_a_number_alone(row, attributes, status):
    assert row(export(chat(gen_ai__usage__input_tokens=5, **attributes)))["http_status"] == status


def test_tokens_after_an_error_were_sent(row):
    sent = chat(gen_ai__usage__output_tokens=7, error__type="timeout")
    assert row(export(sent))["completion_tokens"] == 7


def test_cached_tokens_that_were_left_out_of_the_prompt_are_added(row):
    found = row(
        export(chat(gen_ai__usage__input_tokens=5, gen_ai__usage__cache_read__input_tokens=900))
    )
    assert found["prompt_tokens"] == 905


@pytest.mark.parametrize(
    ("written", "read_as"), [(50, 50), ("50", 50), (50.0, 50), (50.5, None), ("5e1", None)]
)
def test_counts_however_they_are_written(read, written, read_as):
    document = export(chat(gen_ai__usage__input_tokens=written))
    seen = read(document, "traces.jsonl", form="genai-spans")
    assert seen.column("prompt_tokens") == [read_as]
    assert seen.facts.bad_values.get("prompt_tokens", 0) == (read_as is None)


@pytest.mark.parametrize(
    ("attributes", "stated", "tenant"),
    [
        ({"user__id": "u-1", "tenant__id": "team-a"}, (), "team-a"),
        ({"traceloop__association__properties__tenant_id": "team-b"}, (), "team-b"),
        ({"metadata": '{"tenant": "team-c", "x": "CANARY"}'}, (), "team-c"),
        ({"metadata": "CANARY {"}, (), None),
        ({"metadata": '{"tenant": {"CANARY": 1}}'}, (), None),
        ({"enduser__id": "u-2"}, (), "u-2"),
        ({"session__id": "s-1", "gen_ai__conversation__id": "c-1"}, (), None),
        ({"user__id": "u-1", "metadata": '{"org": "team-d"}'}, ("metadata.org",), "team-d"),
        ({"user__id": "u-1"}, ("org.id",), None),
    ],
)
def test_where_a_tenant_is_found(row, attributes, stated, tenant):
    document = export(chat(gen_ai__usage__input_tokens=5, **attributes))
    found = row(document, logs={"tenant_from": stated})
    assert found.get("tenant_id") == tenant


def test_a_tenant_of_the_process_is_one_where_the_incident_says_so(row):
    document = export(chat(gen_ai__usage__input_tokens=5), org__id="team-e")
    assert row(document, logs={"tenant_from": ["org.id"]})["tenant_id"] == "team-e"


@pytest.mark.parametrize(
    "old",
    [
        lambda text: text.replace('"scopeSpans"', '"instrumentationLibrarySpans"').replace(
            '"scope"', '"instrumentationLibrary"'
        ),
        lambda text: text.replace('"resourceSpans"', '"batches"'),
        lambda text: f'{{"trace": {text}}}',
        lambda text: json.dumps({"trace": json.loads(text), "message": ""}, indent=2),
    ],
)
def test_documents_of_older_exporters_and_of_stores(row, old):
    document = old(export(vllm(9), scope="vllm.llm_engine"))
    assert row(document)["decode_prompt_tokens"] == 50


def test_spans_of_callers_and_of_sglang_in_one_file(read):
    root = span(
        "decode Req 0a",
        attributes={
            "module": "sglang::request",
            "rid": "0a",
            "bootstrap_room": hex(SGLANG_ROOM),
            "gen_ai.usage.prompt_tokens": 50,
            "gen_ai.usage.completion_tokens": 9,
        },
    )
    caller = chat(gen_ai__usage__input_tokens=50, gen_ai__response__id="0a")
    seen = read(f"{export(root)}\n{export(caller)}\n", "traces.jsonl")
    assert seen.facts.format == "sglang-spans"
    assert (seen.facts.read, seen.facts.kept) == (2, 2)
    assert seen.column("hop") == ["decode", "gateway"]
    assert seen.column("transfer_id") == [str(SGLANG_ROOM), None]


def test_log_records_and_metrics_of_the_same_exporter_are_counted(read):
    lines = [
        export(chat(gen_ai__usage__input_tokens=5)),
        '{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": "CANARY"}]}]}]}',
        '{"resourceMetrics": [{"scopeMetrics": ["CANARY"]}]}',
    ]
    seen = read("\n".join(lines), "traces.jsonl")
    assert seen.facts.ignored == {"log records beside spans": 1, "metrics beside spans": 1}
    assert seen.facts.kept == 1


@pytest.mark.parametrize(
    ("prefill", "decode"),
    [
        ({}, {}),
        ({"trace": "f1"}, {"trace": "f2"}),
        ({"parentSpanId": "b7", "rid": "p-9"}, {"parentSpanId": "b7"}),
    ],
    ids=["one-trace", "one-id", "one-trace-two-ids"],
)
@pytest.mark.parametrize(
    ("counted", "tier", "reason"),
    [(1, "probable", "placeholder_prefill"), (50_000, "ruled_out", "same_count")],
)
def test_both_engines_of_a_hand_off_are_held_against_each_other(
    tmp_path, prefill, decode, counted, tier, reason
):
    sides = [
        export(vllm(1, counted, own="a1", **prefill), scope="vllm", k8s__pod__name="p-0"),
        export(vllm(9, 50_000, own="a2", **decode), scope="vllm", k8s__pod__name="d-0"),
    ]
    (tmp_path / "traces.jsonl").write_text("\n".join(sides))
    (found,) = forensics.read_logs(tmp_path / "traces.jsonl").requests.polars().to_dicts()
    assert (found["tier"], found["reasons"]) == (tier, [reason])
    assert (found["prefill_node"], found["decode_node"]) == ("p-0", "d-0")


# Every attribute that holds content or a secret in some convention, and their kin.
CONTENT = (
    *("gen_ai.prompt", "gen_ai.completion", "gen_ai.prompt.0.content", "gen_ai.prompt.0.role"),
    *("gen_ai.completion.0.content", "gen_ai.completion.1.finish_reason", "gen_ai.input.messages"),
    *("gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"),
    *("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.description"),
    *("gen_ai.retrieval.query.text", "gen_ai.retrieval.documents", "gen_ai.content.prompt"),
    *("gen_ai.evaluation.explanation", "gen_ai.request.stop_sequences", "gen_ai.headers"),
    *("gen_ai.request.structured_output_schema", "gen_ai.task.input", "gen_ai.task.output"),
    *("traceloop.entity.input", "traceloop.entity.output", "traceloop.prompt.template"),
    *("llm.headers", "llm.prompts", "llm.completions", "llm.request.functions", "llm.tools"),
    *("input.value", "output.value", "llm.input_messages.0.message.content", "llm.choices"),
    *("llm.output_messages.0.message.content", "llm.prompt_template.template"),
    *("llm.invocation_parameters", "llm.function_call", "message.content", "document.content"),
    *("tool.parameters", "tool_call.function.arguments", "retrieval.documents.0.document.content"),
    *("embedding.text", "prompt.text", "completion.text", "audio.transcript", "http.url"),
    *("exception.message", "exception.stacktrace", "mcp.request.argument", "mcp.response.value"),
    *("db.query.result.document", "http.request.header.authorization", "url.full", "CANARY-key"),
)


@pytest.mark.parametrize("wrapped", [str, lambda text: [text], lambda text: json.dumps([text])])
def test_no_attribute_with_content_is_read(read, wrapped):
    held = {name: wrapped(f"CANARY-{at}") for at, name in enumerate(CONTENT)}
    everywhere = span(
        "CANARY-name",
        attributes={"gen_ai.usage.input_tokens": 5} | held,
        events=[{"name": "CANARY-event", "attributes": listed(held)}],
        links=[{"traceId": "f1", "spanId": "a2", "attributes": listed(held)}],
        status={"code": 1, "message": "CANARY-status"},
        traceState="CANARY-state",
    )
    document = export(everywhere, scope="CANARY-scope", CANARY="CANARY")
    seen = read(document, "traces.jsonl")
    assert seen.facts.kept == 1
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in seen.rows.write_csv()
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize(
    "name",
    ["gen_ai.response.id", "gen_ai.request.model", "gen_ai.response.finish_reasons", "user.id"],
)
def test_a_text_in_place_of_a_name_is_not_kept(read, name):
    text = "CANARY-word and a whole sentence of what was asked, which is no name at all"
    document = export(chat(gen_ai__usage__input_tokens=5) | {"attributes": listed({name: text})})
    seen = read(document.replace('"chat m"', '"x"'), "traces.jsonl", form="genai-spans")
    for part in seen.reading.parts:
        assert b"CANARY" not in part.read_bytes()
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize(("models", "named"), [([], "alias"), (["served"], "served")])
def test_of_several_names_of_a_model_the_one_that_the_case_is_about(row, models, named):
    both = {"gen_ai__request__model": "alias", "gen_ai__response__model": "served"}
    assert row(export(chat(**both)), scope={"models": models})["model"] == named
