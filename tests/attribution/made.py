"""Plain records of one decode rank, as the tests of what logs cannot show write them."""

import json
from pathlib import Path

import forensics

DAY = "2026-09-01T"
POOL = {
    "node": "d1",
    "role": "decode",
    "effective_at": f"{DAY}00:00:00Z",
    "pool_tokens": 640,
    "page_tokens": 64,
    "engine": "sglang",
    "disaggregated": True,
}


def hold(request_id: str, since: str, until: str, **more: object) -> dict[str, object]:
    """A request that held two pages between two times of the day, and wrote both."""
    return {
        "request_id": request_id,
        "tenant_id": f"of-{request_id}",
        "received_at": f"{DAY}{since}Z",
        "reserved_at": f"{DAY}{since}Z",
        "released_at": f"{DAY}{until}Z",
        "decode_node": "d1",
        "decode_prompt_tokens": 128,
        "reserved_pages": 2,
        "transferred_pages": 2,
        "completion_tokens": 1,
        "http_status": 200,
    } | more


def warm_up(at: str, node: str = "d1") -> dict[str, object]:
    """What SGLang asks of each rank before it is ready: it shows a start."""
    row = {"request_id": "f81909e68629fcd0", "transfer_id": "0", "hop": "decode"}
    row |= {"received_at": f"{DAY}{at}Z", "decode_node": node, "decode_prompt_tokens": 4}
    return row | {"reserved_pages": 1, "completion_tokens": 8, "http_status": 200}


def read(folder: Path, *lines: dict[str, object], incident: str | None = None) -> forensics.Case:
    """Write records into one file of a folder and read it, with what an incident file says."""
    logs = folder / "logs.ndjson"
    logs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if incident is None:
        return forensics.read_logs(logs)
    (folder / "incident.toml").write_text(incident)
    return forensics.read_logs(logs, incident=folder / "incident.toml")


def reasons(case: forensics.Case) -> set[str]:
    """Why the one rank with responses is not replayed."""
    (stay,) = case.analysis.attribution.stays
    return stay.reasons


def tiers(case: forensics.Case) -> dict[str, str]:
    """Tier by source tenant: the best that it has."""
    rows = case.sources.polars().select("source_tenant_id", "tier").sort("tier")
    return dict(rows.iter_rows())
