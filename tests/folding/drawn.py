"""Records drawn at random: ids that repeat, that are missing, that are another's, and none."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from forensics.columns import DTYPES
from forensics.sources.layout import PART
from forensics.sources.reading import write_part

SECOND, HOUR = 1_000_000, 3_600_000_000
START = 1_788_000_000 * SECOND
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
PREFILL, DECODE = ("prefill-0/dp0", "prefill-0/dp1", "prefill-1"), ("decode-0", "decode-1/dp3")


def records(seed: int, number: int = 60) -> list[dict[str, Any]]:
    """Return records of some requests, each on some hops, with what real logs do to them."""
    draw = Random(seed)
    found: list[dict[str, Any]] = []
    callers, joined = draw.random() < 0.2, draw.random() < 0.3
    for n in range(number):
        found += _request(draw, n, callers=callers, joined=joined)
    found += [dict(draw.choice(found)) for _ in range(3)]
    return [{**row, "file": draw.randrange(3), "line": at} for at, row in enumerate(found)]


def _request(draw: Random, n: int, *, callers: bool, joined: bool) -> list[dict[str, Any]]:
    at = START + draw.choice((0, 0, 0, 2 * HOUR, 30 * HOUR)) + draw.randrange(600) * SECOND
    size = draw.choice((9, 4096, 4097, 9000, 681_280))
    name = draw.choice((f"r-{n}", f"r-{n}", f"r-{draw.randrange(8)}", UUID, UUID.replace("-", "")))
    room = draw.choice((str(10**15 + n), str(10**15 + n), str(10**15 + draw.randrange(8)), TRACE))
    tenant = draw.choice(("a", "b", None))
    model = draw.choice(("glm", "glm", None, "other"))
    base = {"model": model, "received_at": at, "naive": draw.choice((None, None, False))}
    client = {
        **base, "hop": "gateway", "request_id": draw.choice((name, name, f"g-{n}", None)),
        "tenant_id": tenant, "prompt_tokens": draw.choice((size, size, size, None)),
        "http_status": draw.choice((200, 200, 503, None)), "finished_at": at + 9 * SECOND,
        "completion_tokens": draw.choice((7, 7, 0, None)), "rejected": draw.choice((None, True)),
    }  # fmt: skip
    prefill = {
        **base, "hop": "prefill", "request_id": draw.choice((f"p-{n}", name, None)),
        "transfer_id": draw.choice((room, room, room, None)), "received_at": at + SECOND // 3,
        "prefill_node": draw.choice(PREFILL), "prefill_ms": draw.random() * 100,
        "prefill_prompt_tokens": draw.choice((size, size, 1, None)), "transferred_pages": 1,
        "decode_node": draw.choice((None, None, *DECODE)), "rejected": draw.choice((None, True)),
        "prompt_tokens": draw.choice((None, size)),
    }  # fmt: skip
    decode = {
        **base, "hop": "decode", "request_id": draw.choice((name, name, None)),
        "transfer_id": draw.choice((room, room, room, None)), "received_at": at + SECOND // 2,
        "decode_node": draw.choice(DECODE), "decode_prompt_tokens": size, "tenant_id": None,
        "finished_at": draw.choice((at + 8 * SECOND, None)), "reserved_pages": 1 + size // 64,
        "completion_tokens": draw.choice((7, None)), "reserved_at": at + SECOND // 2,
    }  # fmt: skip
    late = {"hop": "decode", "transfer_id": room, "late_release": True, "received_at": at}
    span = {**client, "request_id": f"{TRACE}-{n:016x}", "transfer_id": TRACE}
    whole = {**client, **{k: v for k, v in decode.items() if v is not None}, "hop": None}
    hops = [one for one in (client, prefill, decode) if draw.random() < 0.8]
    hops += [late] if draw.random() < 0.05 else []
    hops += [span] if callers and draw.random() < 0.2 else []
    return [whole] if joined and draw.random() < 0.3 else hops


def parts(rows: list[dict[str, Any]], folder: Path, seed: int, files: int = 4) -> list[Path]:
    """Write records to parts of the reading pass, in an order and a split of their own."""
    draw = Random(seed)
    rows = draw.sample(rows, len(rows))
    names = [name for name in PART.dtypes if any(row.get(name) is not None for row in rows)]
    schema = {name: DTYPES[name] for name in names}
    found = []
    for at in range(files):
        own = [{name: row.get(name) for name in names} for row in rows[at::files]]
        path = folder / f"{seed:03d}-{at:03d}.parquet"
        write_part(path, pl.DataFrame(own, schema=schema))
        found.append(path)
    return found
