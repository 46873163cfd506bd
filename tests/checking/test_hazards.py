"""Files that hold content are told by the names of their fields."""

import pytest

from forensics.checking.hazards import HAZARDS, hazards

PROMPTS = [
    b'{"event": "request.received", "obj": {"rid": "r1", "text": "CANARY-P"}}',
    b"Receive: obj=GenerateReqInput(rid='r1', text='CANARY-P', input_ids=None)",
    b'{"request_parameters": "{\\"rid\\": \\"r1\\", \\"text\\": \\"CANARY-P\\"}"}',
    b'{"obj": {"input_ids": [17, 4]}}',
    b"INFO Received request c-1: prompt: 'CANARY-P', params: SamplingParams()",
    b'{"messages": [{"role": "user"}]}',
    b'{"key": "gen_ai.input.messages", "gen_ai.prompt": "CANARY-P"}',
]
OUTPUTS = [
    b'{"out": {"output_ids": [5]}}',
    b"out={'output_ids': [0, 1]}",
    b'{"response": {"a": 1}}',
]
SECRETS = [b"server_args=ServerArgs(api_key='CANARY-K')", b'{"admin_api_key": "CANARY-K"}']
CLEAN = [
    b'{"event": "request.received", "obj": {"rid": "r1", "text": null, "input_ids": []}}',
    b"Receive: obj=GenerateReqInput(rid='r1', text=None, input_ids=None)",
    b'{"prompt_tokens": 5, "input_tokens": "7", "gen_ai.usage.input_tokens": 17}',
    b"Input length (9 tokens) exceeds the maximum allowed length (8 tokens).",
    b"server_args={'api_key': None, 'text': ''}",
    b"[2026-08-28 03:14:06] Decode batch, #running-req: 3, input throughput (token/s): 980.06",
]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *(("prompts", line) for line in PROMPTS),
        *(("outputs", line) for line in OUTPUTS),
        *(("secrets", line) for line in SECRETS),
    ],
)
def test_a_field_that_holds_content_is_told_and_its_value_is_not(name: str, line: bytes) -> None:
    found = hazards(CLEAN[5] + b"\n" + line + b"\n")
    assert name in found
    assert set(found) <= {hazard.name for hazard in HAZARDS}


@pytest.mark.parametrize("line", CLEAN)
def test_counts_and_empty_fields_are_no_content(line: bytes) -> None:
    assert hazards(line + b"\n") == []
