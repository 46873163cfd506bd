"""The texts of SGLang 0.5.19 log lines, without their time prefix.

Formats follow the engine's own formatting code of that version. Durations are printed in
milliseconds, transfers in MB of 2^20 bytes, `entry_time` in epoch seconds.
"""

from __future__ import annotations

from forensics.lab.clock import MILLISECOND, SECOND, Micros
from forensics.lab.records import Epoch, Handoff, NodeHistory, Probe

MB_PER_PAGE = 3.7514
"""KV and index cache of one 64-token page on one rank, in MB."""
API_KEY = "sk-SYNTHETIC-SECRET-DO-NOT-STORE"


def server_args(node: NodeHistory, epoch: Epoch, context: int, page: int) -> str:
    """Return the start-up line with the resolved settings; the key in it is a fake."""
    settings = epoch.settings
    args = {
        "model_path": "/models/GLM-5.3-FP8",
        "trust_remote_code": True,
        "context_length": context,
        "quantization": settings.quantization,
        "kv_cache_dtype": settings.kv_cache_dtype,
        "mem_fraction_static": settings.mem_fraction_static,
        "max_total_tokens": None,
        "chunked_prefill_size": 16384,
        "page_size": page,
        "tp_size": settings.tp_size,
        "pp_size": 1,
        "dp_size": settings.dp_size,
        "load_balance_method": "auto",
        "enable_dp_attention": settings.dp_size > 1,
        "host": "0.0.0.0",  # noqa: S104 - the engine's own text
        "port": 30000,
        "api_key": API_KEY,
        "admin_api_key": None,
        "served_model_name": "glm-5.3",
        "allow_auto_truncate": False,
        "log_requests": False,
        "enable_request_time_stats_logging": True,
        "cuda_graph_max_bs": settings.cuda_graph_max_bs,
        "disaggregation_mode": node.role,
        "disaggregation_transfer_backend": "mooncake",
        "disaggregation_bootstrap_port": 8998,
        "disaggregation_decode_enable_radix_cache": False,
        "num_reserved_decode_tokens": 512,
    }
    return f"server_args={args!r}"


def kv_allocated(epoch: Epoch) -> str:
    """Return the line that every rank prints about its pool."""
    size = epoch.pool_tokens * 55.02e-6
    return (
        f"KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: {epoch.pool_tokens}, "
        f"KV size: {size:.2f} GB"
    )


def pool_summary(epoch: Epoch, context: int) -> str:
    """Return the line that only the first rank prints."""
    return (
        f"max_total_num_tokens={epoch.pool_tokens}, chunked_prefill_size=16384, "
        f"max_prefill_tokens=16384, max_running_requests=32, context_len={context}, "
        "available_gpu_mem=12.31 GB"
    )


def exceeds(prompt: int, limit: int, rid: str) -> str:
    """Return the rejection line, which only global rank 0 prints."""
    return f"{too_long(prompt, limit)}, self.rid={rid!r}"


def too_long(prompt: int, limit: int) -> str:
    """Return the error that a client gets for a prompt that the scheduler rejects."""
    return (
        f"Input length ({prompt} tokens) exceeds the maximum allowed length ({limit} tokens). "
        "Use a shorter input or enable --allow-auto-truncate."
    )


def over_context(prompt: int, context: int) -> str:
    """Return the error that a client gets before any scheduler sees the request."""
    return (
        f"The input ({prompt} tokens) is longer than the model's context length ({context} tokens)."
    )


def truncated(prompt: int, limit: int) -> str:
    """Return the warning that a prompt was shortened instead of rejected."""
    return (
        "Request length is longer than the KV cache pool size or the max context length. "
        f"Truncated. len(req.origin_input_ids)={prompt}, max_req_input_len={limit}."
    )


def state_mismatch(handoff: Handoff) -> str:
    """Return the warning of models with an index cache: pages sent against pages reserved."""
    sent = handoff.transferred_pages
    return f"len(prefill_state_indices) = {sent}, len(dst_state_indices) = {handoff.reserved_pages}"


