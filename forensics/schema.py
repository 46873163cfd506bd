"""Every column the product reads, decides or writes: name, type, unit, meaning.

This is the only list. Readers take the columns they may read from here, the fold
takes from here which hop a value is believed from, and the tables and their
documentation are made from it. A column that is not named here is never read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

Kind = Literal["id", "name", "model", "code", "count", "measure", "time", "flag", "config"]
"""How a raw value is read.

``id``
    an identifier: at most 128 characters and no white space
``name``
    a tenant: one or a few words, no free text
``model``
    a model: one word, or a few that are written as a name is
``code``
    one of a closed list; anything else becomes ``other`` or null
``count``
    a whole number, zero or more
``measure``
    a finite number
``time``
    RFC 3339, or epoch integers; held as microseconds of UTC
``flag``
    true or false
``config``
    settings as ``key=value`` joined by ``;``, only those of :data:`CONFIG_KEYS`
"""

Belief = Literal["client", "decode", "prefill", "delivery"]
"""Which hop a value is believed from first when several hops logged it.

``delivery`` is what decode or the gateway says; prefill never speaks for the client.
"""

_DTYPES: dict[str, pl.DataType] = {
    "id": pl.String(),
    "name": pl.String(),
    "model": pl.String(),
    "code": pl.String(),
    "count": pl.Int64(),
    "measure": pl.Float64(),
    "time": pl.Int64(),
    "flag": pl.Boolean(),
    "config": pl.String(),
}


@dataclass(frozen=True)
class Column:
    """One column: how it is read, what it means and which hop is believed first."""

    name: str
    kind: Kind
    meaning: str
    belief: Belief = "decode"
    codes: tuple[str, ...] = ()
    worst: Literal["min", "max"] = "min"
    """Of several values that one hop logged, the one that clears least."""

    @property
    def dtype(self) -> pl.DataType:
        """Type inside the package; times are integer microseconds of UTC."""
        return _DTYPES[self.kind]


HOPS = ("gateway", "prefill", "decode")
TRANSFER_STATUS = ("complete", "failed", "aborted")
REJECTION_CODES = (
    "input_too_long",
    "context_exceeded",
    "capacity",
    "timeout",
    "aborted",
    "transfer_failed",
    "other",
)
FINISH_REASONS = ("stop", "length", "abort", "error", "tool_calls", "content_filter", "other")
TIERS = ("confirmed", "probable", "possible", "ruled_out", "not_assessable")
AFFECTED_TIERS = TIERS[:3]
RUNGS = ("eligible", "triggered", "delivered")
POPULATIONS = ("recipient", "source")
MECHANISMS = ("read", "write", "unknown")

REQUEST_COLUMNS: tuple[Column, ...] = (
    Column("request_id", "id", "decode's id, else the gateway's, prefill's, or the hand-off's own"),
    Column("prefill_request_id", "id", "prefill's id where it differs", "prefill"),
    Column("transfer_id", "id", "what both sides of the hand-off share"),
    Column("tenant_id", "name", "account, team or API-key alias", "client"),
    Column("model", "model", "model that was asked for", "client"),
    Column("received_at", "time", "arrival at the gateway or front end", "client"),
    Column("finished_at", "time", "end of the answer", "client", worst="max"),
    # Of a server and one of its ranks the rank, whose name is the longer one.
    Column("prefill_node", "id", "prefill engine with its rank", "prefill", worst="max"),
    Column("decode_node", "id", "decode engine with its rank", worst="max"),
    Column("prompt_tokens", "count", "prompt tokens, client-facing", "client", worst="max"),
    Column("prefill_prompt_tokens", "count", "prompt tokens as prefill counted", "prefill"),
    Column("decode_prompt_tokens", "count", "prompt tokens as decode counted", worst="max"),
    Column("cached_tokens", "count", "tokens served from prefill's prefix cache", "prefill"),
    Column("prefill_tokens", "count", "tokens the prefill forward computed", "prefill"),
    Column("prefill_ms", "measure", "forward time on prefill, milliseconds", "prefill"),
    Column("reserved_pages", "count", "pages decode reserved for the prompt", worst="max"),
    Column("transferred_pages", "count", "pages that arrived"),
    Column("reserved_tokens", "count", "tokens decode reserved for the prompt", worst="max"),
    Column("transferred_tokens", "count", "tokens that arrived"),
    Column(
        "transfer_status", "code", "what the hand-off claimed", "prefill", codes=TRANSFER_STATUS
    ),
    Column("reserved_at", "time", "when decode took the pages"),
    Column("released_at", "time", "when decode gave the pages back", worst="max"),
    Column("rejected", "flag", "a rejection was recorded on any hop", "prefill", worst="max"),
    Column("rejection_code", "code", "why, from a closed list", "prefill", codes=REJECTION_CODES),
    Column("http_status", "count", "status the client got", "delivery"),
    Column("stream_error", "flag", "an error frame was sent inside a 2xx stream", worst="max"),
    Column("finish_reason", "code", "why the answer ended", "delivery", codes=FINISH_REASONS),
    Column(
        "completion_tokens", "count", "tokens generated for the answer", "delivery", worst="max"
    ),
    Column("sender_tenant", "name", "tenant that the sending side recorded", "prefill"),
    Column("receiver_tenant", "name", "tenant that the receiving side recorded"),
    Column("owner_generation", "count", "slot pools: generation of the handle"),
    Column("read_generation", "count", "slot pools: generation found"),
    Column("slot_owner", "name", "slot pools: owner found"),
)

HOP = Column("hop", "code", "which hop logged this record", codes=HOPS)

CONFIG_KEYS = (
    "quantization",
    "kv_cache_dtype",
    "tp_size",
    "dp_size",
    "pp_size",
    "mem_fraction_static",
    "max_total_tokens",
    "max_running_requests",
    "chunked_prefill_size",
    "cuda_graph_max_bs",
    "disable_cuda_graph",
    "batch_size",
    "disable_radix_cache",
    "disaggregation_decode_enable_radix_cache",
    "speculative_algorithm",
)
"""Settings that move a pool, or what decode reserves of it. No other setting is ever read."""

CAPACITY_COLUMNS: tuple[Column, ...] = (
    Column("node", "id", "engine with its rank"),
    Column("role", "code", "part in the hand-off", codes=("prefill", "decode", "unified")),
    Column("effective_at", "time", "from when; until the node's next row"),
    Column("pool_tokens", "count", "KV pool, tokens"),
    Column("page_tokens", "count", "KV page, tokens"),
    Column("context_tokens", "count", "advertised window, tokens"),
    Column("input_limit_tokens", "count", "smallest prompt that is rejected, tokens"),
    Column(
        "pool_basis",
        "code",
        "where the pool's size is known from",
        codes=("reported", "blocks", "concurrency_x_len", "declared"),
    ),
    Column("engine", "id", "engine"),
    Column("engine_version", "id", "version; a hint, rules nothing out"),
    Column("model_version", "id", "model build"),
    Column("disaggregated", "flag", "prefill and decode apart"),
    Column("auto_truncate", "flag", "over-long prompts are shortened"),
    Column(
        "allocator",
        "code",
        "page reuse order",
        codes=("sorted-sweep", "lifo", "fifo", "fifo-tail-first", "unknown"),
    ),
    Column("config", "config", "settings that move a pool, `key=value` joined by `;`"),
    Column("gate", "flag", "a gate asked the running engine for this record, and it passed"),
)

MARKER_COLUMNS: tuple[Column, ...] = (
    Column("marker", "id", "hash of the canary marker"),
    Column("planted_request_id", "id", "request that carried it"),
    Column("planted_tenant", "name", "tenant that planted it"),
    Column("seen_request_id", "id", "request whose answer held it"),
    Column("seen_at", "time", "when it was seen"),
)

OBSERVATION_COLUMNS: tuple[Column, ...] = (*REQUEST_COLUMNS, HOP)

REFUSAL_LIMIT = "refusal_limit_tokens"
"""Column of the limit that a request's own refusal quotes."""
TIMED_LATE = "timed_late"
"""Column that says that ``received_at`` is a bound of the arrival and not the arrival."""
OWNER_UNREAD, GENERATION_UNREAD = "owner_unread", "generation_unread"
"""Columns that say of a slot's owner, or its generations, that they are unknown, not null."""
GENERATIONS = ("owner_generation", "read_generation")
RETRIES = "prefill_retries"
"""Column of how often an engine had tried a prefill before; absent where it had not."""

