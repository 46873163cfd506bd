"""Which way data went: read and write faults have the two lists the other way round."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics import direction, lab
from forensics.evidence.verify import verify
from forensics.lab.writes import Overwritten, overwritten
from forensics.notices.facts import told
from forensics.notices.finished import finished
from forensics.notices.pseudonyms import pseudonym

CaseOf = Callable[..., forensics.Case]


@dataclass(frozen=True)
class Fault:
    """One run of the laboratory, read under each mechanism, with the truth of a write fault."""

    run: lab.LabRun
    folder: Path
    truth: list[Overwritten]

    def case(self, mechanism: str) -> forensics.Case:
        incident = self.folder / f"{mechanism}.toml"
        incident.write_text(f'[trigger]\nmechanism = "{mechanism}"\n')
        return forensics.read_logs(self.folder / "logs", incident=incident)


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Fault:
    config = replace(lab.small(seed=6, requests=1_500, keep_pages=True), tenants=60)
    run = lab.simulate(config)
    folder = tmp_path_factory.mktemp("fault")
    lab.write_plain(run, folder)
    return Fault(run, folder, overwritten(run))


@pytest.fixture(scope="module")
def read(fault: Fault) -> forensics.Case:
    return fault.case("read")


@pytest.fixture(scope="module")
def write(fault: Fault) -> forensics.Case:
    return fault.case("write")


def tenants(case: forensics.Case, population: str) -> set[str]:
    rows = case.tenants.polars().filter(
        (pl.col("population") == population) & (pl.col("tier") != "not_assessable")
    )
    return set(rows["tenant_id"].drop_nulls())


def pairs(case: forensics.Case) -> set[tuple[str, str]]:
    return set(case.sources.polars().select("request_id", "source_tenant_id").iter_rows())


def test_whoever_received_data_of_a_writer_is_a_recipient_of_it(
    fault: Fault, write: forensics.Case
) -> None:
    assert fault.truth
    assert {(row.request_id, row.by_tenant) for row in fault.truth} <= pairs(write)
    assert {row.tenant_id for row in fault.truth} <= tenants(write, "recipient")
    assert {row.by_tenant for row in fault.truth} <= tenants(write, "source")


def test_a_write_fault_turns_both_lists_round(
    fault: Fault, read: forensics.Case, write: forensics.Case
) -> None:
    short = [h for h in fault.run.handoffs if h.short]
    wrote, answered = ({h.intent.tenant_id for h in short if keep(h)} for keep in (bool, _sent))
    others = {h.intent.tenant_id for h in fault.run.handoffs} - wrote
    assert others
    assert tenants(read, "recipient") == answered
    assert tenants(write, "source") == wrote
    assert len(others & tenants(read, "source")) > 0.9 * len(others)
    assert len(others & tenants(write, "recipient")) > 0.9 * len(others)
    assert not others & tenants(read, "recipient")
    assert not others & tenants(write, "source")


def _sent(handoff: lab.Handoff) -> bool:
    return handoff.delivered


def test_only_what_met_the_condition_gives_under_a_write_fault() -> None:
    rows = pl.DataFrame(
        {
            "tier": ["probable", "possible", "probable", "ruled_out"],
            "reasons": [["short_transfer"], ["over_limit"], ["co_resident"], ["short_transfer"]],
        }
    )
    giving = {
        mechanism: rows.select(x=direction.gives(mechanism, direction.reasoned))["x"].to_list()
        for mechanism in ("write", "unknown")
    }
    assert giving["write"] == giving["unknown"] == [True, True, False, False]
    assert not rows.select(x=direction.gives("read", direction.reasoned))["x"].any()


def test_the_window_looks_back_for_a_read_and_forward_for_a_write(
    fault: Fault, read: forensics.Case, write: forensics.Case
) -> None:
    """Whoever finished before the rank's first write is a source of a read, no recipient."""
    writes: dict[tuple[str, int], list[int]] = {}
    for h in fault.run.handoffs:
        if h.short:
            writes.setdefault((h.decode_node, h.decode_rank), []).append(h.reserved_at or 0)
    rows = {row["request_id"]: row for row in write.requests.polars().iter_rows(named=True)}
    before, after = set(), set()
    for h in fault.run.handoffs:
        first = min(writes.get((h.decode_node, h.decode_rank), [2**62]))
        if h.delivered and not h.placeholder and h.released_at is not None:
            (before if h.released_at < first else after).add(h.intent.request_id)
    assert len(before) > 20
    assert len(after) > 200
    exposed = {request for request, _ in pairs(write)}
    assert not exposed & before
    assert len(exposed & after) > 200
    assert not {r for r in before if "co_resident" in rows[r]["reasons"]}
    assert {rows[r]["tier"] for r in exposed & after} == {"possible"}


