"""Where logs begin and end while their neighbours go on."""

import polars as pl

from forensics.coverage.cliffs import cliffs


def test_where_a_log_begins_while_others_go_on() -> None:
    hour = 3_600_000_000
    nodes = pl.DataFrame(
        {
            "node": ["a", "b"],
            "hop": ["decode"] * 2,
            "first_at": [0, 5 * hour],
            "last_at": [9 * hour] * 2,
        }
    )
    seen = {"node": ["a", "a", "b"], "hour": [0, hour, 5 * hour], "records": [3, 4, 5]}
    hours = pl.DataFrame(seen).with_columns(batches=pl.lit(0))
    assert cliffs(nodes, hours).rows() == [("b", "decode", "start", 5 * hour, 5, 7)]


def test_a_log_whose_batches_go_on_has_no_end_where_its_records_have() -> None:
    """Engines that log troubles alone have a first trouble; ranks of a server have one log."""
    hour = 3_600_000_000
    nodes = pl.DataFrame(
        {
            "node": ["g", "b/dp0", "b/dp1"],
            "hop": ["gateway", "decode", "decode"],
            "first_at": [0, 5 * hour, hour],
            "last_at": [9 * hour] * 3,
        }
    )
    seen = {"node": ["g", "b/dp1"], "hour": [0, hour], "records": [7, 0], "batches": [0, 2]}
    found = cliffs(nodes, pl.DataFrame(seen))
    assert found.select("node", "at", "hours").rows() == [("b/dp0", hour, 1), ("b/dp1", hour, 1)]
    whole = pl.DataFrame(seen | {"hour": [0, 0]})
    assert cliffs(nodes, whole).rows() == []
