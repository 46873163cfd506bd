"""The accounting of pages, recomputed here from what the run says it held."""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise

from forensics.lab import Handoff, LabRun, simulate, small

PROBE = "probe"


@cache
def run_with_pages() -> LabRun:
    # Regular probes take pages too and do not say which: leave them out here.
    return simulate(replace(small(seed=4, requests=900, keep_pages=True), probe_every=10**15))


def pool_of(run: LabRun, handoff: Handoff) -> tuple[str, int, int, int]:
    node = next(n for n in run.nodes if n.name == handoff.decode_node)
    epoch = node.at(handoff.reserved_at)
    return node.name, handoff.decode_rank, epoch.effective_at, epoch.pool_tokens // 64


def by_pool(run: LabRun) -> dict[tuple[str, int, int, int], list[Handoff]]:
    pools = defaultdict(list)
    for handoff in run.handoffs:
        if handoff.reserved_at is not None:
            pools[pool_of(run, handoff)].append(handoff)
    return pools


def test_no_page_is_held_by_two_at_once():
    for handoffs in by_pool(run_with_pages()).values():
        spans = sorted((p, since, h.released_at) for h in handoffs for p, since in h.held)
        for (page, _, until), (other, since, _) in pairwise(spans):
            assert page != other or until <= since


def test_pages_held_never_exceed_the_pool_and_come_from_it():
    fullest = 0.0
    for (_, _, _, pages), handoffs in by_pool(run_with_pages()).items():
        changes = Counter()
        for handoff in handoffs:
            for page, since in handoff.held:
                assert 1 <= page <= pages
                changes[since] += 1
                changes[handoff.released_at] -= 1
        held = 0
        for instant in sorted(changes):
            held += changes[instant]
            assert 0 <= held <= pages
            fullest = max(fullest, held / pages)
        assert held == 0
    assert fullest > 0.5, "nothing was ever near full: the check has seen nothing"


def test_a_request_holds_the_pages_of_its_prompt_and_of_what_it_generated():
    grown = 0
    for handoff in run_with_pages().handoffs:
        if handoff.reserved_at is None:
            continue
        prompt = handoff.intent.prompt_tokens
        rows = prompt + max(0, handoff.completion_tokens - 1)
        assert handoff.reserved_pages == -(-prompt // 64)
        assert len(handoff.held) == -(-rows // 64)
        grown += len(handoff.held) - handoff.reserved_pages
    assert grown > 100


def writes(handoff: Handoff):
    pages = [page for page, _ in handoff.held]
    for page in pages[: handoff.transferred_pages]:
        yield handoff.transferred_at, 0, page
    starts = handoff.first_token_at is not None
    if starts and handoff.intent.completion_tokens > 1 and handoff.intent.prompt_tokens % 64:
        yield handoff.transferred_at, 2, pages[handoff.reserved_pages - 1]
    for page, since in handoff.held[handoff.reserved_pages :]:
        yield since, 0, page


def test_stale_pages_name_their_last_writers():
    checked = 0
    for handoffs in by_pool(run_with_pages()).values():
        events = [(*w, h) for h in handoffs for w in writes(h)]
        events += [(h.transferred_at, 1, 0, h) for h in handoffs if h.affected]
        writer = {1: PROBE}  # the warm-up's page
        for _, kind, page, handoff in sorted(events, key=lambda e: e[:3]):
            if kind != 1:
                writer[page] = handoff.intent.request_id
                continue
            stale = handoff.held[handoff.transferred_pages : handoff.reserved_pages]
            expected = Counter(writer.get(page) for page, _ in stale)
            del expected[PROBE]
            assert handoff.unwritten_pages == expected.pop(None, 0)
            found = Counter()
            for owner in handoff.stale:
                found[owner.request_id] += owner.pages
            assert found == expected
            checked += 1
    assert checked == 20


def test_before_the_first_exhaustion_stale_pages_belong_to_nobody():
    early = late = 0
    for (_, _, _, pages), handoffs in by_pool(run_with_pages()).items():
        for handoff in (h for h in handoffs if h.affected):
            taken = sum(since <= handoff.transferred_at for h in handoffs for _, since in h.held)
            missing = handoff.reserved_pages - handoff.transferred_pages
            if taken < pages - 4:
                early += 1
                assert handoff.stale == ()
                assert handoff.unwritten_pages == missing
            elif handoff.stale:
                late += 1
                assert handoff.unwritten_pages < missing
    assert early
    assert late


def test_a_restart_leaves_nothing_behind():
    run = run_with_pages()
    starts = defaultdict(dict)
    for handoff in run.handoffs:
        if handoff.reserved_at is not None:
            starts[handoff.intent.request_id][handoff.number] = pool_of(run, handoff)
    restarted = [n for n in run.nodes if len(n.epochs) > 1]
    assert restarted
    for handoff in run.affected:
        for owner in handoff.stale:
            assert pool_of(run, handoff) in starts[owner.request_id].values()