def test_unknown_runs_both(fault: Fault, read: forensics.Case, write: forensics.Case) -> None:
    unknown = fault.case("unknown")
    assert pairs(unknown) == pairs(read) | pairs(write)
    for population in ("recipient", "source"):
        both = tenants(read, population) | tenants(write, population)
        assert tenants(unknown, population) == both
    assert "not settled" in unknown.exposure().headline.direction


def test_below_the_limit_clears_nobody_under_a_write_fault(
    read: forensics.Case, write: forensics.Case
) -> None:
    reasons = read.requests.polars().filter(pl.col("reasons").list.contains("below_limit"))
    assert reasons.height > 1_000
    assert not write.requests.polars()["reasons"].list.contains("below_limit").any()


def test_what_was_written_without_an_answer_counts_all_the_same(
    fault: Fault, write: forensics.Case
) -> None:
    silent = {h.transfer_id for h in fault.run.handoffs if h.short}
    silent -= {h.transfer_id for h in fault.run.affected}
    rows = write.requests.polars().filter(pl.col("reasons").list.contains("undelivered_write"))
    assert set(rows["transfer_id"].cast(pl.Int64)) == silent
    assert set(rows["tier"]) == {"possible"}
    sources = write.tenants.polars().filter(pl.col("population") == "source")
    assert {h.intent.tenant_id for h in fault.run.handoffs if h.transfer_id in silent} <= set(
        sources["tenant_id"]
    )


def _name(tenant: str) -> str:
    return pseudonym(b"k" * 32, "case", "tenants", tenant)


def test_report_and_notices_of_a_write_fault_say_the_same(
    write: forensics.Case, tmp_path: Path
) -> None:
    folder = write.report(tmp_path / "out").folder
    assert verify(folder).mismatches == []
    document = write.exposure()
    head = document.headline
    assert head.bound.low == 0
    assert "met the condition of the fault" in head.sentence
    assert "0 probable" not in head.sentence
    found = told(finished(folder), _name)
    recipients = found.facts.filter(pl.col("population") == "recipient")
    assert recipients["n_possible"].sum() == sum(t.n_possible for t in document.recipients)


def _lone(**trigger: object) -> list[dict[str, object]]:
    """One request that meets the condition, and others before and after it, on two ranks."""
    shared = {"hop": "joined", "reserved_pages": 9, "transferred_pages": 9}
    shared |= {"completion_tokens": 4, "http_status": 200}
    rows: list[dict[str, object]] = [
        shared
        | {"request_id": f"{when}-{rank}", "tenant_id": f"t{rank}", "decode_node": f"d1/dp{rank}"}
        | {"received_at": f"2026-09-01T{hour}:00:00Z", "released_at": f"2026-09-01T{hour}:00:30Z"}
        for when, hour in (("before", "08"), ("after", "12"))
        for rank in (0, 1)
    ]
    short = {"request_id": "wrote", "tenant_id": "w", "received_at": "2026-09-01T10:00:00Z"}
    return [*rows, shared | short | {"decode_node": "d1/dp0", "transferred_pages": 1} | trigger]


