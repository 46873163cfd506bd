"""Labels of tenants and models are kept; free text in their fields is withheld and counted."""

import json

import pytest

from forensics import read_logs
from forensics.cli import run

SHORT = {
    "request_id": "r-1", "received_at": "2026-02-03T04:05:06Z", "hop": "decode",
    "decode_node": "decode-1", "http_status": 200, "reserved_pages": 9, "transferred_pages": 1,
    "completion_tokens": 3,
}  # fmt: skip
LABELS = [
    "Acme Corp", "acme", "Llama 3.1 70B instruct", "Fruit & Söhne GmbH", "Bank of the West",
    "Marketing Team (EU) - Chatbot prod", "株式会社三菱フィナンシャル", "Ünïted Ltd. (a, b)",
    "arn:aws:iam::123456789012:user/" + "x" * 120, "deepseek-ai/DeepSeek-V3.1", "=1", " Acme ",
    "Société Générale de Banque",
]  # fmt: skip
FREE_TEXT = [
    "please summarise my medical record",
    "Please summarise my medical record CANARY-11 and tell nobody",
    "Write a poem about the sea",
    "I was told that it is cancer",
    "The Quick Brown Fox Jumps Over Dogs",
    "Acme " + "x" * 60,
    "请" * 33,
    "two\nlines",
]


NO_MODELS = ["team red eu", "my secret", "CANARY model x"]
"""A tenant may be called so, but hardly a model."""


@pytest.mark.parametrize("field", ["tenant_id", "model"])
def test_a_label_is_kept_and_free_text_is_not(field, tmp_path):
    path = tmp_path / "decode-1.ndjson"
    labels = [*LABELS, *(NO_MODELS if field == "tenant_id" else [])]
    others = [*FREE_TEXT, *(NO_MODELS if field == "model" else [])]
    texts = {f"r-{number}": text for number, text in enumerate(labels + others)}
    records = [SHORT | {"request_id": name, field: text} for name, text in texts.items()]
    path.write_text("\n".join(map(json.dumps, records)))
    case = read_logs(path)
    rows = case.requests.polars()
    kept = dict(rows.select("request_id", field).iter_rows())
    assert kept == {name: text if text in labels else None for name, text in texts.items()}
    assert set(rows["tier"]) == {"probable"}
    (file,) = case.analysis.files
    assert dict(file.bad_values) == {field: len(others)}


def test_free_text_leaves_in_no_file_and_the_tenant_is_unknown(tmp_path):
    path, out = tmp_path / "decode-1.ndjson", tmp_path / "out"
    path.write_text(json.dumps(SHORT | {"tenant_id": FREE_TEXT[1]}))
    assert run(["report", str(path), "-q", "-o", str(out)]) == 3
    assert not [p for p in out.rglob("*") if b"CANARY-11" in p.read_bytes()]
    document = json.loads((out / "report.json").read_text())
    assert document["headline"]["recipients_unknown_tenant"]