ENGINE_COLUMNS: tuple[Column, ...] = (
    Column("transfer_mb", "measure", "MiB that prefill says it sent, per rank", "prefill"),
    Column(REFUSAL_LIMIT, "count", "the limit that its own refusal quotes, tokens", "prefill"),
    Column(RETRIES, "count", "tries of the prefill before this one", "prefill", worst="max"),
    Column(
        "kv_checksum_mismatch",
        "flag",
        "what arrived has another checksum than what was sent",
        worst="max",
    ),
    Column(
        "metadata_collision", "flag", "decode received another hand-off's metadata", worst="max"
    ),
    Column(
        "late_release",
        "flag",
        "decode gave pages back without knowing that prefill's writes were over",
        worst="max",
    ),
    Column(
        "expired_release",
        "flag",
        "prefill gave the blocks back before decode had fetched them",
        worst="max",
    ),
    Column(
        "expired_read",
        "flag",
        "decode fetched blocks that prefill had given back",
        worst="max",
    ),
    Column(
        "expired_refused",
        "flag",
        "prefill refused to hand over blocks that it had given back",
        worst="max",
    ),
    Column(
        "block_overlap",
        "flag",
        "another request held one of its blocks at the same time",
        worst="max",
    ),
    Column(
        "unverified",
        "flag",
        "a record of it is in a format that was held against no real sample",
        worst="max",
    ),
    Column(
        TIMED_LATE,
        "flag",
        "its time is of the end of the request, or within it: the arrival was no later",
    ),
    Column(
        OWNER_UNREAD,
        "flag",
        "the slot's owner could not be read, or no key held it: not one logged as null",
        worst="max",
    ),
    Column(GENERATION_UNREAD, "flag", "a generation of the slot could not be read", worst="max"),
)
"""What no plain record can fill, beside the columns of a request: signals of the readers."""

