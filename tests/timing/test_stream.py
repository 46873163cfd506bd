"""Scores of parts that are read three times are those of the whole."""

import polars as pl

from forensics.timing import scores, stream, work

NO_EPOCHS = pl.DataFrame(schema={"node": pl.String, "effective_at": pl.Int64})


def test_parts_give_what_the_whole_gives(honest, one):
    rows = honest()
    odd = [
        one(rows, handoff=10**6 + n, prefill_ms=ms, request_id=f"x{n}")
        for n, ms in enumerate((56.0, 900_000.0, 58.0))
    ]
    rows = pl.concat([rows, *odd])
    timed = work.timed(rows, pl.DataFrame(), {}, NO_EPOCHS)
    whole = scores.score(timed).rows.filter(pl.col("timing_fast") | pl.col("timing_slow"))
    assert whole["timing_fast"].sum() == 2
    assert whole["timing_slow"].sum() >= 1
    # Groups are numbered within each part: the second knows one node only.
    parts = [timed.filter(pl.col("_row") % 3 == n) for n in (2, 0, 1)]
    parts[0] = parts[0].filter(pl.col("node") == "prefill-0/dp0")
    rest = timed.join(pl.concat(parts), on="_row", how="anti")
    parts = [work.grouped(part.drop("group")) for part in (*parts, rest)]
    found = stream.flagged(lambda: iter(parts)).sort("_row")
    names = ["_row", "timing_fast", "timing_slow"]
    assert found.select(names).equals(whole.select(names).sort("_row"))
