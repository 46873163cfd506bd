"""Where a line, a generation or a run ends: nothing of what comes later is lost."""

import gzip
import json
from pathlib import Path

import pytest

from forensics.incident import Incident
from forensics.live import gauges
from forensics.live.watch import loop
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

SETTLE = 10.0
SHORT = {"hop": "decode", "completion_tokens": 20, "http_status": 200, "reserved_pages": 8,
         "transferred_pages": 1, "received_at": "2026-09-01T10:00:01Z"}  # fmt: skip


def record(name: str, **more: str) -> str:
    return json.dumps(SHORT | {"request_id": name} | more) + "\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def start(folder: Path, *, state: bool = True, settle: float = SETTLE) -> Watch:
    (scratch := folder / f"scratch-{len(list(folder.iterdir()))}").mkdir()
    kept = folder / "state" if state else None
    told = Output(folder / "found", ())
    return Watch([str(folder / "a.log")], Incident(), scratch, told, kept, Asked(settle=settle))


def found(folder: Path) -> list[str]:
    rows = [json.loads(line) for line in (folder / "found").read_text().splitlines()]
    return [row["request_id"] for row in rows if row["event"] == "finding"]


def once(folder: Path, *, state: bool = True) -> None:
    watch = start(folder, state=state)
    watch.step(last=True)
    watch.close()


def test_half_a_line_at_the_end_of_a_run_is_read_whole_by_the_next(tmp_path: Path):
    log, line = tmp_path / "a.log", record("r2")
    log.write_text(record("r1") + line[:50])
    once(tmp_path)
    assert found(tmp_path) == ["r1"]
    with log.open("a") as more:
        more.write(line[50:])
    once(tmp_path)
    assert found(tmp_path) == ["r1", "r2"]


def test_a_line_without_an_end_counts_where_no_run_follows(tmp_path: Path):
    (tmp_path / "a.log").write_text(record("r1") + record("r2").rstrip())
    once(tmp_path, state=False)
    assert sorted(found(tmp_path)) == ["r1", "r2"]


def test_a_line_as_long_as_a_report_takes_is_read(tmp_path: Path):
    long = record("r2", note="x" * (9 << 20))
    (tmp_path / "a.log").write_text(record("r1") + long + record("r3"))
    once(tmp_path)
    assert sorted(found(tmp_path)) == ["r1", "r2", "r3"]


def test_who_wrote_to_a_log_that_was_quiet_may_go_on_after_it_was_moved(
    tmp_path: Path, clock: list[float]
):
    log, line = tmp_path / "a.log", record("r2")
    log.write_text(record("r1") + line[:50])
    watch = start(tmp_path)
    watch.step()
    clock[0] += 10 * SETTLE
    log.rename(tmp_path / "a.log.1")
    log.write_text(record("r3"))
    watch.step()
    with (tmp_path / "a.log.1").open("a") as more:
        more.write(line[50:])
    watch.step()
    watch.step(last=True)
    watch.close()
    assert sorted(found(tmp_path)) == ["r1", "r2", "r3"]


def events(folder: Path) -> list[tuple[str, bool | None]]:
    rows = [json.loads(line) for line in (folder / "found").read_text().splitlines()]
    return [(r["event"], r.get("certain")) for r in rows if r["event"] != "finding"]


@pytest.mark.parametrize("names", [("0007", "0008"), ("0830", "0831"), ("5", "6")])
def test_a_name_that_counts_days_or_upwards_tells_of_no_loss(
    tmp_path: Path, names: tuple[str, str], clock: list[float]
):
    log = tmp_path / "a.log"
    (tmp_path / "a.log.1").write_text(record("r0"))
    log.write_text(record("r1"))
    watch = start(tmp_path)
    watch.step()
    for name in names:
        log.rename(tmp_path / f"a.log.{name}")
        log.write_text(record(f"r-{name}"))
    for _ in range(4):
        watch.step()
        clock[0] += SETTLE
    watch.step(last=True)
    watch.close()
    assert sorted(found(tmp_path)) == sorted(["r1", *(f"r-{name}" for name in names)])
    assert events(tmp_path) == [("rotated", None)]


