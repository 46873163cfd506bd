"""Batch lines of SGLang: counted per engine, side and quarter of an hour, of any version."""

import polars as pl
import pytest

QUARTER = 1_770_091_200_000_000
"""04:00 on the clock of the node."""


@pytest.fixture
def activity(read):
    """Read lines; return the rows of batch lines, by engine, side and time."""

    def run(*lines: str) -> list[dict[str, object]]:
        seen = read("\n".join((*lines, "")), "node-1.log", form="sglang")
        assert seen.facts.unread == []
        assert seen.facts.kept == len(lines)
        rows = pl.concat(seen.reading.activity, how="diagonal_relaxed")
        rows = rows.filter(pl.col("batches").is_not_null())  # else a lone figure at its moment
        found = rows.sort("node", "hop", "at").to_dicts()
        aside = ("file", "lines")
        return [{k: v for k, v in row.items() if v is not None and k not in aside} for row in found]

    return run


def prefill(clock: str, new: int, ranks: str = " DP1 TP1", sequences: int = 1, cached: int = 0):
    return (
        f"[2026-02-03 {clock}{ranks}] Prefill batch, #new-seq: {sequences}, #new-token: {new}, "
        f"#cached-token: {cached}, token usage: 0.0{sequences}, #running-req: 0, #queue-req: 0"
    )


def decode(clock: str, running: int, used: int, usage: float, retracted: int = 0):
    return (
        f"[2026-02-03 {clock} DP1 TP1] Decode batch, #running-req: {running}, #token: {used}, "
        f"token usage: {usage:.2f}, pre-allocated usage: 0.90, #prealloc-req: 0, "
        f"#transfer-req: 0, #retracted-req: {retracted}, cuda graph: True, #queue-req: 0"
    )


def test_prefill_batches_are_summed(activity):
    (row,) = activity(
        prefill("04:05:06", 64), prefill("04:14:59", 1856, sequences=3), prefill("04:07:00", 16384)
    )
    assert row == {
        "node": "node-1/dp1",
        "hop": "prefill",
        "at": QUARTER,
        "batches": 3,
        "sequences": 5,
        "tokens": 64 + 1856 + 16384,
        "single_page_batches": 1,
        "usage": 0.03,
        "naive": True,
        "source_node": "node-1",
    }


def test_decode_batches_keep_the_most_that_was_in_use(activity):
    (row,) = activity(
        decode("04:05:06", 3, 900, 0.25), decode("04:05:07", 5, 400, 0.75, retracted=2)
    )
    assert (row["hop"], row["batches"], row["sequences"]) == ("decode", 2, 8)
    assert (row["used_tokens"], row["usage"], row["retracted"]) == (900, 0.75, 2)
    assert "tokens" not in row
    assert "single_page_batches" not in row


def test_engines_sides_and_quarters_are_apart(activity):
    rows = activity(
        prefill("04:05:06", 64),
        prefill("04:15:00", 64),
        prefill("04:15:00", 64, ranks=" DP2 TP2"),
        prefill("04:15:00", 64, ranks=""),
        decode("04:05:06", 1, 1, 0.01),
    )
    assert [(row["node"], row["hop"], row["at"]) for row in rows] == [
        ("node-1", "prefill", QUARTER + 900_000_000),
        ("node-1/dp1", "decode", QUARTER),
        ("node-1/dp1", "prefill", QUARTER),
        ("node-1/dp1", "prefill", QUARTER + 900_000_000),
        ("node-1/dp2", "prefill", QUARTER + 900_000_000),
    ]


@pytest.mark.parametrize(
    ("line", "single"),
    [
        (prefill("04:05:06", 1), 1),
        (prefill("04:05:06", 64), 1),
        (prefill("04:05:06", 65), 0),
        (prefill("04:05:06", 64, sequences=2), 0),
        (prefill("04:05:06", 64, cached=640), 0),
    ],
    ids=["raw count", "a page", "more", "two sequences", "part of a longer prompt"],
)
def test_batches_of_one_page(activity, line, single):
    (row,) = activity(line)
    assert row["single_page_batches"] == single


def test_fields_are_found_wherever_they_stand(activity):
    at = "[2026-02-03 04:05:06] "
    rows = activity(
        f"{at}Prefill batch [12]. full token usage: 0.50, swa token usage: 0.90, "
        "#running-req: 7, #cached-token: 0, #new-token: 32, #new-seq: 1",
        f"{at}Decode batch [12], #swa token: 9, swa token usage: 0.90, #full token: 5, "
        "full token usage: 0.50, #retracted-req: 1, #running-req: 3",
    )
    prefilled, decoded = rows[1], rows[0]
    assert (prefilled["sequences"], prefilled["tokens"], prefilled["usage"]) == (1, 32, 0.5)
    assert prefilled["single_page_batches"] == 1
    assert (decoded["sequences"], decoded["used_tokens"], decoded["usage"]) == (3, 5, 0.5)
    assert decoded["retracted"] == 1


def test_what_a_version_does_not_print_is_missing(activity):
    (row,) = activity(
        "[2026-02-03 04:05:06 TP0] Decode batch. #running-req: 3, #token: 506983, "
        "token usage: 0.42, pre-allocated usage: 0.42, gen throughput (token/s): 120.00"
    )
    assert (row["used_tokens"], row["usage"]) == (506_983, 0.42)
    assert "retracted" not in row
