"""Following logs: what a report finds is found, over rotation, truncation and kills, and once."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics import lab
from forensics.cli import run
from forensics.errors import UsageError
from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch
from forensics.sources.reading import read_shard

CANARY = "CANARY-watched-prompt"


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("watched") / "logs"
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    return folder


@pytest.fixture(scope="module")
def affected(logs) -> set[tuple[str, str]]:
    """Id and tier of each request that a report on the same logs lists."""
    rows = forensics.read_logs(logs).affected.polars()
    found = set(rows.select("request_id", "tier").iter_rows())
    assert {tier for _, tier in found} == {"probable", "possible"}
    return found


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def findings(path: Path) -> list[tuple[str, str]]:
    return [(e["request_id"], e["tier"]) for e in told(path) if e["event"] == "finding"]


def pieces(data: bytes, count: int, rng: random.Random) -> list[bytes]:
    """Cut some bytes anywhere: in the middle of lines, mostly."""
    cuts = sorted(rng.randrange(len(data)) for _ in range(count - 1))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.fixture
def watched(tmp_path):
    """A watch over a folder that is written to; nothing comes to rest before its last look."""
    folder = tmp_path / "logs"
    folder.mkdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    made = []

    def begin(state: Path | None = None) -> Watch:
        asked = Asked(settle=3600)
        again = scratch / str(len(made))
        again.mkdir()
        output = Output(tmp_path / "found.ndjson", ())
        made.append(Watch([str(folder)], Incident(), again, output, state, asked))
        return made[-1]

    yield folder, tmp_path / "found.ndjson", begin
    for watch in made:
        watch.close()


def test_all_of_it_at_once_is_what_a_report_lists(logs, affected, tmp_path, capsys):
    out, state, text = (tmp_path / name for name in ("found", "state", "metrics.prom"))
    options = ("--once", "-o", str(out), "--state", str(state), "--textfile", str(text))
    assert run(["watch", str(logs), *options]) == 0
    assert sorted(findings(out)) == sorted(affected)
    count = sum(tier == "probable" for _, tier in affected)
    assert f'forensics_watch_findings_total{{tier="probable"}} {count}\n' in text.read_text()
    assert run(["watch", str(logs), *options]) == 0
    assert len(told(out)) == len(affected)
    assert "0 probable" in capsys.readouterr().err.splitlines()[-1]


def test_half_written_lines_rotation_and_a_restart(logs, affected, watched, tmp_path):
    folder, out, begin = watched
    rng = random.Random(11)
    grown = {path.name: pieces(path.read_bytes(), 3, rng) for path in sorted(logs.iterdir())}
    state = tmp_path / "state"
    watch = begin(state)
    for step in range(3):
        for name, parts in grown.items():
            if step == 2 and name == "decode-01.log":
                # Moved aside while its last line is half written; what was held back follows.
                with (folder / name).open("ab") as file:
                    file.write(parts[2][:1000])
                (folder / name).rename(folder / f"{name}.1")
                parts[2] = parts[2][1000:]
                end = parts[2].find(b"\n") + 1
                with (folder / f"{name}.1").open("ab") as file:
                    file.write(parts[2][:end])
                parts[2] = parts[2][end:]
            with (folder / name).open("ab") as file:
                file.write(parts[step])
        if step == 2:
            watch.close()
            watch = begin(state)
        watch.step(last=step == 2)
    assert sorted(findings(out)) == sorted(affected)
    assert [e["event"] for e in told(out) if e["event"] != "finding"] == ["rotated"]


STATS = (
    "[2026-09-01 12:00:0{n} DP0 TP0] ReqTimeStats(rid={side}, bootstrap_room=5392444535701028124, "
    "input_len={tokens}, cached_input_len=0, output_len=9, attempts=0, type={side}): "
    "bootstrap_duration=15.00ms, queue_duration=5.00ms, forward_duration=80.00ms, "
    "entry_time=1788264000.500\n"
)


def test_a_watch_that_is_restarted_all_the_time_judges_all_the_same(tmp_path, monkeypatch):
    """Each run is over before anything in it has come to rest; the machine's clock goes on."""
    (logs := tmp_path / "logs").mkdir()
    for side, tokens in (("prefill", 1), ("decode", 700_000)):
        pool = "[2026-09-01 11:59:59 TP0] max_total_num_tokens=681280, context_len=1048576\n"
        (logs / f"{side}-01.log").write_text(pool + STATS.format(n=1, side=side, tokens=tokens))
    clock = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    out, state = tmp_path / "found.ndjson", tmp_path / "state"
    for turn in range(3):
        clock[0] += 4.0
        (folder := tmp_path / f"scratch{turn}").mkdir()
        watch = Watch([str(logs)], Incident(), folder, Output(out, ()), state, Asked(settle=7))
        watch.step()
        watch.close()
        assert out.exists() == (turn == 2), "at rest for more than seven seconds, and not before"
    assert findings(out) == [("decode", "probable")]


