"""Whether the model fits the incident: the engine's own figures, canaries, the engine's kind."""

import json

import polars as pl
import pytest

import forensics
from forensics import lab
from forensics.attribution import allocators
from forensics.lab.clock import micros, rfc3339
from forensics.lab.plainrows import decode_row


@pytest.fixture(scope="module")
def figures(usual, tools):
    """Start-up and batch lines of the decode nodes, which name no request."""
    starts = tools.node_lines(usual, "server_args=")
    batches = tools.node_lines(usual, "Decode batch")
    return {name: starts[name] + batches[name] for name in starts}


@pytest.fixture
def case_of(usual, figures, tools, tmp_path):
    """A run with the engine's own figures, and its records changed."""

    def read(change=None, extra=b""):
        folder = tools.write(usual, tmp_path / "logs", change)
        for name, data in figures.items():
            (folder / "decode" / name).write_bytes(data)
        (folder / "canary.ndjson").write_bytes(extra)
        return forensics.read_logs(folder)

    return read


CONFIRMED = {"decode-02/dp0", "decode-02/dp1"}
"""Ranks on which figures are of the time of enough requests; the others restarted between."""


def reasons(case) -> set[str]:
    return {code for stay in case.analysis.attribution.stays for code in stay.reasons}


def probable(case) -> int:
    return case.sources.polars().filter(pl.col("tier") == "probable").height


def only_decode(change):
    """Change the requests of decode nodes, and leave capacity and the other hops as they are."""

    def changed(name, rows):
        if not name.startswith("decode/"):
            return rows
        return [row for row in map(change, rows, range(len(rows))) if row is not None]

    return changed


def test_complete_records_agree_with_the_engine(case_of):
    case = case_of()
    ranks = case.exposure().attribution.ranks
    assert sum(rank.hours for rank in ranks) > 10
    assert all(rank.hours == rank.hours_fitting for rank in ranks)
    assert all((rank.result == "modelled") is not bool(rank.reasons) for rank in ranks)
    assert {rank.node for rank in ranks if rank.result == "modelled"} == CONFIRMED
    assert {rank.result for rank in ranks} == {"modelled", "modelled, unchecked"}
    assert probable(case) > 100
    stays = {stay.node: stay for stay in case.analysis.attribution.stays}
    assert all(len(stays[node].holds) > 150 for node in CONFIRMED)
    assert (
        "; for 4 of 6 runs of a rank they do not confirm it" in case.exposure().attribution.sentence
    )


def test_only_whom_a_confirmed_replay_names_is_probable(case_of):
    case = case_of()
    confirmed = pl.col("decode_node").is_in(CONFIRMED)
    where = case.requests.polars().select("request_id", confirmed=confirmed)
    rows = case.sources.polars().filter(pl.col("probability") >= 0.9).join(where, on="request_id")
    assert set(rows.filter("confirmed")["tier"]) == {"probable"}
    assert set(rows.filter(~pl.col("confirmed"))["tier"]) == {"possible"}


def _later(row, _):
    """Every time of decode an hour and a half late: all orders are as they were."""
    for name in ("received_at", "reserved_at", "released_at"):
        if name in row:
            hour, rest = int(row[name][11:13]), row[name][13:]
            minute = int(rest[1:3]) + 30
            row[name] = f"{row[name][:11]}{hour + 1 + minute // 60:02}:{minute % 60:02}{rest[3:]}"
    return row


