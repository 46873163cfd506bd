"""Lines of a vLLM log for the tests, and what was made of them."""

from typing import Any

import polars as pl

YEAR = {"scope": {"window": ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]}}
UUID = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a"
SECOND = 1_770_091_506_000_000
AT = "INFO 02-03 04:05:06"
NIXL = "(Worker_TP0 pid=64) ERROR 02-03 04:05:06 [nixl_connector.py:1140]"


def late(rid: str) -> str:
    return (
        f"{NIXL} Potentially invalid KV blocks for unrecognized request {rid} were retrieved by a "
        "decode worker. They may have expired."
    )


def received(rid: str, prompt: str = "'p'", extra: str = "") -> str:
    return (
        f"{AT} [logger.py:40] Received request {rid}: prompt: {prompt}, "
        f"params: SamplingParams(n=1, stop=[]{extra}), prompt_token_ids: [1, 2], "
        "prompt_embeds shape: None, lora_request: None."
    )


def handed(sends: object, fetches: object) -> str:
    return (
        ", extra_args={'kv_transfer_params': {'do_remote_decode': "
        f"{sends}, 'do_remote_prefill': {fetches}, 'remote_host': None}}}}"
    )


def one_log(read) -> Any:
    """Return what reads some lines as one log of vLLM."""

    def run(*lines: str, name: str = "prefill-03.log", **incident: Any) -> Any:
        return read("\n".join((*lines, "")), name, form="vllm", **(YEAR | incident))

    return run


def row(seen) -> dict[str, object]:
    (found,) = [{k: v for k, v in r.items() if v is not None} for r in seen.rows.to_dicts()]
    return found


def facts(seen, event: str) -> list[dict[str, object]]:
    if not seen.reading.capacity:
        return []
    rows = seen.capacity.filter(pl.col("event") == event).sort("line")
    return [{k: v for k, v in r.items() if v is not None} for r in rows.to_dicts()]


def ids(seen) -> list[str]:
    return sorted(seen.rows["request_id"].to_list()) if seen.rows.height else []
