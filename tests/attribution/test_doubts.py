"""What a replay cannot know of a rank: nobody is certain then, and everyone is possible."""

import json
from functools import partial

import numpy as np
import polars as pl
import pytest

import forensics
from forensics.attribution import usage
from forensics.attribution.events import RELEASE, RESERVE
from forensics.attribution.holds import Holds
from forensics.attribution.orders import Orders
from forensics.attribution.stay import Stay
from forensics.clock import Clocks
from tests.attribution import made
from tests.attribution.made import DAY, reasons, tiers

POOL = made.POOL | {"engine_version": "0.5.19"}


def hold(request_id: str, at: str, pages: int = 2, **more: object) -> dict[str, object]:
    """A request that held pages for a second from a minute of the day on, and wrote them all."""
    sizes = {"decode_prompt_tokens": 64 * pages, "reserved_pages": pages}
    row = made.hold(
        request_id, f"{at}:00.512345", f"{at}:01.512345", **sizes, transferred_pages=pages
    )
    return {name: value for name, value in (row | more).items() if value is not None}


WRITERS = [hold(f"w{n}", f"01:0{n}") for n in range(5)]
READER = hold("x", "02:00", 8, transferred_pages=1)


@pytest.fixture
def read(tmp_path):
    """A case of plain records."""
    return partial(made.read, tmp_path)


@pytest.mark.parametrize("reader", ["d1/dp0", "d1"], ids=["of a source", "of a reader"])
def test_a_server_without_its_rank_may_be_any_of_its_ranks(read, reader):
    pools = [POOL | {"node": f"d1/dp{n}"} for n in range(2)]
    source = "d1" if reader != "d1" else "d1/dp0"
    rows = [hold("w", "01:00", 8, decode_node=source), READER | {"decode_node": reader}]
    case = read(*pools, *rows, hold("k", "01:30", decode_node="d2/dp0"))
    assert "records_lost" in reasons(case)
    assert tiers(case) == {"of-w": "possible"}
    assert {t.tenant_id: t.requests for t in case.exposure().sources} == {"of-w": 1}


def test_what_the_incident_alone_tells_of_an_engine_is_an_assumption(tmp_path):
    told = ("engine", "engine_version")
    bare = {name: value for name, value in POOL.items() if name not in told}
    logs, incident = tmp_path / "logs.ndjson", tmp_path / "incident.toml"
    incident.write_text('[[capacity]]\nnode = "d*"\nrole = "decode"\nengine = "sglang"\n')
    found = {}
    for pool in (bare, POOL):
        logs.write_text("".join(json.dumps(row) + "\n" for row in [pool, *WRITERS, READER]))
        shown = forensics.read_logs(logs, incident=incident).exposure()
        (rank,) = shown.attribution.ranks
        said = [one.sentence for one in shown.limitations if one.code == "model_stated"]
        found[len(pool)] = (rank.result, said)
    result, (sentence,) = found[len(bare)]
    assert result == "modelled, unchecked"
    assert "for 1 modelled rank: the engine. Whom" in sentence
    assert found[len(POOL)] == ("modelled, unchecked", [])


@pytest.mark.parametrize("nodes", [("d1", "d1/dp0"), ("d1/dp0", "d1")], ids=["wrote", "ran"])
def test_who_wrote_on_a_server_may_have_written_on_any_of_its_ranks(tmp_path, nodes):
    """Under a fault that writes, where either side is known by its server alone."""
    wrote, ran = (hold(name, at, 8) for name, at in (("x", "02:00"), ("y", "02:10")))
    rows = [
        wrote | {"decode_node": nodes[0], "transferred_pages": 1},
        ran | {"decode_node": nodes[1]},
        hold("k", "01:30", decode_node="d2/dp0") | {"tenant_id": "elsewhere"},
    ]
    logs, incident = tmp_path / "logs.ndjson", tmp_path / "incident.toml"
    logs.write_text("".join(json.dumps(row) + "\n" for row in [*WRITERS[:1], *rows]))
    incident.write_text('[trigger]\nmechanism = "write"\n')
    case = forensics.read_logs(logs, incident=incident)
    found = case.sources.polars().select("request_id", "source_tenant_id").rows()
    assert ("y", "of-x") in found
    assert "k" not in dict(found)