def _smaller(row, number):
    """Every third reservation at a tenth of what it was."""
    if "reserved_pages" in row and number % 3 == 0:
        row["reserved_pages"] = max(1, row["reserved_pages"] // 10)
    return row


def _longer(row, number):
    """Every other release most of an hour late."""
    if "released_at" in row and number % 2 == 0:
        row["released_at"] = f"{row['released_at'][:14]}59{row['released_at'][16:]}"
    return row


@pytest.mark.few(2)
@pytest.mark.parametrize("change", [_later, _smaller, _longer])
def test_a_perturbed_log_is_caught_and_nothing_is_probable(change, case_of):
    case = case_of(only_decode(change))
    ranks = case.exposure().attribution.ranks
    assert all(rank.result == "co-residency only" for rank in ranks if rank.hours)
    assert reasons(case) & {"usage_differs", "more_than_the_pool", "pages_differ"}
    assert probable(case) == 0
    assert case.sources.polars().height


def _moved(names, seconds):
    """Move some times of one reservation in fifty."""

    def change(row, number):
        for name in names if "reserved_at" in row and number % 50 == 7 else ():
            row[name] = rfc3339(micros(str(row[name])) + seconds * 1_000_000)
        return row

    return change


def _more(row, number):
    """One reservation in fifty a fifth larger."""
    if "reserved_pages" in row and number % 50 == 7:
        row["reserved_pages"] += 1 + row["reserved_pages"] // 5
    return row


_TIMES = ("received_at", "reserved_at", "released_at")


def test_ranks_of_a_server_are_doubted_together(case_of):
    """Where one rank does not fit, its records may be another's."""

    def change(row, number):
        own = row.get("decode_node") == "decode-01/dp0"
        return _moved(_TIMES, 60)(row, number) if own else row

    stays = case_of(only_decode(change)).analysis.attribution.stays
    assert {stay.node for stay in stays if stay.reasons == {"sibling_differs"}} == {"decode-01/dp1"}
    assert {stay.node for stay in stays if stay.replays} == {"decode-02/dp0", "decode-02/dp1"}


def test_whoever_ran_on_a_doubted_server_may_have_run_on_any_of_its_ranks(case_of, usual, tools):
    """One tenant's records all name the rank beside the one that its data was read on."""
    ran = {one.intent.request_id: one for one in usual.handoffs}
    read, wrote = min(tools.true_pages(usual))
    source, place = ran[wrote].intent.tenant_id, ran[read].decode_node

    def change(row, number):
        own = ran.get(row.get("request_id"))
        if own and own.decode_node == place and own.intent.tenant_id == source:
            row["decode_node"] = f"{place}/dp{1 - ran[read].decode_rank}"
        return row

    case = case_of(only_decode(change))
    assert "usage_differs" in reasons(case)
    pairs = case.sources.polars().filter(pl.col("origin") == "decode")
    pair = (pl.col("request_id") == read) & (pl.col("source_tenant_id") == source)
    assert pairs.filter(pair)["tier"].to_list() == ["possible"]
    assert source in {row.tenant_id for row in case.exposure().sources}


@pytest.mark.long
@pytest.mark.parametrize(
    "change",
    [
        *(_moved(_TIMES, seconds) for seconds in (-5, 5, 60, 600)),
        *(_moved(("released_at",), seconds) for seconds in (3, 30, 600)),
        _more,
    ],
)
def test_what_little_changes_leave_probable_is_true(change, case_of, usual, tools):
    """Ranks where nothing was noticed are replayed: what they name must be right all the same."""
    case = case_of(only_decode(change))
    assert reasons(case) & {"usage_differs", "times_differ", "pages_differ"}
    rows = tools.named(case).filter(pl.col("tier") == "probable")
    pairs = set(rows.select("request_id", "source_request_id").iter_rows())
    assert len(pairs - tools.true_pages(usual).keys()) <= 0.01 * len(pairs)


def test_lost_records_are_caught_and_nothing_is_probable(case_of):
    case = case_of(
        only_decode(lambda row, n: None if "reserved_at" in row and n % 10 == 0 else row)
    )
    assert {"usage_differs", "records_lost"} <= reasons(case)
    assert probable(case) == 0


@pytest.mark.parametrize(("off", "starts"), [(-6_400, 1), (-64, 2)], ids=["denied", "as well"])
def test_a_record_of_a_pool_that_the_figures_deny_is_no_start(off, starts, case_of, usual, tools):
    """Shares to two decimals tell a pool from one a tenth smaller, and not from one a page off."""

    def change(name, rows):
        pools = [row for row in rows if row.get("node") == "decode-02/dp0" and "pool_tokens" in row]
        at = rfc3339(usual.config.start + 3 * 3_600_000_000)
        said = [
            row | {"effective_at": at, "pool_tokens": row["pool_tokens"] + off} for row in pools
        ]
        return [*rows, *said]

    case = case_of(change)
    stays = [one for one in case.analysis.attribution.stays if one.node == "decode-02/dp0"]
    assert len({stay.since for stay in stays}) == starts
    pairs = set(case.sources.polars().select("request_id", "source_tenant_id").iter_rows())
    assert starts > 1 or not tools.true_tenants(usual) - pairs


def test_a_stated_allocator_that_the_engine_does_not_have_is_caught(idle, tools, tmp_path):
    def change(_, rows):
        return [row | {"allocator": "lifo"} if "allocator" in row else row for row in rows]

    case = forensics.read_logs(tools.write(idle, tmp_path, change))
    assert reasons(case) == {"allocator_conflict"}
    assert probable(case) == 0


@pytest.mark.parametrize("unknown", ["engine", "disaggregated"])
def test_a_stated_allocator_that_nothing_speaks_for_is_not_replayed(unknown):
    """Neither figures nor times tell one order of reuse from another."""
    facts = {"engine": "sglang", "engine_version": "0.5.19", "disaggregated": True}
    facts |= {"page_tokens": 64, unknown: None, "allocator": "lifo"}
    assert allocators.against(facts) == "allocator_unchecked"
    told = {"engine": "sglang", "disaggregated": False, "engine_version": None}
    assert allocators.against(facts | told) is None


def test_an_unknown_allocator_leaves_co_residency(idle, tools, tmp_path):
    def change(_, rows):
        for row in rows:
            if "allocator" in row:
                row |= {"allocator": "unknown", "engine": "other"}
        return rows

    case = forensics.read_logs(tools.write(idle, tmp_path, change))
    assert "allocator_unknown" in reasons(case)
    assert probable(case) == 0
    assert {rank.allocator for rank in case.exposure().attribution.ranks} == {"unknown"}


def canary(planted: lab.Handoff, seen: lab.Handoff) -> bytes:
    row = {
        "marker": "CANARY-0001",
        "planted_request_id": planted.intent.request_id,
        "planted_tenant": planted.intent.tenant_id,
        "seen_request_id": seen.intent.request_id,
        "seen_at": decode_row(seen)["released_at"],
    }
    return json.dumps(row).encode() + b"\n"


def test_a_marker_of_a_request_that_the_replay_does_not_name_is_caught(usual, case_of):
    """As it would be if the engine reused pages in another order than it is held to."""
    seen = next(h for h in usual.affected if len(h.stale) > 3)
    read = {stale.request_id for stale in seen.stale}
    planted = next(
        h
        for h in usual.handoffs
        if (h.decode_node, h.decode_rank) == (seen.decode_node, seen.decode_rank)
        and (h.prefill_node, h.prefill_rank) != (seen.prefill_node, seen.prefill_rank)
        and h.delivered
        and h.released_at < seen.reserved_at
        and h.intent.request_id not in read
    )
    case = case_of(extra=canary(planted, seen))
    own = f"{seen.decode_node}/dp{seen.decode_rank}"
    caught = [s for s in case.analysis.attribution.stays if "marker_differs" in s.reasons]
    assert [stay.node for stay in caught] == [own]
    assert caught[0].replays == 0
    rows = case.sources.polars().filter(pl.col("request_id") == seen.intent.request_id)
    assert rows["probability"].null_count() == rows.height


def test_a_marker_of_a_request_that_the_replay_names_changes_nothing(usual, case_of):
    seen = next(h for h in usual.affected if len(h.stale) > 3)
    named = {stale.request_id for stale in seen.stale}
    planted = next(h for h in usual.handoffs if h.intent.request_id in named)
    assert reasons(case_of(extra=canary(planted, seen))) == set()
