"""Pairs made a part at a time are those made at once, in the same order."""

import polars as pl
import pytest

from forensics.attribution import coresidency, gaps, lookback, pairing, together, widening
from forensics.attribution.silences import Silences
from forensics.attribution.stay import Stay
from forensics.boots import BEGINNING
from forensics.recipients import sources

START = 1_788_220_800_000_000


@pytest.fixture(scope="module")
def requests():
    """Requests of twelve tenants on three ranks, every fourth affected; some share an id."""
    rows = pl.DataFrame({"n": range(240)}).with_columns(
        request_id=pl.format("r-{}", pl.col("n") * 7 % 97),
        attempt=(pl.col("n") // 97).cast(pl.Int64),
        tenant_id=pl.when(pl.col("n") % 13 > 0).then(pl.format("t-{}", pl.col("n") % 12)),
        decode_node=pl.when(pl.col("n") % 10 > 0).then(pl.format("d-{}", pl.col("n") % 3)),
        prefill_node=pl.lit("p"),
        tier=pl.when(pl.col("n") % 4 == 0).then(pl.lit("possible")).otherwise(pl.lit("ruled_out")),
        received_at=START + pl.col("n") * 1_500_000,
    )
    nothing = (pl.lit(None, pl.Int64).alias(name) for name in ("decode_since", "handed_off_at"))
    return rows.with_columns(*nothing, reserved_at=pl.lit(None, pl.Int64)).sample(
        fraction=1.0, shuffle=True, seed=3
    )


def all_of(requests):
    pairs = coresidency.pairs(requests)
    curve = lookback.curve(coresidency.met(requests))
    affected = requests.filter(pl.col("tier") == "possible")
    found = sources(pairs, coresidency.resident_requests(requests), affected)
    return pairs, curve, found


def in_small_parts(monkeypatch):
    monkeypatch.setattr(pairing, "PAIRS_AT_ONCE", 40)


def test_the_size_of_a_part_changes_nothing(requests, monkeypatch):
    pairs, curve, found = all_of(requests)
    assert pairs.height > 300
    in_small_parts(monkeypatch)
    again, curve_again, found_again = all_of(requests)
    assert again.equals(pairs)
    assert curve_again.equals(curve)
    assert found_again == found


def test_parts_from_several_places_stand_in_one_order(requests, monkeypatch):
    pairs = coresidency.pairs(requests)
    more = pairs.sample(fraction=0.3, seed=1).with_columns(origin=pl.lit("prefill"))
    more = more.sort("request_id")
    every = pl.concat([pairs, more])
    whole = pairing.sort(every)
    in_small_parts(monkeypatch)
    assert together.ordered([pairs, pairs.clear(), more]).equals(whole)
    assert together.ordered([pairs.clear(), more]).equals(pairing.sort(more))


def test_no_id_is_in_two_parts(requests, monkeypatch):
    pairs = coresidency.pairs(requests)
    in_small_parts(monkeypatch)
    parts = [set(part["request_id"]) for part in together.slices(pairs) if part.height]
    assert len(parts) > 5
    assert sum(map(len, parts)) == pairs["request_id"].n_unique()


def test_who_is_possible_for_missing_records_is_the_same_in_parts(requests, monkeypatch):
    """Everyone for every response is never held at once."""
    hours = pl.DataFrame(schema={"node": pl.String, "hour": pl.Int64})
    times = Silences.of(requests["received_at"])
    missing = gaps.Lost(hours, frozenset(), hours, sampled=True, silences=times)
    read = requests.filter(pl.col("tier") == "possible").with_columns(last="received_at")
    stays = [Stay(node, BEGINNING, read.filter(decode_node=node)) for node in ("d-0", "d-1", "d-2")]
    pairs = coresidency.pairs(requests)
    whole = widening.widened(requests, pairs, stays, missing)
    key = ["request_id", "attempt", "source_tenant_id"]
    tenants = requests.select(source_tenant_id="tenant_id").drop_nulls().unique()
    every = read.select(*key[:2]).join(tenants, how="cross")
    assert set(whole.select(key).rows()) == set(every.rows()) - set(pairs.select(key).rows())
    sizes, make = [], pairing.as_pairs
    in_small_parts(monkeypatch)
    counting = lambda found, *told: sizes.append(found.height) or make(found, *told)  # noqa: E731
    monkeypatch.setattr(pairing, "as_pairs", counting)
    assert widening.widened(requests, pairs, stays, missing).equals(whole)
    assert max(sizes) < 100 < whole.height
