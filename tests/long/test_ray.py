"""On a real Ray cluster of this machine: the same bytes, and a killed worker loses nothing."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import forensics
from forensics import lab, runners
from forensics.cli import run
from forensics.runners import ShardError
from forensics.runners.ray import Ray

pytestmark = pytest.mark.long
ray = pytest.importorskip("ray")
TRIES = 5


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray gives its services half a minute to start, which is too little on a loaded machine."""
    for left in reversed(range(TRIES)):
        try:
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                object_store_memory=128 << 20,
            )
            break
        except Exception:
            ray.shutdown()
            if not left:
                raise
    yield
    ray.shutdown()


@dataclass(frozen=True)
class Piece:
    name: str
    folder: Path
    size: int = 1


def pieces(folder: Path, *names: str) -> list[Piece]:
    return [Piece(name, folder) for name in names]


def work(piece, progress=None):
    begun = piece.folder / f"{piece.name} begun"
    if piece.name == "raises":
        raise ValueError("CANARY-of-a-prompt")
    if piece.name == "waits for the others":
        time.sleep(3)
    if piece.name == "always killed" or (piece.name == "killed once" and not begun.exists()):
        begun.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{piece.name} done"


@pytest.fixture(scope="module", autouse=True)
def by_value():
    import sys

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_a_killed_worker_loses_nothing(tmp_path):
    assert runners.run(Ray(), work, pieces(tmp_path, "a", "killed once", "b")) == [
        "a done",
        "killed once done",
        "b done",
    ]


def test_a_late_shard_keeps_its_place(tmp_path):
    names, told = ["waits for the others", "a", "b", "c"], []
    states = runners.run(Ray(), work, pieces(tmp_path, *names), lambda *read: told.append(read))
    assert states == [f"{name} done" for name in names]
    assert len(told) == len(names)


def test_a_set_has_the_same_bytes(tmp_path):
    logs = tmp_path / "logs"
    lab.write_sglang(lab.simulate(lab.small(requests=160)), logs)
    found = []
    for where in (None, ray):
        forensics.use(where)
        try:
            out = tmp_path / f"set-{len(found)}"
            assert run(["ingest", str(logs), "-o", str(out), "-q"]) in (0, 3)
        finally:
            forensics.use(None)
        parts = sorted(out.rglob("*.parquet"))
        found.append({part.relative_to(out): part.read_bytes() for part in parts})
    assert found[0] == found[1] != {}


def test_what_kills_every_worker_or_raises_is_named(tmp_path):
    with pytest.raises(ShardError, match=r"^always killed: the process"):
        runners.run(Ray(), work, pieces(tmp_path, "always killed"))
    with pytest.raises(ShardError, match=r"^raises: unexpected ValueError at") as told:
        runners.run(Ray(), work, pieces(tmp_path, "a", "raises"))
    assert "CANARY" not in repr(told.getrepr(style="long", chain=True))


def test_a_report_has_the_same_bytes(tmp_path):
    logs = tmp_path / "logs"
    lab.write_sglang(lab.simulate(lab.small(requests=160)), logs)
    assert run(["report", str(logs), "-o", str(tmp_path / "ours"), "-q"]) in (0, 3)
    forensics.use(ray)
    try:
        assert run(["report", str(logs), "-o", str(tmp_path / "theirs"), "-q"]) in (0, 3)
    finally:
        forensics.use(None)
    left = ("manifest.json", "SHA256SUMS")
    ours, theirs = (
        {
            path.name: path.read_bytes()
            for path in (tmp_path / out).iterdir()
            if path.name not in left
        }
        for out in ("ours", "theirs")
    )
    assert ours == theirs
