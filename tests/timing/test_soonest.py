"""How soon it would have been seen: first moments, what came before, and false alarms."""

import polars as pl
import pytest

from forensics.timing.alarms import foreseen, hourly

HOUR = 3_600_000_000
POOL = {"node": "prefill-1", "role": "prefill", "engine": "sglang", "page_tokens": 64}


def at(hour: int, minute: int = 0) -> str:
    return f"2026-09-01T{hour:02}:{minute:02}:00Z"


def epoch(hour: int, pool: int, **more):
    return POOL | {"effective_at": at(hour), "pool_tokens": pool, "context_tokens": 1_000} | more


def request(name: str, hour: int, sent: int | None = 4, **more):
    row = {"request_id": name, "tenant_id": "a", "received_at": at(hour), "prompt_tokens": 256}
    row |= {"prefill_node": "prefill-1", "decode_node": "decode-1", "http_status": 200}
    row |= {"reserved_pages": 4, "transferred_pages": sent, "completion_tokens": 9}
    return {key: value for key, value in (row | more).items() if value is not None}


@pytest.fixture
def warnings(case_of):
    def run(*records):
        return {row.signal: row for row in case_of(*records).exposure().early_warnings}

    return run


def test_a_pool_too_small_fires_at_its_start_and_later_epochs_are_clean(warnings):
    large, small = epoch(0, 2_000), epoch(2, 900)
    rows = (request("r1", 1), request("r2", 3, 1), request("r3", 4))
    found = warnings(large, small, epoch(5, 2_000), *rows, request("r4", 6))
    pool = found["pool against context"]
    assert (pool.state, pool.first_at) == ("fired", "2026-09-01T02:00:00.000000Z")
    assert (pool.before, pool.affected) == (0, 1)
    # The second epoch has an affected response in it.
    assert (pool.watched, pool.alarms, pool.clean, pool.false_alarms) == (3, 1, 2, 0)
    assert "would have blocked the deploy at 2026-09-01 02:00:00 UTC" in pool.sentence


def test_a_pool_without_headroom_of_which_nobody_came_to_harm_is_a_false_alarm(warnings):
    found = warnings(epoch(0, 1_200), request("r1", 1))["pool against context"]
    assert (found.alarms, found.clean, found.false_alarms) == (1, 1, 1)
    assert found.sentence.endswith("False alarms: 1 of 1 clean epochs.")


def test_an_epoch_without_requests_is_not_known_to_be_clean(warnings):
    found = warnings(epoch(0, 1_200), epoch(5, 2_000), request("r1", 1))["pool against context"]
    assert (found.watched, found.clean) == (2, 1)


def test_a_mismatch_counts_what_came_before_and_what_was_answered_to_nobody(warnings):
    stopped = request("r4", 5, 1, completion_tokens=0, http_status=503)
    late = request("r3", 3, None, prefill_prompt_tokens=1, decode_prompt_tokens=256)
    found = warnings(request("r1", 1), late, request("r2", 4, 1), stopped)["transfer mismatch"]
    assert found.first_at == "2026-09-01T04:00:00.000000Z"
    assert (found.before, found.affected) == (1, 2)
    assert (found.watched, found.alarms, found.clean, found.false_alarms) == (3, 2, 2, 1)


def test_a_canary_fires_when_the_foreign_marker_was_seen(warnings):
    mark = {"marker": "ab12", "planted_request_id": "other", "seen_request_id": "r2"}
    mark |= {"seen_at": at(4, 1)}
    found = warnings(request("r2", 4), request("r1", 2, 1), mark)["canary"]
    assert (found.state, found.first_at) == ("fired", "2026-09-01T04:01:00.000000Z")
    assert (found.before, found.affected) == (2, 2)
    assert found.clean is None


def test_what_was_not_logged_cannot_tell_and_what_was_is_quiet(warnings):
    found = warnings(request("r1", 1, None))
    assert {row.state for row in found.values()} == {"cannot tell"}
    assert {row.before for row in found.values()} == {None}
    own = {"marker": "ab12", "planted_request_id": "r1", "seen_request_id": "r1"}
    found = warnings(request("r1", 1), own, epoch(0, 2_000))
    states = {signal: row.state for signal, row in found.items()}
    quiet = {"pool against context", "canary", "transfer mismatch"}
    assert states == dict.fromkeys(quiet, "quiet") | {"p5 alarm": "cannot tell"}


def test_a_declared_pool_was_too_small_before_the_first_record(case_of):
    declared = '[[capacity]]\nnode = "prefill-*"\nrole = "prefill"\npool_tokens = 900\n'
    case = case_of(request("r1", 1, 1), incident=declared + "context_tokens = 1000\n")
    (pool, *_) = case.exposure().early_warnings
    assert (pool.state, pool.first_at, pool.before) == ("fired", None, 0)
    assert pool.first == "before the first record"


def test_the_p5_alarm_fires_at_the_end_of_an_hour_and_false_ones_are_counted(warnings):
    def long(hour, ms, **more):
        more |= {"prompt_tokens": 200_000, "prefill_ms": ms, "reserved_pages": 3_125}
        return request(f"r-{hour}", hour, **({"sent": 3_125} | more))

    usual = [long(hour, 11_000.0) for hour in range(7)]
    fast = (long(7, 60.0), long(8, 60.0, sent=1))
    found = warnings(*usual, *fast)["p5 alarm"]
    assert found.first_at == "2026-09-01T08:00:00.000000Z"
    assert (found.before, found.affected) == (0, 1)
    # Six hours have to pass before what is usual is known; hour 8 holds the affected response.
    assert (found.watched, found.alarms, found.clean, found.false_alarms) == (3, 2, 2, 1)


def table(*groups):
    rows = [(hour * HOUR, tokens, ms) for hour, tokens, ms in groups]
    names = {"received_at": pl.Int64, "prompt_tokens": pl.Int64, "prefill_ms": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row")


def test_what_is_usual_is_known_of_the_past_only():
    """Most hours are hit: with the whole run in view they are the usual, at the time not."""
    groups = [(hour, 200_000, 11_000.0 if hour < 8 else 56.0) for hour in range(30)]
    rows = foreseen(table(*groups))
    assert rows["alarm"].to_list() == [False] * 8 + [True] * 9 + [False] * 13
    assert rows["usual_ms"].null_count() == 6
    assert not hourly(table(*groups))["alarm"].any()


def test_a_shorter_bucket_knows_what_is_usual_also_in_hours_that_it_has_none():
    shorter = [(hour, 150_000, 11_000.0) for hour in range(7)]
    longer = [(hour, 300_000, 56.0) for hour in (3, 8)]
    rows = foreseen(table(*shorter, *longer)).filter(pl.col("low") == 262_144)
    assert rows["alarm"].to_list() == [False, True]


def test_a_bucket_that_is_silent_in_an_hour_lends_all_that_was_known_before_it():
    """Its last hour, too: the seventh makes the median of the slower ones."""
    shorter = [(hour, 150_000, 100.0 if hour < 3 else 900.0) for hour in range(7)]
    rows = foreseen(table(*shorter, (8, 20, 1.0), (8, 300_000, 300.0)))
    row = rows.row(by_predicate=pl.col("low") == 262_144, named=True)
    assert row["usual_ms"] == pytest.approx(900.0, rel=0.05)
    assert row["alarm"]
