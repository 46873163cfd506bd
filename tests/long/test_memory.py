"""A run takes no more memory than it was given: it does with less, or ends and says so."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at /proc"),
]
FORENSICS = (sys.executable, "-c", "from forensics.cli import main; main()")
ROWS = 60_000


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs") / "logs"
    folder.mkdir()
    for log in range(4):
        with (folder / f"requests-{log}.ndjson").open("w", encoding="utf-8") as file:
            for number in range(ROWS):
                row = {
                    "request_id": f"request-{log}-{number:08}", "tenant_id": f"t-{number % 99}",
                    "received_at": f"2026-02-{1 + number % 27:02}T{number % 24:02}:00:00Z",
                    "prefill_node": f"prefill-{number % 8}", "prompt_tokens": number,
                    "decode_node": f"decode-{number % 8}", "completion_tokens": 5,
                }  # fmt: skip
                file.write(json.dumps(row) + "\n")
    return folder


def resident(process: int) -> int:
    """Bytes of a process and all that it started."""
    try:
        own = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
        lists = [p.read_text("ascii") for p in Path("/proc").glob(f"{process}/task/*/children")]
    except (OSError, IndexError):
        return 0
    children = [int(child) for text in lists for child in text.split()]
    return own * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def watched(folder: Path, *arguments: str) -> tuple[int, str, int]:
    """Exit code, stderr, and the most bytes that were taken at a time."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    with (folder / "stderr").open("w+") as told:
        process = subprocess.Popen(
            [*FORENSICS, *arguments, "-q"], stdout=subprocess.DEVNULL, stderr=told,
            env=os.environ | {"TMPDIR": str(temporary)},
        )  # fmt: skip
        most = 0
        while process.poll() is None:
            most = max(most, resident(process.pid))
            time.sleep(0.01)
        told.seek(0)
        return process.returncode, told.read(), most


def test_as_many_processes_work_as_there_is_memory_for(logs: Path, tmp_path: Path) -> None:
    asked = ("ingest", str(logs), "--workers", "4")
    code, _, free = watched(tmp_path, *asked, "-o", str(tmp_path / "free"))
    assert code == 0
    code, said, held = watched(tmp_path, *asked, "-o", str(tmp_path / "held"), "--memory", "700MB")
    assert (code, said.count("--memory")) == (0, 0)
    assert held < 700e6 < free
    first, second = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.parquet")}
        for n in ("free", "held")
    )
    assert first == second


def test_what_cannot_be_held_ends_with_a_word(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("report", str(logs), "-o", str(out), "--memory", "540MB")
    code, said, most = watched(tmp_path, *asked)
    assert code == 2
    assert "--memory" in said
    assert said.count("\n") == 1
    assert most < 800e6
    assert not out.exists()
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("size", ["much", "1MB", "-2GB", "2XB"])
def test_what_is_no_size_is_refused(logs: Path, tmp_path: Path, size: str) -> None:
    code, said, _ = watched(tmp_path, "scope", str(logs), "--memory", size)
    assert code == 2
    assert "--memory" in said


LINE = (
    "[2026-02-{day:02} {hour:02}:{minute:02}:00 DP0 TP0 EP0] ReqTimeStats(rid={number:032x}, "
    "bootstrap_room={room}, input_len={tokens}, cached_input_len=0, output_len=1, attempts=0, "
    "type=prefill): bootstrap_duration=15.00ms, queue_duration=6.56ms, forward_duration=74.17ms, "
    "entry_time=1770000000.030, transfer_speed=0.41 GB/s, transfer_total=3.75 MB\n"
)


def text_log(path: Path, megabytes: int) -> Path:
    """One server's log of a few days: a line a request."""
    with path.open("w", encoding="ascii") as file:
        for number in range(megabytes * 1_000_000 // len(LINE)):
            minutes = number // 400
            told = {"room": 5 * 10**18 + number, "tokens": 1_000 + number % 5_000}
            told |= {"day": 1 + minutes // 1_440, "hour": minutes // 60 % 24}
            file.write(LINE.format(number=number, minute=minutes % 60, **told))
    return path


def test_one_log_takes_no_more_memory_for_being_longer(tmp_path: Path) -> None:
    """What is held of a log is what is parted at a time, whatever it has beyond that."""
    most = []
    for size in (30, 240):
        log = text_log(tmp_path / f"prefill-{size}.log", size)
        code, _, held = watched(tmp_path, "ingest", str(log), "-o", str(tmp_path / f"set-{size}"))
        assert code == 0
        most.append(held)
        log.unlink()
    assert most[1] < 1.25 * most[0], most
