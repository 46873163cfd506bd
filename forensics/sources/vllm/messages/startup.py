"""Start-up of an engine: version, window, settings; and the lines that say no more."""

from __future__ import annotations

import polars as pl

from forensics.sources.forms import Form
from forensics.sources.sglang.skeleton import CLOSE, OPEN, skeleton
from forensics.sources.vllm.message import Message, Rows, counted

_KEYS = {
    "kv_cache_dtype": "kv_cache_dtype",
    "pp_size": "pipeline_parallel_size",
    "dp_size": "data_parallel_size",
    "quantization": "quantization",
    "tp_size": "tensor_parallel_size",
}
"""Settings that move a pool, under the engine's own names."""


def _setting(name: str) -> pl.Expr:
    """One setting; a name that stands twice is believed in neither place."""
    value = rf"(?:{OPEN}'([A-Za-z0-9_.:+-]{{1,48}})'{CLOSE}|([A-Za-z0-9_.:+-]{{1,48}}))"
    form = rf"(?:^|[ (]){name}={value}(?:[,) ]|$)"
    groups = pl.col("bare").str.extract_groups(form).struct
    found = pl.coalesce(groups.field("1"), groups.field("2"))
    once = pl.col("bare").str.count_matches(rf"(?:^|[ (,]){name}=") == 1
    return pl.when(once & (found != "None")).then(found)


def _guessing() -> pl.Expr:
    """That tokens are guessed ahead: how is in an object of its own, which is not looked into."""
    name = r"(?:^|[ (,])speculative_config="
    none = rf"{name}None(?:[,) ]|$)"
    told = pl.col("bare").str.contains(name) & ~pl.col("bare").str.contains(none)
    return pl.when(told).then(pl.lit("speculative_algorithm=other"))


def _start(rows: Rows) -> None:
    rows = Rows(rows.frame.with_columns(bare=skeleton(pl.col("args"))), rows.context, rows.parsed)
    config = pl.concat_str(
        [
            *(pl.concat_str(pl.lit(f"{key}="), _setting(_KEYS[key])) for key in sorted(_KEYS)),
            _guessing(),
        ],
        separator=";",
        ignore_nulls=True,
    )
    told = {
        "engine_version": pl.col("version"),
        "context_tokens": _setting("max_seq_len").cast(pl.Int64, strict=False),
    }
    # Of several ranks the first one's line begins the boot: they are seconds apart.
    first = pl.col("dp").fill_null(0) == 0
    rows.where(first).fact("start", ranked=False, config=config, **told)
    rows.where(~first).fact("server_pool", ranked=False, context_tokens=told["context_tokens"])


def _ready(rows: Rows) -> None:
    rows.fact("ready", ranked=False)


_VERSION = r"v(?<version>[0-9][0-9A-Za-z.+_-]{0,47})"
_OVERRIDE = r"^Overriding num_gpu_blocks=[0-9]{1,12} with num_gpu_blocks_override=[0-9]{1,12}$"
_BLOCKS = (
    r"^Engine [0-9]{1,4}: vllm cache_config_info with initialization after num_gpu_blocks is: "
    r"[0-9]{1,12}$"
)
_REFUSED = (
    r"^The model's max seq len \([0-9]{1,12}\) is larger than the maximum number of tokens ",
    r"^To serve at least one request with the models?'s max seq len \([0-9]{1,12}\)",
)
MESSAGES = (
    Message(
        Form(
            "engine-start",
            "engine start line",
            "0.6-0.33",
            "start of a boot: version, context, settings that move a pool",
        ),
        ("Initializing an LLM engine", "Initializing a V1 LLM engine", "Initializing a V0 LLM"),
        (rf"^Initializing an? (?:V[01] )?LLM engine \({_VERSION}\) with config: (?<args>.*)$",),
        _start,
        front=True,
        ids=(),
    ),
    Message(
        Form("server-ready", "ready line", "0.6-0.33", "when a boot was ready to serve"),
        ("Starting vLLM API server",),
        (r"^(?<ready>Starting vLLM API server)(?: [0-9]{1,4})? on \S{1,200}$",),
        _ready,
        ids=(),
    ),
    counted(
        Form(
            "api-version",
            "API server version",
            "0.6-0.33",
            "nothing: the start line of the engine says it for the boot",
        ),
        "vLLM API server version",
    ),
    counted(
        Form(
            "blocks-overridden",
            "overridden number of blocks",
            "0.6-0.33",
            "nothing: the pool line after it counts what is used",
        ),
        "Overriding num_gpu_blocks=",
        patterns=(_OVERRIDE,),
    ),
    counted(
        Form(
            "cache-config",
            "number of blocks after start-up",
            "0.8-0.33",
            "nothing: blocks, without the size of one",
        ),
        inside=(": vllm cache_config_info with initialization ",),
        patterns=(_BLOCKS,),
    ),
    counted(
        Form(
            "cache-memory",
            "memory for the KV cache",
            "0.8-0.33",
            "nothing: bytes, without the size of a token",
        ),
        "Available KV cache memory: ",
        "Multiplying the GPU KV cache size by ",
    ),
    counted(
        Form(
            "start-refused",
            "engine that would not start",
            "0.6-0.33",
            "nothing: a pool below one request of the window never serves",
        ),
        "The model's max seq len (",
        "To serve at least one request with ",
        patterns=_REFUSED,
    ),
)
