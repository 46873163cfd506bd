"""Pool and window of a vLLM server: the first from its metrics, the second from its models."""

from __future__ import annotations

import re

from forensics.live.document import Said, UnreadableError, counted, parsed
from forensics.live.rankpool import RankPool

_NAME = rb"vllm:cache_config_info"
_SAMPLE = re.compile(rb"^" + _NAME + rb"\{([^}\n]{0,8192})\} 1(?:\.0)?\s*$", re.MULTILINE)
_ANY = re.compile(rb"^" + _NAME + rb"(?:\{|\s)", re.MULTILINE)
_LABEL = re.compile(rb'(\w+)="([^"\\]*)"')
_POOL = "num_gpu_blocks x block_size"


def vllm_ranks(metrics: bytes, window: int) -> list[RankPool]:
    """Return the pool of each engine in a scrape of vLLM's ``/metrics``.

    Args:
        metrics: the scrape, in Prometheus' text form.
        window: what the server advertises, in tokens.

    Raises:
        UnreadableError: the gauge is absent, or its labels are no numbers.
    """
    samples = _SAMPLE.findall(metrics)
    if not samples:
        raise UnreadableError("no vllm:cache_config_info among the metrics")
    if len(samples) != len(_ANY.findall(metrics)):
        raise UnreadableError("a vllm:cache_config_info that cannot be read")
    return [_rank(sample, window, place, len(samples)) for place, sample in enumerate(samples, 1)]


def _rank(sample: bytes, window: int, place: int, places: int) -> RankPool:
    pairs = _LABEL.findall(sample)
    labels = dict(pairs)
    if len(labels) != len(pairs):
        raise UnreadableError("a label of cache_config_info stands twice")
    blocks, page = (_number(labels, name) for name in ("num_gpu_blocks", "block_size"))
    tokens = counted(blocks * page, _POOL)
    return RankPool(
        tokens,
        _POOL,
        window=window,
        limit=min(tokens, window) + 1,
        limit_basis="derived",
        derived=min(tokens, window) + 1,
        place=place,
        places=places,
        page=page,
        engine="vllm",
    )


def _number(labels: dict[bytes, bytes], name: str) -> int:
    value = labels.get(name.encode(), b"")
    if not re.fullmatch(rb"[0-9]{1,15}", value):
        raise UnreadableError(f"cache_config_info holds no number as {name}")
    return counted(int(value), name)


def vllm_window(data: bytes) -> int:
    """Return the largest window that ``/v1/models`` advertises, in tokens.

    Raises:
        UnreadableError: a model in it advertises none.
    """
    models = parsed(data).get("data")
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise UnreadableError("/v1/models lists no model")
    # An adapter names its parent, and has the window of that.
    own = [model for model in models if not model.get("parent")]
    found = [Said(model, "/v1/models ").least(("max_model_len",)) for model in own]
    known = [window[0] for window in found if window is not None]
    if not known or len(known) != len(found):
        raise UnreadableError("/v1/models says no max_model_len")
    return max(known)
