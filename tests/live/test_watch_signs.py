"""Watch looks closer at whatever a report would find: one record's sign, or two that differ."""

import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.cli import run

AT = "2026-09-01T00:01:40.000000Z"
BASE = {"tenant_id": "t1", "received_at": AT, "request_id": "r"}
PREFILL = BASE | {"hop": "prefill", "prefill_node": "p1"}
DECODE = BASE | {"hop": "decode", "decode_node": "d1", "completion_tokens": 50, "http_status": 200}
PAGES = {"reserved_pages": 80, "transferred_pages": 80, "prompt_tokens": 5_000}
MARKER = {"marker": "a" * 32, "planted_request_id": "other", "planted_tenant": "t0",
          "seen_request_id": "r", "seen_at": AT}  # fmt: skip
POOL = {"node": "p1", "role": "prefill", "effective_at": "2026-08-31T00:00:00Z",
        "pool_tokens": 681_280, "page_tokens": 64, "disaggregated": True}  # fmt: skip
SIGNS: dict[str, tuple[dict[str, Any], ...]] = {
    "placeholder": (
        PREFILL | {"transfer_id": "1", "prefill_prompt_tokens": 1},
        DECODE | {"transfer_id": "1", "prompt_tokens": 700_000, "decode_prompt_tokens": 700_000},
    ),
    "fewer tokens on prefill": (
        POOL,
        PREFILL | {"transfer_id": "1", "prefill_prompt_tokens": 9_000},
        DECODE | {"transfer_id": "1", "decode_prompt_tokens": 70_000},
    ),
    "computed less": (
        POOL,
        PREFILL | {"prefill_prompt_tokens": 9_000, "prefill_tokens": 70, "cached_tokens": 0},
        DECODE | {"decode_prompt_tokens": 9_000, "reserved_pages": 141},
    ),
    "pages of two hops": (
        PREFILL | {"transfer_id": "1", "transferred_pages": 3},
        DECODE | {"transfer_id": "1", "prompt_tokens": 9_000, "reserved_pages": 141},
    ),
    "generation": (DECODE | {"owner_generation": 4, "read_generation": 3, "slot_owner": "tX"},),
    "tenants": (DECODE | {"prompt_tokens": 9, "sender_tenant": "t1", "receiver_tenant": "t2"},),
    "marker": (DECODE | PAGES | {"request_id": "other", "tenant_id": "t0"}, DECODE | PAGES, MARKER),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_is_looked_at_as_a_report_would(tmp_path: Path, capsys, sign):
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps(record) + "\n" for record in SIGNS[sign]))
    rows = forensics.read_logs(log).affected.polars().select("request_id", "tier").rows()
    assert rows in ([("r", "probable")], [("r", "possible")], [("r", "confirmed")])
    assert run(["watch", str(log), "--once", "--fail-on", "possible"]) == 11
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["request_id"], one["tier"]) for one in told] == rows


def test_records_that_agree_are_no_sign(tmp_path: Path, capsys):
    log = tmp_path / "log.ndjson"
    records = (PREFILL | {"prefill_prompt_tokens": 9, "prefill_tokens": 9, "cached_tokens": 0},
               DECODE | {"prompt_tokens": 9, "decode_prompt_tokens": 9})  # fmt: skip
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert run(["watch", str(log), "--once", "--fail-on", "possible"]) in (0, 3)
    assert capsys.readouterr().out == ""
