"""Sizes of KV pools, as ranks and servers print them when they start."""

from __future__ import annotations

from forensics.sources.forms import Form
from forensics.sources.sglang.message import Message, Rows, counted, number

_TOKENS = r"[0-9]{1,15}"


def _rank_pool(rows: Rows) -> None:
    rows.fact("rank_pool", pool_tokens=number("pool"))


def _server_pool(rows: Rows) -> None:
    rows.fact(
        "server_pool", ranked=False, pool_tokens=number("pool"), context_tokens=number("context")
    )


_SIZES = rf"(?:dtype: \S{{1,80}}, )?#tokens: (?<pool>{_TOKENS}), K"
_BELOW_CONTEXT = (
    rf"^KV pool holds (?<pool>{_TOKENS}) tokens, fewer than --context-length "
    rf"(?<context>{_TOKENS})\."
)
MESSAGES = (
    Message(
        Form(
            "kv-cache",
            "KV cache line",
            "0.4.6-0.5.23",
            "the pool of one rank; a draft model prints a second one",
        ),
        ("KV Cache is allocated.",),
        (rf"^KV Cache is allocated\. {_SIZES}",),
        _rank_pool,
    ),
    Message(
        Form("kv-cache-after-capture", "KV cache line after capture", "0.5.13-0.5.23", "the same"),
        ("Post-capture KV sizing: KV cache allocated.",),
        (rf"^Post-capture KV sizing: KV cache allocated\. {_SIZES}",),
        _rank_pool,
    ),
    counted(
        Form(
            "address-bound",
            "upper bound of addresses",
            "0.5.13-0.5.23",
            "nothing: more tokens than the pool has",
        ),
        "KV Cache VA upper bound",
    ),
    counted(
        Form(
            "capture-sizing",
            "sizing after capture",
            "0.5.13-0.5.23",
            "nothing: the KV cache line after capture says it",
        ),
        "Post-capture KV sizing: full_layer_tokens=",
    ),
    counted(
        Form("pool-end", "end of a memory pool", "0.4.6-0.5.23", "nothing: memory that is left"),
        "Memory pool end. avail mem=",
    ),
    Message(
        Form("pool", "pool line", "0.4.6-0.5.23", "pool and context of the server"),
        ("max_total_num_tokens=",),
        (rf"^max_total_num_tokens=(?<pool>{_TOKENS}), .*?context_len=(?<context>{_TOKENS})",),
        _server_pool,
    ),
    Message(
        Form(
            "pool-below-context",
            "warning of a pool below the context",
            "0.5.23",
            "pool and context of the server: long prompts will be refused",
        ),
        ("KV pool holds ",),
        (_BELOW_CONTEXT,),
        _server_pool,
    ),
)
