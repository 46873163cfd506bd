"""A watch finds what a report finds, on whatever hops the two values lie that differ."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import findings
from forensics.cli import run
from forensics.schema import AFFECTED_TIERS

ENGINE: dict[str, Any] = {
    "effective_at": "2026-08-31T00:00:00Z", "page_tokens": 64, "pool_tokens": 681_280,
    "context_tokens": 1_048_576, "engine": "sglang", "disaggregated": True,
}  # fmt: skip
POOLS = [ENGINE | {"node": "p1", "role": "prefill"}, ENGINE | {"node": "d1", "role": "decode"}]
GATEWAY = {"hop": "gateway", "received_at": "2026-09-01T10:00:00Z",
           "finished_at": "2026-09-01T10:00:09Z"}  # fmt: skip
PREFILL = {"hop": "prefill", "prefill_node": "p1", "received_at": "2026-09-01T10:00:01Z"}
DECODE = {"hop": "decode", "decode_node": "d1", "received_at": "2026-09-01T10:00:02Z",
          "finish_reason": "stop", "completion_tokens": 50}  # fmt: skip
VALUES: tuple[dict[str, Any], ...] = (
    {"prompt_tokens": 681_273}, {"prompt_tokens": 681_274}, {"decode_prompt_tokens": 681_274},
    {"prefill_prompt_tokens": 1, "decode_prompt_tokens": 9_000},
    {"prefill_prompt_tokens": 70, "decode_prompt_tokens": 9_000},
    {"prefill_prompt_tokens": 70, "prompt_tokens": 9_000},
    {"prefill_tokens": 64, "cached_tokens": 0, "reserved_pages": 141},
    {"prefill_tokens": 64, "cached_tokens": 0, "reserved_tokens": 9_000},
    {"prefill_tokens": 64, "cached_tokens": 0, "prompt_tokens": 9_000},
    {"prefill_tokens": 64, "cached_tokens": 0, "decode_prompt_tokens": 9_000},
    *({have: 5, want: 9_000} for have in ("transferred_pages", "transferred_tokens")
      for want in ("reserved_pages", "reserved_tokens")),
    {"owner_generation": 8, "read_generation": 7}, {"read_generation": 7, "slot_owner": "tB"},
    {"slot_owner": "tB", "owner_generation": 3}, {"sender_tenant": "tB", "receiver_tenant": "tA"},
    {"tenant_id": "tB", "transferred_pages": 3}, {"rejected": True},
    {"rejection_code": "input_too_long"}, {"transfer_status": "failed"},
    {"transferred_pages": 3, "reserved_pages": 9, "transfer_status": "complete"},
)  # fmt: skip


def requests() -> list[dict[str, Any]]:
    """Return a request for each way in which values lie on hops, in one record or joined by ids."""
    records, number = [], 0
    for values in VALUES:
        for hops in itertools.product(range(3), repeat=len(values)):
            number += 1
            client = {"request_id": f"r{number}"}
            room = {"transfer_id": str(number)}
            tenant = {"tenant_id": "tA"}
            three = [GATEWAY | tenant | client, PREFILL | {"request_id": f"p{number}"} | room,
                     DECODE | client | room]  # fmt: skip
            for hop, (name, value) in zip(hops, values.items(), strict=True):
                three[hop][name] = value
            records += three
    return records


ENGINES_ONLY = {"kv_checksum_mismatch", "block_overlap", "expired_transfer"}
"""Read from lines of engines, in one record each."""


@pytest.mark.few(2)
@pytest.mark.parametrize("mechanism", ["read", "write"])
def test_a_watch_finds_what_a_report_finds_wherever_values_lie(tmp_path: Path, capsys, mechanism):
    log, asked = tmp_path / "log.ndjson", tmp_path / "incident.toml"
    log.write_text("".join(json.dumps(record) + "\n" for record in [*POOLS, *requests()]))
    asked.write_text(f'[trigger]\nmechanism = "{mechanism}"\n')
    judged = forensics.read_logs(log, incident=asked).affected.polars()
    sure = {"over_limit", *(f.code for f in findings.FINDINGS if f.weight == "direct")}
    assert sure - ENGINES_ONLY <= set(judged["reasons"].explode())
    assert run(["watch", str(log), "-i", str(asked), "--once"]) in (0, 3)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(one["request_id"], one["tier"]) for one in told if one["tier"] in AFFECTED_TIERS}
    assert found == set(judged.select("request_id", "tier").rows())


@pytest.mark.parametrize(("mechanism", "said"), [("read", False), ("write", True)])
def test_a_watch_says_what_of_a_write_it_leaves_to_the_report(tmp_path, capsys, mechanism, said):
    (tmp_path / "a.ndjson").write_text('{"request_id": "r", "prompt_tokens": 5}\n')
    (asked := tmp_path / "incident.toml").write_text(f'[trigger]\nmechanism = "{mechanism}"\n')
    run(["watch", str(tmp_path / "a.ndjson"), "-i", str(asked), "--once"])
    assert ("ran beside a request that wrote" in capsys.readouterr().err) == said