CHECK = hold("HEALTH_CHECK_1", "00:30", 1, tenant_id=None, http_status=None, decode_prompt_tokens=1)
BARE = dict.fromkeys(("reserved_at", "released_at", "reserved_pages", "transferred_pages"))
FAILED = hold("f", "01:30", 8, http_status=503, completion_tokens=0, finish_reason="error", **BARE)
UNLOGGED = {
    "a failed request": ([POOL, FAILED], "holds_not_logged"),
    "a health check": ([POOL, {**CHECK, **BARE}], "holds_not_logged"),
    "speculation": ([POOL | {"config": {"speculative_algorithm": "EAGLE"}}], "speculation"),
}


RADIX = "disaggregation_decode_enable_radix_cache"
SPELLED = {
    "json": ({RADIX: True}, "prefix_cache"),
    "lower": ({RADIX: "true"}, "prefix_cache"),
    "argument": ("--disaggregation-decode-enable-radix-cache", "prefix_cache"),
    "shell": (f"{RADIX}=1", "prefix_cache"),
    "hyphens": ({"speculative-algorithm": "EAGLE"}, "speculation"),
    "quoted": ("speculative_algorithm='EAGLE3'", "speculation"),
    "separate": ("--speculative-algorithm NEXTN", "speculation"),
    "off": ({RADIX: "false", "speculative_algorithm": "none"}, None),
    "not disabled": ({"disable_radix_cache": False}, None),
    "nested": ({"server_args": {RADIX: True}}, "prefix_cache"),
    "of each rank": ({"speculative_algorithm": ["EAGLE", "EAGLE"]}, "speculation"),
    "unreadable": ({"speculative_algorithm": {}}, "settings_unsure"),
    "no settings": (["as in production"], "settings_unsure"),
}


@pytest.mark.parametrize(("config", "reason"), SPELLED.values(), ids=SPELLED)
def test_a_setting_counts_under_any_spelling(read, config, reason):
    case = read(POOL | {"config": config}, *WRITERS, READER)
    assert reasons(case) == ({reason} if reason else set())


@pytest.mark.parametrize(
    ("config", "known"),
    [
        ({RADIX: "true"}, True),
        ("--disable-radix-cache", False),
        ({RADIX: False}, False),
        ({"disable_radix_cache": False}, None),
    ],
)
def test_whether_decode_keeps_prefixes_is_said_where_a_setting_says_it(read, config, known):
    case = read(POOL | {"config": config}, *WRITERS, READER)
    assert case.analysis.attribution.spread["known"].to_list()[1] is known


@pytest.mark.parametrize(("lines", "reason"), UNLOGGED.values(), ids=UNLOGGED)
def test_pages_that_no_log_counts_keep_a_rank_from_being_replayed(read, lines, reason):
    lines = [{name: value for name, value in line.items() if value is not None} for line in lines]
    case = read(*lines, *WRITERS, READER)
    assert reasons(case) == {reason}
    assert set(tiers(case).values()) == {"possible"}


def test_a_health_check_that_was_logged_is_none_of_these(read):
    assert reasons(read(POOL, CHECK, *WRITERS, READER)) == set()


def test_requests_that_were_put_back_keep_a_rank_from_being_replayed():
    """Of the lines of a minute the highest figure counts, but the one put back is in another."""
    line = {"hop": "decode", "node": "d1/dp0", "batches": None, "naive": False}
    lines = [line | {"at": n, "used_tokens": 64 - n, "retracted": n} for n in range(2)]
    told = usage.figures([pl.DataFrame(lines)], Clocks({}))
    found = []
    for node in ("d1/dp0", "d1/dp1"):
        stay = Stay(node, 0, pl.DataFrame({"tier": ["confirmed"], "last": [5]}))
        usage.check(stay, told)
        found.append(stay.reasons)
    assert found == [{"retracted"}, set()]