TRACE_COLUMNS: tuple[Column, ...] = (
    Column("node", "id", "engine with its rank"),
    Column("at", "time", "when it was logged"),
    Column(
        "kind",
        "code",
        "what happened to a request unknown",
        codes=("state_mismatch", "truncated", "corrupted", "expired", "read_late"),
    ),
    Column("tokens_low", "count", "its prompt has at least so many tokens"),
    Column("tokens_high", "count", "and at most so many"),
    Column("pages_sent", "count", "pages that prefill sent"),
    Column("pages_expected", "count", "pages that decode had reserved"),
    Column("tokens_kept", "count", "tokens left of a truncated prompt"),
    Column("tensor_rank", "count", "tensor rank that logged it; each of them may log one event"),
    Column("requests", "count", "requests that the line counts, where it is one that counts"),
    Column("named", "flag", "it names its request: one of those that other lines only count"),
)
"""Lines that show what befell a request but not which: they bound what joined rows miss."""

ACTIVITY_COLUMNS: tuple[Column, ...] = (
    Column("node", "id", "engine with its rank"),
    Column("hop", "code", "side of the batch", codes=("prefill", "decode")),
    Column("at", "time", "start of the quarter of an hour; of a counter or lone figure, a moment"),
    Column("batches", "count", "batch lines"),
    Column("lines", "count", "a number made of them: the same lines have the same"),
    Column("sequences", "count", "sequences that began (prefill) or ran (decode), summed"),
    Column("tokens", "count", "new tokens of prefill batches, summed, page-rounded as logged"),
    Column("single_page_batches", "count", "batches of one sequence and at most one page"),
    Column("used_tokens", "count", "most tokens in the pool", worst="max"),
    Column("usage", "measure", "highest share of the pool in use", worst="max"),
    Column("retracted", "count", "sequences put back, summed"),
    Column("finished", "count", "requests that the server says it has finished since its start"),
)
"""Batch lines per engine and quarter of an hour, and counters of servers: none names a request."""

ENGINE_HOP = "engine"
"""Hop of an engine record whose side is not known yet; never leaves the package."""

CAPACITY_EVENT = Column(
    "event",
    "code",
    "what made the row known: a start, readiness, a pool line, a quoted limit, a record",
    codes=(
        "start",
        "ready",
        "server_pool",
        "rank_pool",
        "limit",
        "truncation",
        "snapshot",
        "printed",
        "began",
        "record",
        "role",
    ),
)

ORIGIN: dict[str, pl.DataType] = {
    "file": pl.Int32(),
    "line": pl.Int64(),
    "naive": pl.Boolean(),
    "source_node": pl.String(),
}
"""Beside the values: file number, line or row, whether times still lack their zone,
and the node whose clock they are from."""


def dtypes(columns: tuple[Column, ...]) -> dict[str, pl.DataType]:
    """Return the Polars schema of some columns, in order."""
    return {column.name: column.dtype for column in columns}


def by_name(columns: tuple[Column, ...]) -> dict[str, Column]:
    """Return the columns by name."""
    return {column.name: column for column in columns}
