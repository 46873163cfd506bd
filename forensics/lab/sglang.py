"""Writes a run as SGLang 0.5.19 would log it, with the gateway's records beside it.

    gateway.ndjson      plain records: the engines' own logs name no tenant
    prefill-01.log …    one file a server, in the server's local time without a zone

Only rank DP0 prints rejections. Nothing here names pages; reserved pages follow from the
prompt, transferred ones from `transfer_total`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from forensics.lab import sglanglines as text
from forensics.lab.clock import MILLISECOND, SECOND, Micros, local_second
from forensics.lab.engines import pages_for
from forensics.lab.plain import encode
from forensics.lab.plainrows import gateway_row
from forensics.lab.records import Epoch, Handoff, LabRun, NodeHistory, Probe
from forensics.lab.usage import Usage

Line: TypeAlias = tuple[Micros, str, str]
"""Instant, rank prefix, text."""
_CHUNK = 16_384


def write_sglang(run: LabRun, out: Path) -> None:
    """Write one log a server and `gateway.ndjson` into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [gateway_row(entry, run.config.model) for entry in run.gateway]
    (out / "gateway.ndjson").write_bytes(encode(rows))
    offset = run.config.zone_offset_hours
    for node in run.nodes:
        lines = sorted(node_lines(run, node), key=lambda line: line[0])
        content = "".join(f"[{local_second(at, offset)}{r}] {t}\n" for at, r, t in lines)
        (out / f"{node.name}.log").write_bytes(content.encode())


def node_lines(run: LabRun, node: NodeHistory) -> Iterator[Line]:
    """Yield the lines of one server, time stats included, in no order."""
    for epoch in node.epochs:
        yield from _startup(run, node, epoch)
    for probe in run.probes:
        if probe.node == node.name:
            yield from _probe(probe, node)
    if node.role == "prefill":
        for handoff in run.handoffs:
            if handoff.prefill_node == node.name:
                yield from _prefill(run, node, handoff)
    else:
        usage = Usage(run, node.name)
        for handoff in run.handoffs:
            if handoff.decode_node == node.name:
                yield from _decode(run, node, handoff, usage)


def rank_prefix(node: NodeHistory, dp: int) -> str:
    """Return the prefix of the first tensor-parallel rank of `dp`."""
    return _prefix(dp, dp * node.epochs[0].settings.tp_size // node.ranks)


def _prefix(dp: int, tp: int) -> str:
    return f" DP{dp} TP{tp} EP{tp}"


def _startup(run: LabRun, node: NodeHistory, epoch: Epoch) -> Iterator[Line]:
    context, page = run.config.context_tokens, run.config.page_tokens
    start, width = epoch.effective_at, epoch.settings.tp_size // node.ranks
    yield start, "", text.server_args(node, epoch, context, page)
    for tp in range(epoch.settings.tp_size):
        prefix = _prefix(tp // width, tp)
        yield start + 9 * SECOND, prefix, "Load weight begin. avail mem=137.60 GB"
        yield start + 60 * SECOND, prefix, text.kv_allocated(epoch)
        yield start + 60 * SECOND, prefix, "Memory pool end. avail mem=31.62 GB"
    yield start + 80 * SECOND, rank_prefix(node, 0), text.pool_summary(epoch, context)
    yield start + 81 * SECOND, "", "INFO:     Application startup complete."
    yield start + 89 * SECOND, "", "Start of pd disaggregation warmup ..."
    yield start + 93 * SECOND, "", "End of disaggregation warmup"
    yield start + 94 * SECOND, "", "The server is fired up and ready to roll!"


def _probe(probe: Probe, node: NodeHistory) -> Iterator[Line]:
    yield probe.released_at, rank_prefix(node, probe.rank), text.probe_stats(probe)
    if probe.probe_id.startswith("HEALTH_CHECK_"):
        line = 'INFO:     127.0.0.1:48811 - "GET /health_generate HTTP/1.1" 200 OK'
        yield probe.released_at, "", line


def _prefill(run: LabRun, node: NodeHistory, handoff: Handoff) -> Iterator[Line]:
    prefix, room = rank_prefix(node, handoff.prefill_rank), handoff.transfer_id
    if handoff.prefill_rejected and handoff.prefill_rank == 0:
        line = text.exceeds(handoff.intent.prompt_tokens, handoff.input_limit, handoff.prefill_id)
        yield handoff.prefill_received_at + MILLISECOND, prefix, line
    if handoff.forward is not None and (handoff.placeholder or room % 4 == 0):
        yield _prefill_batch(run, node, handoff, prefix)
    sent = handoff.transferred_at or handoff.finished_at
    if handoff.placeholder and handoff.transferred_at is not None:
        yield sent - MILLISECOND, prefix, text.state_mismatch(handoff)
    if handoff.transfer_status == "complete":
        yield sent, prefix, text.prefill_stats(handoff)
        yield sent, "", text.access(room, "200 OK")
    elif handoff.http_status == 503:
        yield sent, prefix, text.transfer_failed(handoff, "Prefill")
        yield sent, "", text.access(room, "500 Internal Server Error")
    elif handoff.http_status == 400:
        yield sent, "", text.access(room, "400 Bad Request")


def _prefill_batch(run: LabRun, node: NodeHistory, handoff: Handoff, prefix: str) -> Line:
    """Return the batch line of the first chunk."""
    page, computed = run.config.page_tokens, handoff.prefill_tokens or 0
    chunk = min(_CHUNK, computed)
    began = handoff.prefill_received_at + handoff.queued + 16 * MILLISECOND
    new = pages_for(chunk, page) * page
    used = handoff.cached_tokens + new
    line = text.prefill_batch(
        new, handoff.cached_tokens, computed - chunk, used, node.at(began).pool_tokens
    )
    return began, prefix, line


def _decode(run: LabRun, node: NodeHistory, handoff: Handoff, usage: Usage) -> Iterator[Line]:
    prefix, room, end = (
        rank_prefix(node, handoff.decode_rank),
        handoff.transfer_id,
        handoff.finished_at,
    )
    pool = node.at(end).pool_tokens
    if handoff.first_token_at is not None:
        if room % 3 == 0:
            running, tokens = usage.at(handoff.decode_rank, end - 1)
            yield end - 1, prefix, text.decode_batch(running, tokens, pool)
        yield end, prefix, text.decode_stats(handoff)
        yield handoff.first_token_at, "", text.access(room, "200 OK")
    elif handoff.decode_rejected:
        if handoff.decode_rank == 0:
            limit = node.at(end).input_limit(run.config.context_tokens)
            rid = handoff.intent.request_id
            yield end, prefix, text.exceeds(handoff.intent.prompt_tokens, limit, rid)
        yield end, "", text.access(room, "400 Bad Request")
    elif handoff.http_status == 503:
        yield end, prefix, text.transfer_failed(handoff, "Decode")
        yield end, "", text.access(room, "500 Internal Server Error")