@pytest.mark.few(2)
@pytest.mark.parametrize("mechanism", ["write", "unknown"])
@pytest.mark.parametrize("named", [True, False], ids=["rank known", "rank lost"])
def test_a_write_whose_rank_no_log_names_may_have_been_on_any(
    case_of: CaseOf, mechanism: str, *, named: bool
) -> None:
    lost = {} if named else {"decode_node": None}
    case = case_of(*_lone(**lost), incident=f'[trigger]\nmechanism = "{mechanism}"\n')
    tiers = dict(case.requests.polars().select("request_id", "tier").iter_rows())
    assert tiers["after-0"] == "possible"
    assert tiers["after-1"] == ("ruled_out" if named else "possible")
    assert {tiers["before-0"], tiers["before-1"]} == {"ruled_out"}
    head = case.exposure().headline
    assert head.bound.high >= (2 if named else 3) - (mechanism == "write")
    assert any("on any decode rank" in said for said in head.incomplete) is not named


def test_the_condition_grades_the_source_of_a_write(case_of: CaseOf) -> None:
    """Where it is direct evidence the source is probable, and what it may have reached possible."""
    for mechanism, tier in (("write", "probable"), ("unknown", "possible")):
        case = case_of(*_lone(), incident=f'[trigger]\nmechanism = "{mechanism}"\n')
        (source,) = [row for row in case.exposure().sources if row.tenant_id == "w"]
        assert (source.tier, source.responses) == (tier, 1)


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ({"reserved_pages": None, "transferred_pages": 1, "prefill_node": "p1"}, True),
        ({"reserved_pages": None, "transferred_pages": None, "http_status": 400}, False),
    ],
    ids=["decode's record lost", "refused at the door"],
)
def test_a_write_without_an_answer_is_not_cleared_by_a_record_that_is_lost(
    case_of: CaseOf, values: dict[str, object], *, listed: bool
) -> None:
    lost = {"decode_node": None, "completion_tokens": 0, "http_status": 500, "prompt_tokens": 9000}
    pool = {"node": "p1", "role": "prefill", "pool_tokens": 1_000, "engine": "sglang"}
    case = case_of(pool, *_lone(**(lost | values)), incident='[trigger]\nmechanism = "write"\n')
    rows = case.requests.polars().filter(pl.col("request_id") == "wrote")
    assert (rows["tier"].to_list() == ["possible"]) is listed


@pytest.mark.parametrize("mechanism", ["write", "unknown"])
@pytest.mark.parametrize(
    ("pool", "tier", "reasons"),
    [
        (None, "not_assessable", ["beside_unjudged", "full_transfer"]),
        (1_000_000, "ruled_out", ["full_transfer"]),
    ],
    ids=["limit not known", "below it"],
)
def test_who_ran_beside_a_writer_that_cannot_be_judged_is_not_cleared(
    case_of: CaseOf, mechanism: str, pool: int | None, tier: str, reasons: list[str]
) -> None:
    """A record of the pool is all that tells whether the first one met the condition."""
    shared = {"decode_node": "d1", "prefill_node": "p1", "http_status": 200}
    first = shared | {"request_id": "w", "tenant_id": "a", "prompt_tokens": 700_000}
    first |= {"received_at": "2026-03-02T10:00:00Z", "completion_tokens": 9, "reserved_pages": 90}
    later = shared | {"request_id": "r", "tenant_id": "b", "prompt_tokens": 640}
    later |= {"received_at": "2026-03-02T10:05:00Z", "completion_tokens": 9}
    later |= {"reserved_pages": 10, "transferred_pages": 10}
    limit = (
        f'[[capacity]]\nnode = "p1"\nrole = "prefill"\nengine = "sglang"\npool_tokens = {pool}\n'
    )
    incident = f'[trigger]\nmechanism = "{mechanism}"\n' + (limit if pool else "")
    case = case_of(first, later, incident=incident)
    row = case.requests.polars().row(by_predicate=pl.col("request_id") == "r", named=True)
    assert (row["tier"], row["reasons"]) == (tier, reasons)
    sources = [(row.tenant_id, row.tier) for row in case.exposure().sources]
    assert sources == ([("a", "not_assessable")] if tier == "not_assessable" else [])
