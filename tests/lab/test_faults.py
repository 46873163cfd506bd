"""The two faults: only both together leak, and what each cell answers instead."""

from dataclasses import replace

import pytest

from forensics.lab import LabRun, simulate, small

CELLS = [(True, True), (True, False), (False, True), (False, False)]


def cell(small_prefill_pool: bool, faulty_rejection: bool) -> LabRun:
    return simulate(small(small_prefill_pool=small_prefill_pool, faulty_rejection=faulty_rejection))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exactly_one_cell_of_two_by_two_leaks(seed):
    leaks = {
        faults: len(
            simulate(small(seed, small_prefill_pool=faults[0], faulty_rejection=faults[1])).affected
        )
        for faults in CELLS
    }
    assert leaks == {(True, True): 20, (True, False): 0, (False, True): 0, (False, False): 0}


def test_a_leak_is_one_page_of_many_claimed_complete_and_answered_with_200():
    run = cell(True, True)
    for handoff in run.affected:
        assert handoff.prefill_prompt_tokens == 1
        assert handoff.transferred_pages == 1
        assert handoff.reserved_pages == -(-handoff.intent.prompt_tokens // 64)
        assert handoff.transfer_status == "complete"
        assert handoff.delivered
    statuses = {h.http_status for h in run.affected}
    assert statuses == {200, None}, "a client that left after some tokens has no status"


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_sound_path_retires_with_400_and_no_tokens(seed):
    run = simulate(small(seed, faulty_rejection=False))
    over = [h for h in run.handoffs if h.over_limit]
    assert len(over) >= 20
    assert {(h.http_status, h.completion_tokens, h.transferred_pages) for h in over} == {
        (400, 0, 0)
    }
    assert not any(h.placeholder or h.prefill_prompt_tokens == 1 for h in run.handoffs)


def test_a_large_pool_serves_long_prompts_whole():
    run = cell(False, True)
    served = [h for h in run.handoffs if h.intent.prompt_tokens >= 40_960 and h.http_status == 200]
    assert len(served) >= 15
    assert all(h.transferred_pages == h.reserved_pages for h in served)
    assert all(h.prefill_prompt_tokens == h.intent.prompt_tokens for h in served)
    assert all(not h.stale and not h.unwritten_pages for h in served)


@pytest.mark.parametrize(("above", "leaks"), [(-2 * 64, False), (0, True)])
def test_a_prompt_of_pool_less_six_is_rejected_and_one_that_fits_is_served(above, leaks):
    limit = 40_960 - 6 + above
    base = small()
    only = replace(
        base.long, min_tokens=limit, max_tokens=limit, served=4, cut_after_tokens=0,
        stream_errors=0, retried=0, aborted=0, failed=0, over_context=0, decode_refused=0,
        near_limit=0,
    )  # fmt: skip
    run = simulate(replace(base, long=only, requests=4))
    assert {h.prefill_prompt_tokens == 1 for h in run.handoffs} == {leaks}
    assert len(run.affected) == (4 if leaks else 0)


def test_a_prompt_that_can_neither_run_nor_be_rejected_is_an_error_of_the_plan():
    base = small()
    stuck = replace(base.long, min_tokens=40_953, max_tokens=40_953, near_limit=0, retried=0)
    with pytest.raises(RuntimeError, match=r"hang|in flight"):
        simulate(replace(base, long=stuck))


def test_the_gateway_sees_nothing_of_a_leak():
    run = cell(True, True)
    affected = {h.intent.request_id: h for h in run.affected}
    lines = [entry for entry in run.gateway if entry.intent.request_id in affected]
    assert len(lines) == len(affected)
    for entry in lines:
        assert entry.prompt_tokens == entry.intent.prompt_tokens
        assert entry.http_status in (200, 499)
        assert entry.rejection_code is None


def test_what_over_limit_prompts_meet_besides_the_leak():
    run = cell(True, True)
    outcomes = [
        (h.http_status, h.delivered, h.transfer_status)
        for h in run.handoffs
        if h.over_limit and not h.affected
    ]
    assert outcomes.count((None, False, "complete")) == 3, "left before the first token"
    assert outcomes.count((503, False, "failed")) >= 6 + 3, "broken transfers, retries included"
    assert outcomes.count((400, False, "failed")) == 2, "refused by decode too"
    refused = [e for e in run.gateway if e.rejection_code == "context_exceeded"]
    assert len(refused) == 3
    assert not {e.intent.request_id for e in refused} & {h.intent.request_id for h in run.handoffs}


def test_a_retry_is_another_transfer_under_the_same_request():
    run = cell(True, True)
    retried = [h for h in run.affected if h.attempt > 0]
    assert len(retried) == 3
    for handoff in retried:
        same = [h for h in run.handoffs if h.intent.request_id == handoff.intent.request_id]
        assert [h.attempt for h in same] == list(range(handoff.attempt + 1))
        assert len({h.transfer_id for h in same}) == len(same)
        assert all(not h.affected for h in same[:-1])


def test_every_request_is_answered_once_and_every_hand_off_ends():
    run = cell(True, True)
    assert len(run.gateway) == 400
    assert len({e.intent.request_id for e in run.gateway}) == 400
    assert all(h.finished_at > 0 for h in run.handoffs)
    assert all((h.released_at is None) == (h.reserved_at is None) for h in run.handoffs)


def test_prefill_time_grows_with_the_tokens_computed_not_with_the_prompt():
    run = simulate(small(requests=1_500))
    ratios = {True: [], False: []}
    for handoff in run.handoffs:
        prompt = handoff.intent.prompt_tokens
        if handoff.forward is None or handoff.placeholder or prompt < 2_000:
            continue
        assert handoff.prefill_tokens + handoff.cached_tokens == prompt
        # 55 ms and 50 microseconds a token, were nothing cached.
        mostly_cached = handoff.cached_tokens > 0.8 * prompt
        if mostly_cached or not handoff.cached_tokens:
            ratios[mostly_cached].append(handoff.forward / (55_000 + 50 * prompt))
    medians = {key: sorted(values)[len(values) // 2] for key, values in ratios.items()}
    assert len(ratios[True]) > 20
    assert 0.95 < medians[False] < 1.1
    assert medians[True] < 0.7
