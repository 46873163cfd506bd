"""What was held on a rank during a stay, by requests and health checks, and what cannot be true."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from forensics.attribution import hops, moments, pagesizes, sizes
from forensics.attribution.holds import ONE_OR_ALL, UNKNOWN, Holds, Ints
from forensics.attribution.refusals import answered, refused
from forensics.attribution.stay import Stay
from forensics.capacity import server_of
from forensics.columns import ensure
from forensics.schema import AFFECTED_TIERS

NEEDED = (
    *("reserved_at", "released_at", "reserved_pages", "reserved_tokens", "transferred_pages"),
    *("completion_tokens", "decode_prompt_tokens", "prefill_ms", "http_status", "finished_at"),
    *("finish_reason", "transfer_status", "stream_error", "sizes_differ"),
)
"""What is asked of a record to know what it held."""


def may_have_held() -> pl.Expr:
    """Say that a request may have held pages: all but those refused without any figure of pages.

    Decode too refuses what is over its limit, and then takes no page for it.
    """
    signs = ("completion_tokens", "reserved_at", "released_at", "reserved_pages")
    held = [pl.col(name) > 0 for name in (*signs, "transferred_pages")]
    ran = [*held, answered(NEEDED), pl.col("tier").is_in(AFFECTED_TIERS)]
    return ~refused(NEEDED) | pl.any_horizontal(sign.fill_null(value=False) for sign in ran)


def checks(probed: pl.DataFrame) -> pl.DataFrame:
    """Return health checks of decode ranks, with the span in which each may have taken pages."""
    rows = ensure(probed, ["decode_node", *NEEDED])
    rows = rows.with_columns(tier=pl.lit(None, dtype=pl.String))  # a check is not judged
    spans = {"first": moments.first(rows.columns), "last": moments.last(rows.columns)}
    spans["may_have_held"] = may_have_held()
    return (
        rows.with_columns(**spans)
        .select("decode_node", "first", "last", "may_have_held", *NEEDED)
        .drop_nulls("decode_node")
    )


def hold(stay: Stay, probed: pl.DataFrame) -> None:
    """Note what was held up to the last read, and what about it cannot be true.

    The stamp of the read may be in whole seconds among finer ones.

    Args:
        stay: with pool, page and requests; its ``holds`` and ``reasons`` are set.
        probed: health checks of all ranks, of :func:`checks`.
    """
    if not stay.page_tokens:
        return
    until = int(stay.affected.select(moments.until("last").max()).item())
    rows = _sized(stay, probed)
    needed = ("reserved_at", "released_at", "pages", "prompt", "completion_tokens")
    unknown = pl.any_horizontal(pl.col(name).is_null() for name in needed)
    unknown |= pl.col("hold_unsure").fill_null(value=False)
    came = pl.col("first") <= until
    if rows.select((came & pl.col("may_have_held") & unknown).any()).item():
        stay.reasons.add("holds_not_logged")
    if pagesizes.contradicted(rows.filter(came)):
        stay.reasons.add("page_size_differs")
    if hops.contradicted(stay.rows):
        stay.reasons.add("times_differ")
    if sizes.contradicted(stay.rows):
        stay.reasons.add("sizes_differ")
    known = rows.filter(came & ~unknown).sort(
        "reserved_at", "first", "released_at", "pages", "prompt", "name", nulls_last=False
    )
    stay.holds = _holds(known, stay.page_tokens)
    stay.reasons |= set(_impossible(stay.holds, stay.pool_pages))


def _sized(stay: Stay, probed: pl.DataFrame) -> pl.DataFrame:
    """Return requests and health checks of a stay with pages and tokens, under one set of names."""
    own = stay.rows.with_columns(name=pl.col("request_id"))
    span = (pl.col("last") >= stay.since) & (pl.col("first") <= stay.last_read)
    here = pl.col("decode_node").is_in([stay.node, server_of(stay.node)])
    every = pl.concat([own, probed.filter(here & span)], how="diagonal_relaxed").with_columns(
        _row=pl.col("_row").fill_null(UNKNOWN)
    )
    whole = (pl.col("reserved_tokens") + stay.page_tokens - 1) // stay.page_tokens
    prompt = pl.coalesce("decode_prompt_tokens", "prompt_tokens")
    # A health check is new each time: no prefix of it was kept.
    check = pl.when(pl.col("_row") == UNKNOWN).then(
        (prompt + stay.page_tokens - 1) // stay.page_tokens
    )
    return every.with_columns(
        pages=pl.coalesce("reserved_pages", whole, check),
        prompt=prompt,
        completion_tokens=pl.col("completion_tokens").fill_null(
            pl.when(pl.col("_row") == UNKNOWN).then(1)
        ),
    )


def _holds(rows: pl.DataFrame, page_tokens: int) -> Holds:
    columns = rows.select(
        row="_row",
        reserved="reserved_at",
        released="released_at",
        pages="pages",
        prompt="prompt",
        tokens="completion_tokens",
        written=_arrived(),
        prefill=(pl.col("prefill_ms") * 1_000).round().cast(pl.Int64).fill_null(UNKNOWN),
    )
    arrays: dict[str, Ints] = {
        name: columns[name].to_numpy().astype(np.int64) for name in columns.columns
    }
    return Holds(page_tokens=page_tokens, **arrays)


def _arrived() -> pl.Expr:
    """Return the pages of a prompt that arrived, or what stands for it where no log counts them.

    An answer that nothing speaks against was computed whole; of one that is affected for certain
    one page came, and where that is open, one or all. A transfer that failed may have brought any.
    """
    answered = pl.col("completion_tokens") > 0
    check = pl.col("_row") == UNKNOWN
    whole = answered & (check | (pl.col("tier") == "ruled_out"))
    stub = pl.col("tier").is_in(AFFECTED_TIERS[:2])
    either = answered | pl.col("tier").is_in(AFFECTED_TIERS)
    guessed = pl.when(whole.fill_null(value=False)).then("pages").when(stub).then(1)
    return pl.coalesce(
        "transferred_pages", guessed.when(either).then(ONE_OR_ALL).otherwise(UNKNOWN)
    )


def _impossible(holds: Holds, pool: int) -> Iterator[str]:
    """Yield what about some holds cannot be true."""
    if (holds.released < holds.reserved).any():
        yield "ends_before_it_begins"
        return
    more = holds.pages - -(-holds.prompt // holds.page_tokens)
    if ((more < 0) | (more > 1)).any():  # a hop before counts a few tokens less
        yield "pages_differ"
    if _twice(holds):
        yield "held_twice"
    if len(holds) and _most_held(holds) > pool:
        yield "more_than_the_pool"


def _twice(holds: Holds) -> bool:
    """Say whether two holds are the same but for their name, to a part of a millisecond.

    Stamps in whole milliseconds or seconds are the same by chance.
    """
    fine = (holds.reserved % 1_000 > 0) & (holds.released % 1_000 > 0)
    figures = (holds.reserved, holds.released, holds.pages, holds.prompt)
    same = [np.diff(figure[fine]) == 0 for figure in figures]
    return bool(np.logical_and.reduce(same).any())


def _most_held(holds: Holds) -> int:
    """Return the most pages held at once, each as short as its stamps allow, growth left out."""
    late = holds.reserved + holds.coarse[0] - 1
    long = holds.released > late
    times = np.concatenate([late[long], holds.released[long]])
    change = np.concatenate([holds.pages[long], -holds.pages[long]])
    held = np.cumsum(change[np.lexsort((change, times))])
    return int(held.max()) if len(held) else 0