def test_a_log_emptied_in_place_is_begun_again_and_named(logs, affected, watched):
    folder, out, begin = watched
    watch = begin()
    for name in ("prefill-01.log", "prefill-02.log", "decode-02.log", "gateway.ndjson"):
        (folder / name).write_bytes((logs / name).read_bytes())
    data = (logs / "decode-01.log").read_bytes()
    half = data.rfind(b"\n", 0, len(data) // 2) + 1
    (folder / "decode-01.log").write_bytes(data[:half])
    watch.step()
    (folder / "decode-01.log").write_bytes(data[half:])  # the same file, written anew
    watch.step(last=True)
    assert sorted(findings(out)) == sorted(affected)
    events = [e for e in told(out) if e["event"] != "finding"]
    assert {e["log"] for e in events} == {str(folder / "decode-01.log")}
    # Whether anything was written between the last look and the emptying, nobody can tell.
    assert [e["event"] for e in events] == ["truncated", "lost"]
    assert not events[1]["certain"]


def test_a_log_that_is_gone_when_a_watch_goes_on_is_named(logs, watched, tmp_path):
    folder, out, begin = watched
    (folder / "decode-01.log").write_bytes((logs / "decode-01.log").read_bytes())
    state = tmp_path / "state"
    (before := begin(state)).step()
    before.close()
    (folder / "decode-01.log").unlink()
    (folder / "decode-01.log").write_bytes(b"another file under its name\n")
    begin(state).step(last=True)
    events = [(e["event"], e.get("certain")) for e in told(out)]
    assert events[-1] == ("lost", False)
    assert events[0][0] in ("rotated", "truncated"), "its inode may be used again at once"


def test_nothing_is_told_before_it_has_come_to_rest(logs, watched):
    folder, out, begin = watched
    for path in logs.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    assert begin().step() == []
    assert not out.exists()


def test_logs_that_grow_while_they_are_read_do_not_keep_a_step_from_its_end(
    logs, watched, monkeypatch
):
    folder, _, begin = watched
    for name in ("gateway.ndjson", "decode-01.log"):
        (folder / name).write_bytes((logs / name).read_bytes())
    rows = (logs / "gateway.ndjson").read_bytes().splitlines(keepends=True)[:10]
    read = []

    def and_write(shard):
        read.append(shard)
        if len(read) < 20:
            with (folder / "gateway.ndjson").open("ab") as file:
                file.write(b"".join(rows))
        return read_shard(shard)

    monkeypatch.setattr("forensics.live.watch.intake.read_shard", and_write)
    (watch := begin()).step()
    assert len(read) == 2
    watch.step()
    assert len(read) == 3


def test_standard_input_is_read_to_its_end_however_slow_it_is(logs, monkeypatch, capsys):
    data = 4 * (logs / "gateway.ndjson").read_bytes()
    assert len(data) > 150_000, "more than a pipe holds"
    into, out_of = os.pipe()[::-1]
    monkeypatch.setattr("forensics.live.watch.piped.MOST", 1_000)

    def write() -> None:
        with os.fdopen(into, "wb", buffering=0) as pipe:
            for at in range(0, len(data), 50_000):
                time.sleep(0.02)
                pipe.write(data[at : at + 50_000])

    writer = threading.Thread(target=write)
    with os.fdopen(out_of, "r") as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        writer.start()
        assert run(["watch", "-", "--once"]) == 0
        writer.join()
    begins, counted, *_ = capsys.readouterr().err.splitlines()
    assert begins.startswith("left to the report: ")
    assert counted.startswith(f"{len(data.splitlines()):,} records read")


def test_the_first_of_a_tier_ends_the_watch(logs, tmp_path, capsys):
    options = ["--settle", "0", "--fail-on", "probable", "-q"]
    assert run(["watch", str(logs), *options]) == 11
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "probable" in {line["tier"] for line in lines}


COMMAND = [sys.executable, "-c", "from forensics.cli import main; main()", "watch"]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(forensics.__file__).parents[1])}


