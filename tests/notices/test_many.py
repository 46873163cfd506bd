"""Twenty thousand tenants get twenty thousand packets, in minutes, and none is left out."""

import json
import time

import pytest

from forensics.cli import run
from forensics.errors import Exit

TENANTS = 20_000
RANKS = 2_000
"""Prefill and decode ranks: ten tenants on each, so that sources are listed as well."""


@pytest.mark.long
def test_twenty_thousand_tenants(tmp_path):
    logs = tmp_path / "logs.ndjson"
    with logs.open("w") as file:
        for n in range(TENANTS):
            row = {
                "request_id": f"req-{n:06d}-canary", "tenant_id": f"acct-{n:06d}",
                "received_at": f"2026-09-01T05:{n // 360 % 60:02d}:{n // 6 % 60:02d}.{n % 6}Z",
                "prefill_node": f"p-{n % RANKS}", "decode_node": f"d-{n % RANKS}",
                "prompt_tokens": 700_000,
                "prefill_prompt_tokens": 1, "decode_prompt_tokens": 700_000,
                "completion_tokens": 20, "http_status": 200,
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    out, notices = tmp_path / "out", tmp_path / "notices"
    assert run(["report", str(logs), "-o", str(out), "-q"]) in (Exit.COMPLETE, Exit.INCOMPLETE)
    begun = time.process_time()
    assert run(["notify", str(out), "-o", str(notices)]) == Exit.COMPLETE
    seconds = time.process_time() - begun
    packets = [path.name for path in (notices / "packets").iterdir()]
    assert sum(name.endswith("-recipient") for name in packets) == TENANTS
    # Twenty thousand packets in five minutes, in time of the processor: what else a machine
    # does at the same time is no matter of the pace.
    assert seconds < 300 * len(packets) / TENANTS
    page = (out / "report.md").read_text("utf-8")
    assert "200 of 20,000, all in affected\\_tenants.csv" in page
    print(f"{len(packets):,} packets in {seconds:.0f} s of processor time")  # noqa: T201
