"""Time stats as the versions of SGLang print them; up to 0.5.11 their stamps are monotonic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forensics.lab.clock import SECOND
from forensics.lab.records import Handoff, LabRun, NodeHistory
from forensics.lab.sglang import rank_prefix
from forensics.lab.sglanglines import MB_PER_PAGE, decode_stats, milliseconds, prefill_stats
from forensics.lab.surfaces.default import answered, default_lines, log_bytes

STYLES = ("0.5.3", "0.5.6", "0.5.11", "0.5.19")


def stats_log(style: str) -> Callable[[LabRun, NodeHistory], Mapping[str, bytes]]:
    """Return the surface of one version: a node's log with time stats."""

    def write(run: LabRun, node: NodeHistory) -> Mapping[str, bytes]:
        lines = list(default_lines(run, node))
        for at, handoff in answered(run, node):
            rank = handoff.prefill_rank if node.role == "prefill" else handoff.decode_rank
            text = _text(style, node.role, handoff, run.config.start)
            lines.append((at, rank_prefix(node, rank), text))
        return {f"{node.name}.log": log_bytes(run, lines)}

    return write


def _text(style: str, role: str, handoff: Handoff, start: int) -> str:
    if style == "0.5.19":
        return prefill_stats(handoff) if role == "prefill" else decode_stats(handoff)
    prefill = role == "prefill"
    rid = handoff.prefill_id if prefill else handoff.intent.request_id
    tokens = handoff.prefill_prompt_tokens if prefill else handoff.intent.prompt_tokens
    output = 1 if prefill else handoff.completion_tokens
    head = (
        f"Req Time Stats(rid={rid}, bootstrap_room={handoff.transfer_id}, input len={tokens}, "
        f"output len={output}, type={role}): "
    )
    return head + (_prefill(style, handoff, start) if prefill else _decode(style, handoff, start))


def _prefill(style: str, handoff: Handoff, start: int) -> str:
    forward = milliseconds((handoff.forward or 0) + handoff.transfer)
    rest = f"queue_duration={milliseconds(handoff.queued)}, forward_duration={forward}, "
    stamp = f"{(handoff.prefill_received_at - start) / SECOND:.3f}"
    if style == "0.5.3":
        return f"bootstrap_duration=15.00ms, {rest}start_time={stamp}"
    if style == "0.5.6":
        return (
            "bootstrap_queue_duration(15.00ms) = alloc_wait(0.00ms) + bootstrap(0.00ms) + "
            f"other(15.00ms); {rest}start={stamp}"
        )
    megabytes = handoff.transferred_pages * MB_PER_PAGE
    speed = megabytes / 1024 / (max(1, handoff.transfer) / SECOND)
    return (
        f"bootstrap_queue_duration(19.00ms) = bootstrap(15.00ms) + alloc_wait(4.00ms); {rest}"
        f"start={stamp}, transfer_speed={speed:.2f}GB/s, transfer_total={megabytes:.2f}MB, "
        "#retries=0"
    )


def _decode(style: str, handoff: Handoff, start: int) -> str:
    reserved = handoff.reserved_at or handoff.decode_received_at
    moved = handoff.transferred_at or reserved
    first = handoff.first_token_at or moved
    waits = milliseconds(reserved - handoff.decode_received_at)
    transfer = milliseconds(moved - reserved)
    rest = (
        f"queue_duration={milliseconds(first - moved)}, "
        f"forward_duration={milliseconds(handoff.finished_at - first)}, "
    )
    stamp = f"{(handoff.decode_received_at - start) / SECOND:.3f}"
    if style == "0.5.3":
        return f"prealloc_duration={waits}, transfer_duration={transfer}, {rest}start_time={stamp}"
    return (
        f"prealloc_queue_duration({waits}) = bootstrap(14.00ms) + alloc_wait(1.00ms); "
        f"transfer_duration={transfer}; {rest}start={stamp}"
    )
