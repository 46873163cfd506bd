"""The share of the window that a notice states: what the logs hold of it, not what they touch."""

import polars as pl
import pytest

from forensics.coverage.covered import share
from forensics.coverage.proved import PROVED

HOUR = 3_600_000_000
NONE = {"gap": False, "unlogged": False, "thin": False, PROVED: 0, "records": 30}


def rows(*told: dict[str, object]) -> pl.DataFrame:
    """Two hours of a client's log and of two nodes of prefill, some of them otherwise."""
    every = {(None, "gateway"): {}, ("p1", "prefill"): {}, ("p2", "prefill"): {}}
    cells = {
        (node, hop, hour): {"node": node, "hop": hop, "hour": hour * HOUR} | NONE
        for node, hop in every
        for hour in (0, 1)
    }
    for one in told:
        key = (one["node"], one["hop"], one["hour"])
        base = cells.get(key, NONE | {"records": 0})
        cells[key] = base | one | {"hour": int(str(one["hour"])) * HOUR}
    return pl.DataFrame(list(cells.values()), infer_schema_length=None)


def of(**said: object) -> dict[str, object]:
    return {"node": "p1", "hop": "prefill", "hour": 1} | said


@pytest.mark.parametrize(
    ("told", "covered"),
    [
        ([], 100.0),
        ([of(gap=True, records=0)], 75.0),
        ([of(thin=True)], 75.0),
        ([of(unlogged=True, records=0), of(node="p2", gap=True, records=0)], 50.0),
        ([of(**{PROVED: 30})], 83.33),
        ([of(node=None, **{PROVED: 1})], 99.18),
        ([of(node=None, hop="gateway", **{PROVED: 10})], 87.5),
        ([of(gap=True, records=0), of(node=None, hop="gateway", **{PROVED: 90})], 62.5),
    ],
    ids=[
        *("whole", "a node", "a thin hour", "a hop", "a node's requests", "nobody's request"),
        *("a client's requests", "the poorest hop counts"),
    ],
)
def test_an_hour_counts_with_what_the_poorest_hop_holds(
    told: list[dict[str, object]], covered: float
) -> None:
    assert share(rows(*told), 0, 2 * HOUR) == covered


def test_hours_without_any_record_count_and_are_not_covered() -> None:
    assert share(rows(), 0, 4 * HOUR) == 50.0
    assert share(rows(), HOUR // 2, 2 * HOUR) == 100.0
    assert share(rows(), HOUR, HOUR) is None


def test_what_lacks_one_record_of_very_many_is_not_whole() -> None:
    assert (
        share(rows(of(node=None, **{PROVED: 1}, records=0), of(records=10**7)), 0, 2 * HOUR) < 100
    )
