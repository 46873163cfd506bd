"""Sets that were ingested apart: the pool of one machine clears no request of another."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import forensics
from forensics.cli import run
from forensics.sources.files import expand

START = (
    "[2026-08-28 02:50:00] server_args={{'disaggregation_mode': '{role}', 'page_size': 64, "
    "'context_length': 1048576}}\n"
    "[2026-08-28 02:50:01 DP0 TP0] max_total_num_tokens={pool}, context_len=1048576\n"
)
STATS = (
    "[2026-08-28 03:14:01 DP0 TP0] ReqTimeStats(rid={side}, bootstrap_room=5001, "
    "input_len=700000, cached_input_len=0, output_len={out}, attempts=0, type={side}): "
    "bootstrap_duration=14.00ms, queue_duration=15.56ms, forward_duration=1000.00ms, "
    "entry_time=1787886840.000\n"
)
SMALL = START.format(role="prefill", pool=681_280)
LARGE = START.format(role="prefill", pool=2_000_000)
DECODE = START.format(role="decode", pool=2_000_000) + STATS.format(side="decode", out=40)


def sets(folder: Path, logs: dict[str, str], kit: SimpleNamespace) -> list[Path]:
    """Ingest each log into a set of its own; the name is that of set and log."""
    found = []
    for name, text in logs.items():
        own, stem = name.split("/", 1)
        path = folder / "logs" / own / stem
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        kit.ingest(path, out=folder / own)
        found.append(folder / own)
    return found


def nodes(*paths: Path) -> list[str]:
    return [source.node for source in expand(*paths)]


def test_the_pool_of_one_machine_clears_no_request_of_another(tmp_path, kit):
    logs = {"a/prefill.log": SMALL, "b/prefill.log": LARGE, "c/decode.log": DECODE}
    made = sets(tmp_path, logs, kit)
    case = forensics.read_logs(*made)
    (row,) = case.affected.polars().to_dicts()
    assert (row["tier"], row["reasons"]) == ("possible", ["limit_uncertain"])
    assert sorted(case.capacity.polars()["node"]) == ["a-prefill", "b-prefill", "decode"]
    raw = kit.report(tmp_path / "logs", out=tmp_path / "raw")
    kit.same(kit.report(*made, out=tmp_path / "sets"), raw)
    kit.ingest(*made, out=tmp_path / "all")
    kit.same(kit.report(tmp_path / "all", out=tmp_path / "again"), raw)
    assert run(["verify", str(tmp_path / "sets")]) == 0


def test_sets_of_one_path_on_two_machines_are_told_by_their_own_folders(tmp_path, kit, monkeypatch):
    for own, text in (("one", SMALL), ("two", LARGE)):
        (tmp_path / own / "logs").mkdir(parents=True)
        (tmp_path / own / "logs" / "prefill.log").write_text(text)
        monkeypatch.chdir(tmp_path / own)
        kit.ingest("logs", out=Path("set"))
    monkeypatch.chdir(tmp_path)
    found = ["one-set-prefill", "two-set-prefill"]
    assert nodes(Path("one/set"), Path("two/set")) == found
    assert sorted(nodes(Path("two/set"), Path("one/set"))) == found


@pytest.mark.parametrize(
    "names", [("set-2026-08-27", "set-2026-08-28"), ("2026-08-27/set", "2026-08-28/set")]
)
def test_sets_that_differ_by_a_date_alone_are_of_one_machine(tmp_path, kit, names):
    path = tmp_path / "prefill.log"
    for name, text in zip(names, (SMALL, LARGE), strict=True):
        path.write_text(text)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        kit.ingest(path, out=tmp_path / name)
    assert nodes(*(tmp_path / name for name in names)) == ["prefill", "prefill"]


def test_sets_that_hold_a_log_in_common_are_of_one_machine(tmp_path, kit):
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, text in enumerate((SMALL, LARGE, DECODE)):
        (logs / f"prefill.log.{number}").write_text(text)
    first, second, third = sorted(logs.iterdir())
    kit.ingest(first, second, out=tmp_path / "a")
    kit.ingest(second, third, out=tmp_path / "b")
    assert set(nodes(tmp_path / "a", tmp_path / "b")) == {"prefill"}


def test_a_node_that_was_stated_is_what_it_was_stated_to_be(tmp_path, kit):
    incident = tmp_path / "i.toml"
    incident.write_text('[logs]\nnode_from = "(?P<node>[^/]+)[.]log"\n')
    for own, text in (("a", SMALL), ("b", LARGE)):
        (tmp_path / f"logs-{own}").mkdir()
        (tmp_path / f"logs-{own}" / "p.log").write_text(text)
        kit.ingest(tmp_path / f"logs-{own}", out=tmp_path / own, options=("-i", str(incident)))
    assert nodes(tmp_path / "a", tmp_path / "b") == ["p", "p"]


@pytest.mark.parametrize("turned", [False, True])
def test_at_once_or_as_sets_the_order_decides_no_name(tmp_path, kit, turned):
    logs = {"a/prefill.log": SMALL, "b/prefill.log": LARGE}
    made = sets(tmp_path, logs, kit)
    files = [tmp_path / "logs" / name for name in logs]
    for given in (made, files):
        kit.ingest(*(given[::-1] if turned else given), out=tmp_path / f"of {given[0].name}")
    names = ["a-prefill", "b-prefill"]
    assert sorted(nodes(tmp_path / "of a")) == names
    assert sorted(nodes(tmp_path / "of prefill.log")) == names


@pytest.mark.parametrize("turned", [False, True])
def test_in_steps_each_is_told_by_its_folder_whichever_came_first(tmp_path, kit, turned):
    first, second = ("b", "a") if turned else ("a", "b")
    for own, text in ((first, SMALL), (second, LARGE)):
        log = tmp_path / own / "prefill.log"
        log.parent.mkdir()
        log.write_text(text)
        kit.ingest(log, out=tmp_path / "set")
    assert sorted(nodes(tmp_path / "set")) == ["a-prefill", "b-prefill"]