def prefill_stats(handoff: Handoff) -> str:
    """Return prefill's time statistics; its forward time runs to the end of the transfer."""
    megabytes = handoff.transferred_pages * MB_PER_PAGE
    seconds = max(1, handoff.transfer) / SECOND
    forward = (handoff.forward or 0) + handoff.transfer
    return (
        f"ReqTimeStats(rid={handoff.prefill_id}, bootstrap_room={handoff.transfer_id}, "
        f"input_len={handoff.prefill_prompt_tokens}, cached_input_len={handoff.cached_tokens}, "
        f"output_len=1, attempts=0, type=prefill): bootstrap_duration=15.00ms, "
        f"queue_duration={milliseconds(handoff.queued)}, forward_duration={milliseconds(forward)}, "
        f"entry_time={handoff.prefill_received_at / SECOND:.3f}, "
        f"transfer_speed={megabytes / 1024 / seconds:.2f} GB/s, transfer_total={megabytes:.2f} MB"
    )


def decode_stats(handoff: Handoff) -> str:
    """Return decode's time statistics, with the prompt as decode counted it."""
    reserved = handoff.reserved_at or handoff.decode_received_at
    transferred = handoff.transferred_at or reserved
    first = handoff.first_token_at or transferred
    waited = reserved - handoff.decode_received_at
    bootstrap = min(14 * MILLISECOND, max(0, waited))  # the stages add up to the whole
    return (
        f"ReqTimeStats(rid={handoff.intent.request_id}, bootstrap_room={handoff.transfer_id}, "
        f"input_len={handoff.intent.prompt_tokens}, cached_input_len={handoff.cached_tokens}, "
        f"output_len={handoff.completion_tokens}, attempts=0, type=decode): "
        f"bootstrap_duration={milliseconds(bootstrap)}, "
        f"alloc_wait_duration={milliseconds(waited - bootstrap)}, "
        f"transfer_duration={milliseconds(transferred - reserved)}, "
        f"queue_duration={milliseconds(first - transferred)}, "
        f"forward_duration={milliseconds(handoff.finished_at - first)}, "
        f"entry_time={handoff.decode_received_at / SECOND:.3f}"
    )


def probe_stats(probe: Probe) -> str:
    """Return the time statistics of a health check: a look-alike of a placeholder."""
    return (
        f"ReqTimeStats(rid={probe.probe_id}, bootstrap_room={probe.transfer_id}, "
        f"input_len={probe.prompt_tokens}, cached_input_len=0, output_len=1, attempts=0, "
        f"type={probe.role}): bootstrap_duration=0.00ms, queue_duration=0.50ms, "
        f"forward_duration={milliseconds(probe.released_at - probe.received_at)}, "
        f"entry_time={probe.received_at / SECOND:.3f}"
    )


def prefill_batch(new: int, cached: int, pending: int, used: int, pool: int) -> str:
    """Return a prefill batch line of one prompt; `new` is rounded up to whole pages."""
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, "
        f"token usage: {used / pool:.2f}, #running-req: 0, #queue-req: 0, "
        f"#pending-token: {pending}, #bootstrap-req: 0, #inflight-req: 1, #optimistic-req: 0, "
        "cuda graph: False, input throughput (token/s): 20000.00"
    )


def decode_batch(running: int, tokens: int, pool: int) -> str:
    """Return a decode batch line: requests running and tokens in use on the rank."""
    return (
        f"Decode batch, #running-req: {running}, #token: {tokens}, "
        f"token usage: {tokens / pool:.2f}, pre-allocated usage: 0.00, #prealloc-req: 0, "
        "#transfer-req: 0, #retracted-req: 0, cuda graph: True, "
        f"gen throughput (token/s): {36.5 * running:.2f}, #queue-req: 0"
    )


def transfer_failed(handoff: Handoff, side: str) -> str:
    """Return the failure line of one side of a broken transfer."""
    room = handoff.transfer_id
    rid, rank, name, cause = handoff.prefill_id, handoff.prefill_rank, "req", (
        f"Failed to send kv chunk of {room} to 10.12.1.7:41231"
    )  # fmt: skip
    if side == "Decode":
        rid, rank, name = handoff.intent.request_id, handoff.decode_rank, "decode_req.req"
        cause = "Failed to get kvcache from prefill instance, it might be dead"
    return (
        f"{side} transfer failed for request rank={rank} {name}.rid={rid!r} "
        f"{name}.bootstrap_room={room} with exception KVTransferError(bootstrap_room={room}): "
        f"{cause}"
    )


def access(transfer_id: int, status: str) -> str:
    """Return the web server's line: neither request nor transfer is named in it."""
    port = 40_000 + transfer_id % 20_000
    return f'INFO:     10.12.0.9:{port} - "POST /v1/chat/completions HTTP/1.1" {status}'


def milliseconds(duration: Micros) -> str:
    """Return a duration as the engine prints it."""
    return f"{duration / 1_000:.2f}ms"
