"""A caller's span that has no request's id, beside the gateway's own record of the request."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.incident import parse

NANOS = 1_770_120_000_000_000_000
LIMIT = {"trigger": {"threshold_tokens": 40_000}}


def caller(trace: str, tokens: int = 50_000, done: int = 9, second: float = 0.0) -> dict[str, Any]:
    start = NANOS + int(second * 1_000_000_000)
    told = {"gen_ai.usage.prompt_tokens": tokens, "gen_ai.usage.completion_tokens": done}
    return {
        "traceId": trace * 32,
        "spanId": trace * 16,
        "name": "openai.chat",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 900_000_000),
        "attributes": [
            {"key": "llm.request.type", "value": {"stringValue": "chat"}},
            {"key": "user.id", "value": {"stringValue": "acme"}},
            *({"key": key, "value": {"intValue": str(value)}} for key, value in told.items()),
        ],
    }


def gateway(name: str, **more: Any) -> dict[str, Any]:
    return {
        "hop": "gateway",
        "request_id": name,
        "received_at": "2026-02-03T12:00:00.100Z",
        "prompt_tokens": 50_000,
        "completion_tokens": 9,
        "http_status": 200,
        **more,
    }


@pytest.fixture
def rows(tmp_path: Path):
    def read(spans: list[dict[str, Any]], records: list[dict[str, Any]]) -> pl.DataFrame:
        exported = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}
        (tmp_path / "spans.jsonl").write_text(json.dumps(exported) + "\n")
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (tmp_path / "gateway.ndjson").write_text(lines)
        return forensics.read_logs(tmp_path, incident=parse(LIMIT)).requests.polars()

    return read


def test_one_request_counts_once_and_learns_its_tenant(rows):
    (row,) = rows([caller("a")], [gateway("r-1")]).to_dicts()
    assert (row["request_id"], row["tier"], row["tenant_id"]) == ("r-1", "possible", "acme")
    assert "tenant_inferred" in row["reasons"]


@pytest.mark.parametrize(
    "other",
    [
        {"prompt_tokens": 50_001},
        {"completion_tokens": 10},
        {"completion_tokens": None},
        {"tenant_id": "zeta"},
        {"received_at": "2026-02-03T12:01:01Z"},
    ],
    ids=str,
)
def test_what_differs_or_is_not_known_stays_a_request_of_its_own(rows, other):
    found = rows([caller("a")], [gateway("r-1", **other)])
    assert found.height == 2
    assert set(found["tier"]) == {"possible"}


def test_where_several_are_alike_none_is_joined(rows):
    assert rows([caller("a")], [gateway("r-1"), gateway("r-2")]).height == 3
    assert rows([caller("a"), caller("b")], [gateway("r-1")]).height == 3


def test_of_a_gateway_and_an_engine_it_stays_the_same_request(rows):
    """The evidence of engines is not weakened by a record that says no more than a tenant."""
    short = {"hop": "decode", "request_id": "r-1", "decode_prompt_tokens": 50_000}
    short |= {"received_at": "2026-02-03T12:00:00.200Z", "reserved_pages": 782}
    short |= {"transferred_pages": 1, "completion_tokens": 9}
    (row,) = rows([caller("a")], [gateway("r-1"), short]).to_dicts()
    assert (row["tier"], row["tenant_id"]) == ("probable", "acme")
    assert "joined_by_inference" not in row["reasons"]


def test_beside_an_engine_that_knows_another_id_it_is_the_same_request(rows):
    engine = {"hop": "decode", "request_id": "e-1", "decode_prompt_tokens": 50_000}
    engine |= {"received_at": "2026-02-03T12:00:00.200Z", "completion_tokens": 9}
    (row,) = rows([caller("a")], [engine]).to_dicts()
    assert (row["request_id"], row["tier"], row["tenant_id"]) == ("e-1", "possible", "acme")
    assert rows([caller("a")], [engine | {"decode_prompt_tokens": 50_001}]).height == 2