PREFILL = POOL | {"node": "p1", "role": "prefill", "pool_tokens": 300, "context_tokens": 100_000}
PREFILL |= {"effective_at": f"{DAY}00:00:10Z"}
OVER = {"transferred_pages": None, "prefill_node": "p1", "prompt_tokens": 512}
PARTLY = {
    "failed": hold("f", "01:30", 40, transferred_pages=None, completion_tokens=0, http_status=503),
    "possible": hold("f", "01:30", 40, **OVER),
    "not assessable": hold("f", "01:30", 40, transferred_pages=None),
}


@pytest.mark.parametrize("before", PARTLY.values(), ids=PARTLY)
def test_who_may_have_written_only_some_pages_makes_nobody_certain(read, before):
    """One before held the whole pool, and how much of it was written is not known."""
    reader = hold("x", "02:00", 40, transferred_pages=1)
    case = read(POOL | {"pool_tokens": 2_560}, PREFILL, *WRITERS, before, reader)
    assert reasons(case) == set()
    rows = case.sources.polars().filter(request_id="x")
    likely = dict(rows.select("source_request_id", "probability").drop_nulls().iter_rows())
    assert likely
    assert max(likely.values()) < 0.9
    assert "probable" not in set(rows["tier"])


def test_a_tie_keeps_the_draws_from_ending_early():
    """Of one second: whether the last came before the other gave back decides whose page it has."""
    stamps = {"reserved": [3, 5, 7], "released": [10, 7, 9]}
    fixed = {"row": [0, 1, 2], "pages": [4, 4, 2], "prompt": [4, 4, 2], "tokens": [1, 1, 1]}
    columns = {**{n: [s * 1_000_000 for s in v] for n, v in stamps.items()}, **fixed}
    columns |= {"written": [4, 4, 2], "prefill": [0, 0, 0]}
    arrays = {name: np.array(value) for name, value in columns.items()}
    assert Orders(Holds(page_tokens=1, **arrays), 10).open
    apart = arrays | {"released": arrays["released"] + np.array([0, 1_500_000, 0])}
    assert not Orders(Holds(page_tokens=1, **apart), 10).open


def test_a_hold_in_whole_seconds_is_coarse_among_finer_ones():
    """The second gave back at some time of its second: before or after the third was taken."""
    stamps = {"reserved": [3.001, 5, 7.123], "released": [10.004, 7, 9.002]}
    fixed = {"row": [0, 1, 2], "pages": [4, 4, 2], "prompt": [4, 4, 2], "tokens": [1, 1, 1]}
    columns = {**{n: [s * 1e6 for s in v] for n, v in stamps.items()}, **fixed}
    columns |= {"written": [4, 4, 2], "prefill": [0, 0, 0]}
    arrays = {name: np.array(value).astype(np.int64) for name, value in columns.items()}
    orders = Orders(Holds(page_tokens=1, **arrays), 10)
    assert orders.open
    drawn = [orders.draw(number) for number in range(20)]
    before = [[*zip(o.kind, o.hold, strict=True)].index((RELEASE, 1)) for o in drawn if o]
    after = [[*zip(o.kind, o.hold, strict=True)].index((RESERVE, 2)) for o in drawn if o]
    assert 0 < sum(one < other for one, other in zip(before, after, strict=True)) < 20


def test_a_stamp_in_whole_seconds_is_coarse_though_the_other_of_its_hold_is_not():
    """Of a thousand in milliseconds chance makes one whole: twenty are of another log."""
    taken = np.arange(1_000) * 2_001_000 + 7_000
    taken[::50] = taken[::50] // 1_000_000 * 1_000_000
    columns = dict.fromkeys(("row", "pages", "prompt", "tokens", "written", "prefill"), taken)
    holds = Holds(page_tokens=1, reserved=taken, released=taken + 1_234_000, **columns)
    assert (holds.coarse[0][::50] == 1_000_000).all()
    assert (np.delete(holds.coarse[0], np.s_[::50]) == 1_000).mean() > 0.99
    assert (holds.coarse[1] == 1_000).mean() > 0.99


def test_a_read_in_whole_seconds_may_be_after_a_hold_of_its_second(read):
    """Whether others took pages before the read or after is open, so they are in the order."""
    ties = [hold(f"k{n}", "02:00", 2) for n in range(3)]
    rough = {n: f"{DAY}02:00:0{at}Z" for at, n in enumerate(("reserved_at", "released_at"))}
    case = read(POOL, *WRITERS, *ties, hold("x", "02:00", 3, transferred_pages=1, **rough))
    (stay,) = case.analysis.attribution.stays
    assert len(stay.holds) == len(WRITERS) + len(ties) + 1