def test_a_name_that_counts_rotations_tells_of_a_loss(tmp_path: Path):
    log = tmp_path / "a.log"
    log.write_text(record("r1"))
    watch = start(tmp_path)
    watch.step()
    log.rename(tmp_path / "a.log.3")
    (tmp_path / "a.log.1").write_text(record("r3"))
    log.write_text(record("r4"))
    for last in (False, False, True):
        watch.step(last=last)
    watch.close()
    assert events(tmp_path) == [("rotated", None), ("lost", True)]


@pytest.mark.parametrize("name", ["a.{}.log", "a.{}.log.gz"])
def test_a_log_is_found_under_names_that_count_before_their_end(tmp_path: Path, name: str):
    pack = gzip.compress if name.endswith("gz") else bytes
    log = tmp_path / "a.log"
    log.write_text(record("r1"))
    watch = start(tmp_path)
    watch.step()
    for number, text in ((2, record("r1")), (1, record("r2"))):
        (tmp_path / name.format(number)).write_bytes(pack(text.encode()))
    log.write_text(record("r3"))
    for last in (False, False, True):
        watch.step(last=last)
    watch.close()
    assert sorted(found(tmp_path)) == ["r1", "r2", "r3"]


def test_without_a_time_to_settle_a_loss_is_told_too(tmp_path: Path):
    """One file is kept aside: what was moved there between two looks was written over."""
    log, prom = tmp_path / "a.log", tmp_path / "watch.prom"
    log.write_text(record("r1"))
    watch = start(tmp_path, settle=0)
    watch.step()
    for name in ("r2", "r3"):
        log.replace(tmp_path / "a.log.1")
        log.write_text(record(name))
    for last in (False, False, True):
        watch.step(last=last)
    watch.close()
    assert events(tmp_path) == [("rotated", None), ("lost", False)]
    gauges.write(prom, loop.metrics(watch.counts))
    assert 'forensics_watch_lost_total{certain="false"} 1\n' in prom.read_text()


def test_bytes_that_were_seen_and_are_gone_are_counted(tmp_path: Path):
    log, prom = tmp_path / "a.log", tmp_path / "watch.prom"
    log.write_text(record("r1") + record("r2")[:60])
    watch = start(tmp_path)
    watch.step()
    log.write_text("")
    for last in (False, False, True):
        watch.step(last=last)
    watch.close()
    gauges.write(prom, loop.metrics(watch.counts))
    assert 'forensics_watch_lost_total{certain="true"} 1\n' in prom.read_text()
    assert "forensics_watch_lost_bytes_total 60\n" in prom.read_text()


def test_a_link_is_followed_to_where_its_log_is_moved_aside(tmp_path: Path):
    pods = tmp_path / "pods"
    pods.mkdir()
    (log := pods / "0.log").write_text(record("r1"))
    (tmp_path / "a.log").symlink_to(log)
    watch = start(tmp_path)
    watch.step()
    for number in (2, 3):
        log.rename(pods / f"0.log.2026090{number}-000000")
        log.write_text(record(f"r{number}"))
    for last in (False, False, True):
        watch.step(last=last)
    watch.close()
    assert sorted(found(tmp_path)) == ["r1", "r2", "r3"]


@pytest.mark.parametrize(("prompt", "tenant"), [(681_274, "t1"), (5_000, None)])
def test_a_prompt_over_a_limit_that_follows_from_a_pool_is_held_for_longer(
    tmp_path: Path, clock: list[float], prompt: int, tenant: str | None
):
    pool = {"node": "d1", "role": "decode", "effective_at": "2026-08-31T00:00:00Z",
            "engine": "sglang", "pool_tokens": 681_280, "context_tokens": 1_048_576}  # fmt: skip
    asked = {"hop": "gateway", "request_id": "r1", "tenant_id": "t1", "prompt_tokens": prompt,
             "received_at": "2026-09-01T10:00:00Z"}  # fmt: skip
    log = tmp_path / "a.log"
    log.write_text(json.dumps(pool) + "\n" + json.dumps(asked) + "\n")
    watch = start(tmp_path)
    for _ in range(2):
        watch.step()
        clock[0] += 400
    with log.open("a") as more:
        more.write(record("r1", decode_node="d1"))
    watch.step(last=True)
    watch.close()
    rows = [json.loads(line) for line in (tmp_path / "found").read_text().splitlines()]
    assert [r["tenant_id"] for r in rows if r["tier"] == "probable"] == [tenant]
