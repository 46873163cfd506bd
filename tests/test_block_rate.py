"""Pages by the weight of a block: who agrees on it, who falls short, and when nobody is told."""

import polars as pl
import pytest

from forensics import blockrate

WEIGHT = 4.0
"""MiB a block of 32 tokens."""


def sent(*handoffs: tuple[float, int], node: str | None = "gen-1") -> pl.DataFrame:
    """Hand-offs as (tokens that arrived, blocks reserved)."""
    return pl.DataFrame(
        {
            "transfer_mb": [tokens * WEIGHT / 32 for tokens, _ in handoffs],
            "reserved_pages": [blocks for _, blocks in handoffs],
            "decode_node": [node] * len(handoffs),
        },
        schema_overrides={"decode_node": pl.String},
    )


HEALTHY = ((1_312, 41), (689, 22), (5_077, 159), (64, 2), (49_152, 1_536), (2_005, 63))


def test_complete_hand_offs_have_what_was_reserved():
    found = blockrate.fill(sent(*HEALTHY))
    assert found["transferred_pages"].to_list() == [blocks for _, blocks in HEALTHY]
    assert found["transfer_calibrated"].all()


def test_a_short_one_has_the_pages_that_its_bytes_fill():
    found = blockrate.fill(sent(*HEALTHY, (1, 1_635), (320, 1_635), (33, 40)))
    assert found["transferred_pages"].to_list()[-3:] == [1, 10, 2]


def test_more_than_was_reserved_is_told_as_such():
    found = blockrate.fill(sent(*HEALTHY, (320, 4)))
    assert found["transferred_pages"].to_list()[-1] == 10


@pytest.mark.parametrize(
    "handoffs",
    [
        HEALTHY[:4],
        # One block allows any weight.
        (*HEALTHY[:4], (20, 1), (5, 1)),
        # Short and complete ones are as many.
        (*HEALTHY[:5], *((1, 1_000 + n) for n in range(5))),
        # A count that grows with the answer agrees on nothing.
        tuple((32 * n, n + 7 * n * n) for n in range(2, 12)),
    ],
)
def test_without_a_majority_nothing_is_told(handoffs):
    found = blockrate.fill(sent(*handoffs))
    assert found.get_column("transferred_pages", default=pl.Series([None])).null_count() == len(
        found.get_column("transferred_pages", default=pl.Series([None]))
    )


def test_each_engine_has_a_weight_of_its_own():
    other = sent(*HEALTHY, (1, 90), node="gen-2").with_columns(pl.col("transfer_mb") * 3)
    found = blockrate.fill(pl.concat([sent(*HEALTHY), other]))
    assert found["transferred_pages"].to_list()[-2:] == [63, 1]


@pytest.mark.parametrize(
    "known", ["transferred_pages", "prefill_prompt_tokens", "decode_prompt_tokens"]
)
def test_what_is_counted_elsewhere_is_left_alone(known):
    rows = sent(*HEALTHY, (1, 90))
    value = pl.Series(known, [*[None] * len(HEALTHY), 5], dtype=pl.Int64)
    found = blockrate.fill(rows.with_columns(value))
    assert found["transfer_calibrated"].to_list() == [*[True] * len(HEALTHY), False]
    assert found["transferred_pages"].to_list()[-1] == (5 if known == "transferred_pages" else None)


def test_the_order_of_rows_changes_nothing():
    rows = sent(*HEALTHY, (1, 90))
    there = blockrate.fill(rows)["transferred_pages"].to_list()
    back = blockrate.fill(rows.reverse())["transferred_pages"].to_list()
    assert there == back[::-1]


def test_logs_without_bytes_are_as_they_were():
    rows = sent(*HEALTHY).drop("transfer_mb")
    assert blockrate.fill(rows).equals(rows)
