"""Where work runs: the same bytes everywhere, and nobody's shard is lost in silence."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

import distributed
import pytest

from forensics import lab, runners
from forensics.cli import run
from forensics.errors import UsageError
from forensics.runners import ShardError
from forensics.runners.dask import Dask
from forensics.runners.here import Here
from forensics.runners.pool import Pool
from forensics.runners.threads import Threads

MODULES = str(Path(__file__).parent / "_data" / "modules")


@pytest.fixture
def kit(monkeypatch) -> Any:
    """Work of various ends; children find its module by the path that they take over."""
    monkeypatch.syspath_prepend(MODULES)
    return import_module("pieces")


def pieces(kit: Any, folder: Path, *names: str) -> list[Any]:
    return [kit.Piece(name, folder) for name in names]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two Dask workers in this process, with a scheduler that listens."""
    with dask(tmp_path_factory, processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Two Dask workers in processes of their own, which take seconds to start and to end."""
    with dask(tmp_path_factory, processes=True) as client:
        yield client


@contextmanager
def dask(tmp_path_factory, **more: Any):
    place = str(tmp_path_factory.mktemp("dask"))
    asked = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None} | more
    with (
        distributed.LocalCluster(protocol="tcp", local_directory=place, **asked) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["here", "threads", "pool", "dask"])
def runner(request):
    if request.param in ("here", "threads"):
        return Here() if request.param == "here" else Threads(2)
    return Pool(2) if request.param == "pool" else Dask(request.getfixturevalue("client"))


def test_states_come_in_the_order_of_the_shards(runner, kit, tmp_path):
    told = []
    names = [f"log-{number}" for number in range(5)]
    states = runners.run(
        runner, kit.work, pieces(kit, tmp_path, *names), lambda *read: told.append(read)
    )
    assert states == [f"{name} done" for name in names]
    assert sum(size for size, _ in told) == 25


def test_an_unexpected_error_names_the_input_and_quotes_nothing(runner, kit, tmp_path):
    with pytest.raises(ShardError, match=r"^raises: unexpected ValueError at \S+ in \w+$") as told:
        runners.run(runner, kit.work, pieces(kit, tmp_path, "a", "raises", "b"))
    assert kit.CANARY not in repr(told.getrepr(style="long", chain=True))


def test_an_error_of_our_own_or_of_the_system_comes_as_it_is(runner, kit, tmp_path):
    with pytest.raises(UsageError, match=r"^not like this$"):
        runners.run(runner, kit.work, pieces(kit, tmp_path, "a", "refuses"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        runners.run(runner, kit.work, pieces(kit, tmp_path, "is missing", "a"))


@pytest.mark.parametrize("kind", ["pool", pytest.param("dask", marks=pytest.mark.long)])
def test_a_worker_killed_in_the_middle_loses_nothing(kind, request, kit, tmp_path):
    runner = Pool(2) if kind == "pool" else Dask(request.getfixturevalue("processes"))
    names = ["a", "is killed once", "b"]
    states = runners.run(runner, kit.work, pieces(kit, tmp_path, *names))
    assert states == [f"{name} done" for name in names]


def test_a_worker_that_comes_late_is_waited_for(tmp_path_factory, kit, tmp_path):
    with dask(tmp_path_factory, n_workers=0, processes=False, dashboard_address=":0") as client:
        late = Timer(0.5, client.cluster.scale, [1])
        late.start()
        states = runners.run(Dask(client), kit.work, pieces(kit, tmp_path, "a", "b"))
        late.join()
    assert states == ["a done", "b done"]


def test_an_input_that_kills_each_process_is_named(kit, tmp_path):
    with pytest.raises(ShardError, match=r"^is always killed: the process .* ended from outside"):
        runners.run(Pool(1), kit.work, pieces(kit, tmp_path, "is always killed"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    lab.write_sglang(lab.simulate(lab.small(requests=160)), folder)
    return folder


def outputs(logs: Path, out: Path, *options: str) -> dict[str, bytes]:
    assert run(["report", str(logs), "-o", str(out), "-q", *options]) in (0, 3)
    left = ("manifest.json", "SHA256SUMS")
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name not in left}


def test_a_cluster_gives_the_same_bytes(client, logs, tmp_path, capsys):
    address = client.scheduler.address
    ours = outputs(logs, tmp_path / "ours")
    assert outputs(logs, tmp_path / "theirs", "--cluster", address) == ours
    assert len(ours) > 10


@pytest.mark.long
def test_processes_of_a_cluster_give_the_same_bytes(processes, logs, tmp_path):
    address = processes.scheduler.address
    ours = outputs(logs, tmp_path / "ours")
    assert outputs(logs, tmp_path / "theirs", "--cluster", address) == ours
    for out in ("ours", "theirs"):
        more = ("--cluster", address) if out == "theirs" else ()
        assert run(["ingest", str(logs), "-o", str(tmp_path / f"set-{out}"), "-q", *more]) in (0, 3)
        assert run(["report", str(tmp_path / f"set-{out}"), "-o", str(tmp_path / f"re-{out}")]) in (
            0,
            3,
        )
    first, second = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.parquet")}
        for n in ("set-ours", "set-theirs")
    )
    assert first == second


def test_a_client_that_a_notebook_holds_is_used_until_it_is_taken_back(client, logs):
    asked = []

    class Counting(Dask):
        def map(self, function, shards, done):
            asked.append(len(shards))
            return super().map(function, shards, done)

    import forensics

    assert runners.use(client).name == "dask"
    runners.use(Counting(client))
    try:
        forensics.read_logs(logs)
    finally:
        runners.use(None)
    files, buckets, *_ = before = list(asked)
    assert (files, buckets) == (len(list(logs.iterdir())), 1)
    forensics.read_logs(logs)
    assert asked == before


@pytest.mark.parametrize("address", ["http://host:1", "host:8786", "tcp://127.0.0.1:1"])
def test_an_address_where_no_cluster_is(address, logs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("forensics.runners.where.PATIENCE", "1s")
    code = run(["report", str(logs), "-o", str(tmp_path / "out"), "--cluster", address])
    assert code == 2
    assert not (tmp_path / "out").exists()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_is_no_cluster_is_refused():
    with pytest.raises(UsageError, match="no Dask client"):
        runners.use(object())


SCRIPT = """
import sys, forensics
print(forensics.read_logs(sys.argv[1], workers=2).requests.polars().height)
print(__file__ if "__file__" in globals() else "no file")
"""


@pytest.mark.parametrize("way", ["a script", "standard input"])
def test_a_program_is_not_run_again_by_its_workers(way, logs, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    name = str(script) if way == "a script" else "-"
    with script.open() as given:
        done = subprocess.run(
            [sys.executable, name, str(logs)],
            stdin=given,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[0]) > 100
    assert len(done.stdout.splitlines()) == 2


CHILD = """
import os, time
from pathlib import Path
from forensics import runners
from forensics.runners.pool import Pool
from forensics.runners.threads import Threads

class Piece:
    name, size = "piece", 1

def work(piece, progress=None):
    os.write(1, b"%d\\n" % os.getpid())  # in one piece: both write to the same pipe
    time.sleep(600)

if __name__ == "__main__":
    runners.run(Pool(2), work, [Piece(), Piece()])
"""


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_children_end_with_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(CHILD)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(alive(number) for number in children)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 20
    while any(alive(number) for number in children) and time.monotonic() < until:
        time.sleep(0.05)
    left = [number for number in children if alive(number)]
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == []
