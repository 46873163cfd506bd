"""What a node prints by default: its start, its batches, what it refuses."""

from __future__ import annotations

from tests.fleets.versions import CONTEXT, LIMIT, PAGE, POOLS, Fleet, Handoff, line


def node_log(fleet: Fleet, side: str, more: list[str], *, start: bool = True) -> str:
    """The log of one node, with lines that its settings add; web server lines in between."""
    lines = (startup(fleet, side) if start else []) + more
    for handoff in fleet.handoffs:
        lines += [line(fleet, handoff.at, text) for text in _batches(fleet, side, handoff)]
        if side == "prefill" and handoff.refused:
            lines.append(line(fleet, handoff.at, _refusal(fleet, handoff)))
        served = 'INFO:     10.0.0.9:48910 - "POST /generate HTTP/1.1" 200 OK'
        lines.append(line(fleet, handoff.at, served, ranked=False))
    return "\n".join(lines) + "\n"


def startup(fleet: Fleet, side: str) -> list[str]:
    """From the arguments to readiness, two hours before the first request."""
    settings = {
        "model_path": "/models/m",
        "context_length": CONTEXT,
        "page_size": PAGE,
        "api_key": "sk-CANARY-SECRET",
        "dp_size": 8,
        "disaggregation_mode": side,
    }
    call = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    given = f"{settings!r}" if fleet.since("0.5.19") else f"ServerArgs({call})"
    dtype = "dtype: torch.float8_e4m3fn, " if fleet.since("0.5.13") else ""
    memory = ", available_gpu_mem=12.31 GB" if fleet.since("0.4.10") else ""
    warm = "request completed with status 200, resp: [{'text': 'CANARY-WARM'}]"
    if fleet.since("0.5.17"):
        warm = "requests completed for all 8 DP ranks"
    begun, pool = fleet.begun - 7200, POOLS[side]
    server = (
        f"max_total_num_tokens={pool}, chunked_prefill_size=16384, max_prefill_tokens=16384, "
        f"max_running_requests=32, context_len={CONTEXT}{memory}"
    )
    ranked = [
        f"KV Cache is allocated. {dtype}#tokens: {pool}, KV size: 37.48 GB",
        "Memory pool end. avail mem=31.63 GB",
        server,
    ]
    if fleet.since("0.5.23") and pool < CONTEXT:
        ranked.append(
            f"KV pool holds {pool} tokens, fewer than --context-length {CONTEXT}. One full-length "
            "request cannot fit, so long requests will be refused or truncated at serving time."
        )
    ready = "The server is fired up and ready to roll!"
    last = [f"Disaggregation warmup {warm}", "End of disaggregation warmup", ready]
    return [
        line(fleet, begun, f"server_args={given}", ranked=False),
        *(line(fleet, begun + 60, text) for text in ranked),
        *(line(fleet, begun + 90, text, ranked=False) for text in last),
    ]


def _refusal(fleet: Fleet, handoff: Handoff) -> str:
    by = f", self.rid='{handoff.rid('prefill')}'" if fleet.since("0.4.10") else ""
    return (
        f"Input length ({handoff.decode} tokens) exceeds the maximum allowed length "
        f"({LIMIT} tokens). Use a shorter input or enable --allow-auto-truncate.{by}"
    )


def _batches(fleet: Fleet, side: str, handoff: Handoff) -> list[str]:
    """The batch line of one request; prefill nodes of 0.5.9 print none."""
    if side == "decode":
        return [_decode_batch(fleet, handoff)]
    return [] if fleet.version == "0.5.9" else [_prefill_batch(fleet, handoff)]


def _decode_batch(fleet: Fleet, handoff: Handoff) -> str:
    dot = "," if fleet.since("0.5.6") else "."
    host = "#host-receive-req: 0, " if fleet.since("0.5.21") else ""
    queues = f"#prealloc-req: 0, #transfer-req: 0, {host}#retracted-req: 0, cuda graph: True, "
    return (
        f"Decode batch{dot} #running-req: 1, #token: {handoff.decode}, token usage: 0.02, "
        f"pre-allocated usage: 0.00, {queues if fleet.since('0.5.3') else ''}"
        f"gen throughput (token/s): 33.33, #queue-req: 0{', ' if fleet.version == '0.5.3' else ''}"
    )


def _prefill_batch(fleet: Fleet, handoff: Handoff) -> str:
    dot, new = "," if fleet.since("0.5.6") else ".", handoff.prefill - handoff.cached
    if fleet.since("0.4.10") and not fleet.since("0.5.20"):
        new = -(-new // PAGE) * PAGE
    begin = (
        f"Prefill batch{dot} #new-seq: 1, #new-token: {new}, #cached-token: {handoff.cached}, "
        "token usage: 0.02, "
    )
    if not fleet.since("0.5.3"):
        old = "" if fleet.since("0.4.10") else "#running-req: 0, "
        rate = ", input throughput (token/s): 0.00, " if fleet.since("0.4.10") else " "
        return f"{begin}{old}#unbootstrapped-req: 0, #queue-req: 0, #transferring-req: 0{rate}"
    queued = "#bootstrap-req" if fleet.since("0.5.12") else "#prealloc-req"
    pending = "#pending-token: 0, " if fleet.since("0.5.10") else ""
    tried = "#optimistic-req: 0, " if fleet.since("0.5.16") else ""
    begin += f"#running-req: 0, #queue-req: 0, {pending}{queued}: 0, #inflight-req: 1, {tried}"
    if fleet.since("0.5.10"):
        return f"{begin}cuda graph: False, input throughput (token/s): 17323.54"
    return begin + ("input throughput (token/s): 19249.23, " if fleet.since("0.5.6") else "")
