"""What a profile may decide: a verified one clears by size and status, any other clears nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import read_logs
from forensics.incident import parse

LIMIT = {"trigger": {"threshold_tokens": 49_152}}
AT = 1_770_091_200_250


def kong(name: str, tokens: int | None, status: int = 200, at: int = AT) -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 9 if status == 200 else 0}
    return {
        "request": {"id": name},
        "response": {"status": status},
        "latencies": {"request": 100},
        "consumer": {"custom_id": f"tenant-{name}"},
        "started_at": at,
        "ai": {"proxy": {"meta": {"request_model": "acme/chat-9b"}, "usage": usage}},
    }


def envoy(name: str, tokens: int | None, status: int = 200) -> dict[str, Any]:
    return {
        "x-request-id": name,
        "x-tenant-id": f"tenant-{name}",
        "start_time": "2026-02-03T04:00:00.250Z",
        "duration": 100,
        "response_code": status,
        "response_flags": "-",
        "gen_ai.request.model": "acme/chat-9b",
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": 9 if status == 200 else None,
    }


def judged(folder: Path, logs: dict[str, list[dict[str, Any]]], **incident: Any) -> dict[str, Any]:
    for name, rows in logs.items():
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    case = read_logs(folder, incident=parse({**LIMIT, **incident}))
    rows = case.requests.polars()
    return {row["request_id"]: row for row in rows.iter_rows(named=True)}


def tiers(rows: dict[str, Any]) -> dict[str, str]:
    return {name: row["tier"] for name, row in rows.items()}


def test_an_unverified_format_clears_nobody(tmp_path):
    log = [kong("over", 52_310), kong("below", 12), kong("refused", 12, 503), kong("none", None)]
    rows = judged(tmp_path, {"kong.jsonl": log})
    assert tiers(rows) == {
        "over": "possible",
        "below": "not_assessable",
        "refused": "not_assessable",
        "none": "not_assessable",
    }
    assert rows["below"]["reasons"] == ["unverified_format"]
    assert rows["refused"]["reasons"] == ["delivery_unknown", "unverified_format"]


def test_a_verified_one_clears_as_plain_records_do(tmp_path):
    log = [envoy("over", 52_310), envoy("below", 12), envoy("refused", None, 503)]
    assert tiers(judged(tmp_path, {"access.jsonl": log})) == {
        "over": "possible",
        "below": "ruled_out",
        "refused": "ruled_out",
    }


@pytest.mark.parametrize(("hours", "tier"), [(13, "possible"), (15, "ruled_out")])
def test_only_a_time_far_outside_is_out_of_scope(tmp_path, hours, tier):
    window = ["2026-02-03T04:00:00Z", "2026-02-03T05:00:00Z"]
    late = kong("late", 52_310, at=AT + (hours + 1) * 3_600_000)
    log = [kong("over", 52_310), late]
    rows = judged(tmp_path, {"kong.jsonl": log}, scope={"window": window})
    assert tiers(rows) == {"over": "possible", "late": tier}


def test_another_model_by_an_unverified_name_is_not_out_of_scope(tmp_path):
    scope = {"models": ["chat-9b"]}
    rows = judged(tmp_path, {"kong.jsonl": [kong("over", 52_310)]}, scope=scope)
    assert tiers(rows) == {"over": "possible"}


def test_what_engines_show_to_be_complete_stays_cleared(tmp_path):
    """A gateway that is read by an unverified profile names the tenant, and costs nothing."""
    pages = {"reserved_pages": 819, "transferred_pages": 819, "transfer_status": "complete"}
    counts = {"decode_prompt_tokens": 52_310, "prefill_prompt_tokens": 52_310}
    decode = {"request_id": "over", "hop": "decode", "received_at": "2026-02-03T04:00:01Z"}
    engine = [{**decode, **pages, **counts, "completion_tokens": 9}]
    short = [{**engine[0], "transferred_pages": 1, "prefill_prompt_tokens": 1}]
    log = [kong("over", 52_310)]
    whole = judged(tmp_path, {"kong.jsonl": log, "decode.ndjson": engine})
    assert whole["over"]["tier"] == "ruled_out"
    assert whole["over"]["tenant_id"] == "tenant-over"
    found = judged(tmp_path, {"kong.jsonl": log, "decode.ndjson": short})
    assert found["over"]["tier"] == "probable"


def test_of_two_gateways_of_one_request_each_adds_what_it_knows(tmp_path):
    proxy = {
        "litellm_call_id": "over",
        "call_type": "acompletion",
        "custom_llm_provider": "x",
        "status": "success",
        "startTime": AT / 1000,
        "model": "acme/chat-9b",
        "model_group": "chat-9b",
        "metadata": {"user_api_key_team_alias": "tenant-over"},
        "prompt_tokens": 52_310,
        "completion_tokens": 9,
    }
    rows = judged(tmp_path, {"a.jsonl": [envoy("over", None)], "b.jsonl": [proxy]})
    assert tiers(rows) == {"over": "possible"}
    assert rows["over"]["prompt_tokens"] == 52_310