def test_standard_input(logs):
    data = (logs / "gateway.ndjson").read_bytes()
    done = subprocess.run(
        [*COMMAND, "-", "--once"], input=data, env=environment(), capture_output=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    counted = done.stderr.splitlines()[1]
    assert counted.startswith(f"{len(data.splitlines()):,} records read".encode())


def test_nothing_of_a_prompt_is_kept(tmp_path, capsys):
    rows = [
        {"request_id": f"r-{n}", "hop": "decode", "prompt": f"{CANARY} {n}", "http_status": 200,
         "received_at": "2026-03-01T00:00:00Z", "reserved_pages": 9, "transferred_pages": 1,
         "prompt_tokens": 9000, "completion_tokens": 4, CANARY: CANARY}
        for n in range(3)
    ]  # fmt: skip
    log = tmp_path / "app.ndjson"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows) + f"{CANARY}\n")
    asked = tmp_path / "incident.toml"
    asked.write_text("[trigger]\nthreshold_tokens = 100\n")
    places = ["-o", str(tmp_path / "found"), "--state", str(tmp_path / "state")]
    assert run(["watch", str(log), "-i", str(asked), "--once", *places]) == 3
    assert len(findings(tmp_path / "found")) == 3
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != log]
    assert {path.parent.name for path in files} > {".state.rows"}
    written = [path.read_bytes() for path in files] + [t.encode() for t in capsys.readouterr()]
    assert [text for text in written if CANARY.encode() in text] == []
    assert not _open(tmp_path / "state")
    assert not _open(tmp_path / ".state.rows")


def _open(path: Path) -> bool:
    """Whether others than its owner may have a look."""
    return bool(path.stat().st_mode & 0o077)


def test_two_watches_do_not_share_a_state(watched, tmp_path):
    folder, _, begin = watched
    (folder / "gateway.ndjson").touch()
    begin(tmp_path / "state")
    with pytest.raises(UsageError, match="another watch"):
        begin(tmp_path / "state")


def test_a_file_that_is_no_state_is_refused(logs, tmp_path, capsys):
    (tmp_path / "state").write_text("{}]")
    assert run(["watch", str(logs), "--once", "--state", str(tmp_path / "state")]) == 2
    assert "is no state of a watch" in capsys.readouterr().err


def append(path: Path, data: bytes, up_to: int | None = None) -> None:
    """Let a log grow to some of its bytes."""
    size = path.stat().st_size if path.exists() else 0
    with path.open("ab") as file:
        file.write(data[size:up_to])


def kill_once(command: list[str], out: Path, wait: float) -> None:
    """Start a watch, let it run for a while after it was able to write, and kill it."""
    child = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not out.exists() and time.monotonic() < until and child.poll() is None:
        time.sleep(0.01)
    time.sleep(wait)
    child.send_signal(signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("kills", [pytest.param(n, marks=pytest.mark.long) for n in (1, 20)])
def test_after_kills_each_finding_is_there_once(kills, logs, affected, tmp_path):
    rng = random.Random(kills)
    folder, out, state = tmp_path / "logs", tmp_path / "found", tmp_path / "state"
    folder.mkdir()
    options = ["-o", str(out), "--state", str(state), "--settle", "0", "--pause", "0.05"]
    command = [*COMMAND, str(folder), *options]
    contents = {path.name: path.read_bytes() for path in logs.iterdir()}
    for kill in range(kills):
        for name, data in contents.items():
            share = len(data) * (kill + 1) // (kills + 1)
            append(folder / name, data, share)
        kill_once(command, out, rng.random() * 1.5)
    for name, data in contents.items():
        append(folder / name, data)
    assert subprocess.run([*command, "--once"], env=environment(), check=False).returncode == 0
    found = findings(out)
    assert len({e["finding_id"] for e in told(out)}) == len(told(out))
    assert set(found) >= affected
    # Beside them what was only possible as long as a record of it was still to come.
    assert {tier for _, tier in set(found) - affected} <= {"possible"}
