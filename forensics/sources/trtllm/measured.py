"""One element of ``/perf_metrics`` as a row: blocks, bytes, durations and ids."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Struct

from forensics.schema import ENGINE_HOP
from forensics.sources import endings
from forensics.sources.trtllm.elements import Element

_MEGABYTE = 1 << 20


class _Times(Struct):
    first_scheduled_time: float | None = None
    first_token_time: float | None = None
    last_token_time: float | None = None
    kv_cache_size: float | None = None


class _Blocks(Struct):
    num_total_allocated_blocks: int | None = None
    num_new_allocated_blocks: int | None = None
    num_reused_blocks: int | None = None


class _Metrics(Struct):
    timing_metrics: _Times | None = None
    kv_cache_metrics: _Blocks | None = None


class _Worker(Struct):
    request_id: int | str | None = None
    ctx_request_id: int | str | None = None
    perf_metrics: _Metrics | None = None

    @property
    def times(self) -> _Times:
        """Its times, all unknown where it has none."""
        return (self.perf_metrics and self.perf_metrics.timing_metrics) or _Times()

    @property
    def blocks(self) -> _Blocks:
        """Its blocks, all unknown where it has none."""
        return (self.perf_metrics and self.perf_metrics.kv_cache_metrics) or _Blocks()


class _Element(_Worker):
    ctx_server: str | None = None
    gen_server: str | None = None
    disagg_request_id: int | str | None = None
    ctx_perf_metrics: _Worker | None = None
    gen_perf_metrics: _Worker | None = None
    status: str | None = None


@dataclass(frozen=True)
class Measured:
    """What an element says of a request.

    ``side`` is None for both sides together. ``sent`` are the blocks that prefill had,
    ``megabytes`` what reached decode, in MiB.
    """

    side: str | None
    request_id: str | None
    transfer_id: str | None
    prefill_node: str | None
    decode_node: str | None
    prefill_ms: float | None
    reserved: int | None
    sent: int | None
    megabytes: float | None
    reason: str | None
    line: int


def measured(element: Element) -> Measured | None:
    """Return the row of an element, or None: it is in no form that is known."""
    try:
        found = msgspec.json.decode(element.data, type=_Element, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if found.ctx_perf_metrics is not None or found.gen_perf_metrics is not None:
        return _both(found, element.line)
    if found.ctx_server is not None or found.gen_server is not None:
        return _both(found, element.line)
    return _one(found, element.line) if found.perf_metrics is not None else None


def _both(found: _Element, line: int) -> Measured:
    prefill, decode = found.ctx_perf_metrics or _Worker(), found.gen_perf_metrics or _Worker()
    shared = next(
        (i for i in (decode.ctx_request_id, prefill.ctx_request_id) if i is not None),
        prefill.request_id,
    )
    own = shared if found.disagg_request_id is None else found.disagg_request_id
    return Measured(
        side=None,
        request_id=_id(decode.request_id if own is None else own),
        transfer_id=_id(shared),
        prefill_node=found.ctx_server,
        decode_node=found.gen_server,
        prefill_ms=_prefill_ms(prefill.times),
        reserved=_reserved(decode.blocks),
        sent=_held(prefill.blocks),
        megabytes=_megabytes(decode.times),
        reason=_reason(found.status),
        line=line,
    )


def _one(found: _Element, line: int) -> Measured:
    """Return a worker's row. Prefill generates one token, so more of them are decode's."""
    times = found.times
    shared = found.request_id if found.ctx_request_id is None else found.ctx_request_id
    first, last = times.first_token_time, times.last_token_time
    decode = first is not None and last is not None and last > first
    return Measured(
        side="decode" if decode else ENGINE_HOP,
        request_id=_id(shared),
        transfer_id=_id(found.ctx_request_id),
        prefill_node=None,
        decode_node=None,
        prefill_ms=None if decode else _prefill_ms(times),
        reserved=_reserved(found.blocks) if decode else None,
        sent=None,
        megabytes=_megabytes(times) if decode else None,
        reason=_reason(found.status),
        line=line,
    )


def _id(value: int | str | None) -> str | None:
    return None if value is None else str(value)


def _prefill_ms(times: _Times) -> float | None:
    begun, ended = times.first_scheduled_time, times.first_token_time
    return None if begun is None or ended is None else (ended - begun) * 1_000


def _megabytes(times: _Times) -> float | None:
    size = times.kv_cache_size
    return size / _MEGABYTE if size is not None and size > 0 else None


def _reserved(blocks: _Blocks) -> int | None:
    """Return the blocks that decode took for the prompt, what its own cache held left out.

    Whether the total holds reused blocks differs: the lower reading accuses nobody.
    """
    total, new, reused = _numbers(blocks)
    found = [n for n in (new, None if total is None else total - (reused or 0)) if n is not None]
    return max(found) if found and max(found) > 0 else None


def _held(blocks: _Blocks) -> int | None:
    """Return the blocks that prefill had for the prompt, reused ones among them."""
    total, new, reused = _numbers(blocks)
    found = [n for n in (total, None if new is None else new + (reused or 0)) if n is not None]
    return max(found) if found and max(found) > 0 else None


def _numbers(blocks: _Blocks) -> tuple[int | None, int | None, int | None]:
    return (
        _believed(blocks.num_total_allocated_blocks),
        _believed(blocks.num_new_allocated_blocks),
        _believed(blocks.num_reused_blocks),
    )


def _believed(blocks: int | None) -> int | None:
    """Return a count that a pool can have; sums of others would not fit into a column."""
    return blocks if blocks is not None and abs(blocks) < _MOST_BLOCKS else None


_MOST_BLOCKS = 1 << 48


def _reason(status: str | None) -> str | None:
    """Return how a request ended, unless it was completed: by what is not said."""
    ended = endings.reason(status)
    return ended if ended in ("abort", "error") else None
