"""Lines that a server prints before its first access hide none of its records."""

import json
from pathlib import Path

import pytest

import forensics

RECORD = {
    "start_time": "2026-03-14T09:00:02.811Z", "duration": 3000, "response_code": 200,
    "response_flags": "-", "x-request-id": "a", "gen_ai.usage.input_tokens": 1312,
}  # fmt: skip
NOISE = "[2026-03-14 09:00:00.000][1][info][main] [source/server/server.cc:430] CANARY epoch 0"


@pytest.mark.parametrize("ahead", [[NOISE], [NOISE, NOISE, "starting CANARY"], ["CANARY"]])
@pytest.mark.parametrize("stated", [None, "envoy-ai-gateway"])
def test_other_lines_ahead_are_unreadable_by_themselves(tmp_path: Path, ahead, stated):
    log = tmp_path / "gateway.log"
    lines = [*ahead, json.dumps(RECORD), json.dumps(RECORD | {"x-request-id": "b"})]
    log.write_text("\n".join(lines) + "\n")
    case = forensics.read_logs(log, format=stated)
    (facts,) = case.analysis.files
    assert facts.format == "envoy-ai-gateway"
    assert sorted(case.requests.polars()["request_id"]) == ["a", "b"]
    assert (facts.read, facts.kept, len(facts.unread)) == (len(lines), 2, len(ahead))
