"""What of a rank is missing, by whatever name the logs call it."""

import polars as pl
import pytest

from forensics.attribution.gaps import Lost
from forensics.attribution.silences import Silences
from forensics.attribution.stay import Stay

READ = pl.DataFrame({"tier": ["possible"], "last": [20_000_000_000]})
NOBODY = pl.DataFrame(schema={"first": pl.Int64, "last": pl.Int64, "server": pl.String})
NOTHING = Silences.of(pl.Series([], dtype=pl.Int64))


def test_an_hour_that_a_log_of_no_node_lost_is_one_of_every_rank():
    hours = pl.DataFrame({"node": [None], "hour": [7_200_000_000]})
    lost = Lost(hours, frozenset(), NOBODY, sampled=False, silences=NOTHING)
    assert lost.since(Stay("d1/dp0", 0, READ)) == lost.anywhere() == 7_200_000_000


@pytest.mark.parametrize(
    ("node", "reader", "since"),
    [
        ("d1/dp0", "d1/dp0", 7_200_000_000),
        ("d1", "d1/dp0", 7_200_000_000),
        ("d1/dp0", "d1", 7_200_000_000),
        ("d1/dp0", "d1/dp1", None),
        ("d2/dp0", "d1", None),
    ],
)
def test_a_lost_hour_is_one_of_every_name_that_may_be_of_the_rank(node, reader, since):
    hours = pl.DataFrame({"node": [node], "hour": [7_200_000_000]})
    lost = Lost(hours, frozenset(), NOBODY, sampled=False, silences=NOTHING)
    stay = Stay(reader, 0, READ)
    assert lost.since(stay) == since
    assert lost.concerns(stay) is (since is not None)
    unread = Lost(hours.clear(), frozenset({node}), NOBODY, sampled=False, silences=NOTHING)
    assert unread.since(stay) == (None if since is None else 0)
