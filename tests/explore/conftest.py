"""A case of a few requests, whose tenants have names that act up wherever text is markup."""

import json

import pytest

import forensics

HOSTILE = "<img src=x onerror=alert(1)>\"'\u202e&amp;"
INCIDENT = """\
[scope]
models = ["glm-5.3"]
[trigger]
mechanism = "read"
[[capacity]]
node = "prefill-*"
role = "prefill"
engine = "sglang"
pool_tokens = 1280
page_tokens = 64
context_tokens = 4096
"""


def records():
    """Three requests of two tenants on three days, and one that names no tenant."""
    cases = [
        ("r-1", HOSTILE, 27, 2_000, 1),
        ("r-2", "tenant-b", 28, 2_500, 1),
        ("r-3", "tenant-b", 29, 300, 300),
        ("r-4", None, 29, 3_000, 1),
    ]
    for number, (name, tenant, day, prompt, computed) in enumerate(cases):
        shared = {"request_id": name, "transfer_id": str(700 + number), "model": "glm-5.3"}
        start = f"2026-08-{day}T10:00:0"
        yield shared | {
            "hop": "gateway",
            "tenant_id": tenant,
            "received_at": f"{start}0.000100Z",
            "finished_at": f"{start}5.5Z",
            "prompt_tokens": prompt,
            "completion_tokens": 40,
            "http_status": 200,
        }
        yield shared | {
            "hop": "prefill",
            "prefill_node": "prefill-01",
            "received_at": f"{start}0.2Z",
            "prefill_prompt_tokens": computed,
            "prefill_ms": 12.5,
        }
        yield shared | {
            "hop": "decode",
            "decode_node": "decode-01",
            "decode_prompt_tokens": prompt,
            "reserved_at": f"{start}0.3Z",
            "released_at": f"{start}5.4Z",
            "completion_tokens": 40,
            "http_status": 200,
        }


@pytest.fixture(scope="package")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    lines = (json.dumps({k: v for k, v in row.items() if v is not None}) for row in records())
    (folder / "fleet.ndjson").write_text("\n".join(lines) + "\n")
    (folder / "incident.toml").write_text(INCIDENT)
    read = forensics.read_logs(folder / "fleet.ndjson", incident=folder / "incident.toml")
    assert len(read.affected) == 3
    return read
