"""What an engine says of itself, as a gate asks for it."""

from typing import Any

SMALL, ENOUGH, WINDOW = 681_280, 2_040_000, 1_048_576
SECRET = "sk-SYNTHETIC-SECRET-DO-NOT-STORE"
INFO = {
    "version": "0.5.19", "api_key": SECRET, "admin_api_key": SECRET, "page_size": 64,
    "context_length": WINDOW, "disaggregation_mode": "prefill",
    "launch_command": f"python -m sglang.launch_server --api-key {SECRET}",
}  # fmt: skip
"""All that a healthy one says but its pool."""
GOOD = INFO | {"max_total_num_tokens": ENOUGH}


def states(*pools: Any) -> dict[str, Any]:
    return {"internal_states": [{"memory_usage": {"token_capacity": pool}} for pool in pools]}