def test_a_read_in_milliseconds_may_be_after_what_ran_within_its_own(read):
    at = {"received_at": f"{DAY}02:00:00.512900Z", "reserved_at": f"{DAY}02:00:00.512900Z"}
    rough = dict.fromkeys(at, f"{DAY}02:00:00.512Z")
    case = read(POOL, *WRITERS, hold("k", "02:00", **at), READER | rough)
    assert "of-k" in tiers(case)


def test_a_hold_before_the_start_may_be_of_the_engine_before(read):
    old = hold("old", "01:29", 8)
    old |= {name: f"{DAY}01:29:5{n}.{n}Z" for n, name in ((8, "received_at"), (9, "released_at"))}
    old["reserved_at"] = old["received_at"]
    started = POOL | {"effective_at": f"{DAY}01:30:00Z"}
    older = hold("else", "01:00", decode_node="d2")  # the logs reach back beyond the start
    case = read(started, older, old, hold("n", "01:40"), READER)
    assert reasons(case) == {"start_unsure"}
    assert tiers(case) == {"of-old": "possible", "of-n": "possible"}


def sources(case: forensics.Case, reader: str) -> dict[str, int]:
    rows = case.sources.polars().filter(request_id=reader)
    return dict(rows.select("source_tenant_id", "pages").drop_nulls().iter_rows())


def test_vllm_gives_the_last_page_of_a_request_back_first(read):
    """The third has pages of both: the one that it wrote is taken after those that it did not."""
    own = {"engine": "vllm", "pool_tokens": 64, "page_tokens": 16, "allocator": "fifo"}

    def held(name, at, **more):
        return hold(name, at, 4, decode_prompt_tokens=64, **more)

    last = hold("z", "03:00", 2, decode_prompt_tokens=32, transferred_pages=0)
    case = read(POOL | own, held("w", "01:00"), held("f", "01:10", transferred_pages=1), last)
    assert reasons(case) == set()
    assert sources(case, "z") == {"of-w": 2}


def test_pages_of_one_token_are_sorted_in_when_too_few_are_left(read):
    """Six are left for six: taken as they are, and those given back are sorted in after."""
    own = {"pool_tokens": 10, "page_tokens": 1}
    rows = [
        hold("w0", "01:00", 4, decode_prompt_tokens=4),
        hold("w1", "01:10", 6, decode_prompt_tokens=6),
        hold("x", "02:00", 4, decode_prompt_tokens=4, transferred_pages=1),
    ]
    assert sources(read(POOL | own, *rows), "x") == {"of-w0": 3}


@pytest.mark.parametrize(
    ("ended", "held"), [("abort", set()), ("length", {"holds_not_logged"})], ids=["no", "yes"]
)
def test_what_a_rank_refused_but_answered_held_pages(read, ended, held):
    odd = {"request_id": "o", "tenant_id": "of-o", "decode_node": "d1", "http_status": 400}
    odd |= {"received_at": f"{DAY}01:20:00.5Z", "finish_reason": ended}
    older = hold("w", "01:00", 4)
    assert reasons(read(POOL, older, hold("v", "01:10", 4), odd, READER)) == held


@pytest.mark.parametrize(
    "told",
    [
        "--tp-size 8 --disaggregation-decode-enable-radix-cache",
        "tp_size=8, disaggregation_decode_enable_radix_cache=True",
        '{"tp_size": 8, "disaggregation_decode_enable_radix_cache": true}',
        "tp_size: 8\ndisaggregation_decode_enable_radix_cache: yes",
    ],
    ids=["arguments", "a list", "JSON", "lines"],
)
def test_settings_are_read_however_one_text_joins_them(read, told):
    case = read(POOL | {"config": told}, hold("w", "01:00", 4), hold("v", "01:10", 4), READER)
    assert reasons(case) == {"prefix_cache"}
    assert "tp_size=8" in case.capacity.polars()["config"][0]
