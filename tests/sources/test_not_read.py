"""What engines and clients leave behind that is not read: each file of it says so."""

import json

import pytest

from forensics.sources.notread import ANSWER, NOT_READ

META = {"id": "0a0b", "finish_reason": {"type": "length", "length": 0}, "prompt_tokens": 1}
GENERATED = {"text": "CANARY", "output_ids": [17, 21], "meta_info": META}
CHAT = {
    "id": "0a0b",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"content": "CANARY"}}],
    "usage": {"prompt_tokens": 701_234, "completion_tokens": 90},
}
READY = "[2026-02-03 04:05:06] The server is fired up and ready to roll!\n"
SAVED = {
    "one": json.dumps(GENERATED),
    "laid out": json.dumps(GENERATED, indent=1),
    "one a line": f"{json.dumps(GENERATED)}\n{json.dumps(CHAT)}\n",
    "of another": json.dumps(CHAT | {"object": "text_completion"}),
}
NEAR = {
    "within a record": json.dumps({"at": 1, "answer": GENERATED, "usage": {}}),
    "without counts": json.dumps(GENERATED | {"meta_info": {"id": "0a0b"}}),
    "of another kind": json.dumps(CHAT | {"object": "embedding"}),
}


@pytest.mark.parametrize("text", SAVED.values(), ids=SAVED)
def test_a_saved_answer_is_not_read(read, text):
    seen = read(text, "body.json")
    assert dict(seen.reasons) == {ANSWER.reason: 1}
    assert seen.rows.height == 0
    assert "CANARY" not in repr(seen.facts)


@pytest.mark.parametrize("text", NEAR.values(), ids=NEAR)
def test_what_only_looks_like_one_is_something_else(read, text):
    assert dict(read(text, "body.json").reasons) == {"no known format": 1}


def test_a_log_behind_a_saved_answer_is_read(read):
    seen = read(f"{json.dumps(GENERATED)}\n{READY * 3}", "prefill-1.log")
    assert seen.facts.kept == 3
    assert ANSWER.reason not in seen.reasons


@pytest.mark.parametrize("kind", NOT_READ, ids=lambda kind: kind.name)
def test_names_and_sentences(kind):
    for text in (kind.name, kind.title, kind.why, kind.reason):
        assert text
        assert text.strip() == text
