"""The benchmarks measure what they say, on data that is what it seems."""

from xml.etree import ElementTree as ET

import pytest

import forensics
from benchmarks import __main__ as benchmarks
from benchmarks import data, measure, nodelog, sources, table, triage, triagedata
from benchmarks.tasks import TASKS

ROWS = 300


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "LONG_SHARE", 0.05)
    data.write(tmp_path / "requests.ndjson", ROWS)
    return tmp_path / "requests.ndjson"


@pytest.fixture
def log(tmp_path):
    nodelog.write(tmp_path / "decode-00.log", ROWS)
    return tmp_path / "decode-00.log"


def test_the_data_are_the_same_each_time(file, log, tmp_path):
    data.write(tmp_path / "again.ndjson", ROWS)
    assert (tmp_path / "again.ndjson").read_bytes() == file.read_bytes()
    nodelog.write(tmp_path / "again.log", ROWS)
    assert (tmp_path / "again.log").read_bytes() == log.read_bytes()


def test_each_record_can_be_read_and_some_are_affected(file):
    case = forensics.read_logs(file)
    assert len(case.requests) == ROWS
    assert case.exposure().headline.incomplete == []
    assert 0 < len(case.affected) < ROWS


def test_each_request_of_the_node_log_can_be_read(log):
    case = forensics.read_logs(log)
    assert len(case.requests) == ROWS
    assert set(case.capacity.polars()["pool_tokens"]) == {2 * data.POOL_TOKENS}
    (seen,) = case.exposure().read
    assert seen.format == "sglang"
    assert not seen.unreadable
    assert not seen.bad_values


@pytest.mark.parametrize("name", TASKS)
def test_each_task_runs(name, file, log):
    task = TASKS[name]
    assert task.ready(file if task.reads == "requests" else log)() is not None


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    folder = tmp_path_factory.mktemp("triage") / "set"
    triagedata.write(folder, 4_000)
    return folder


@pytest.mark.parametrize("name", [name for name in triage.TASKS if "Dask" not in name])
def test_each_triage_runs(name, evidence):
    assert triage.TASKS[name](evidence)() is not None


@pytest.mark.long
def test_the_triage_on_a_cluster_is_measured_by_itself(evidence):
    figure = measure.task("triage, two Dask workers", evidence, 1, "benchmarks.triage")
    assert figure.seconds > 0


def test_a_child_that_fails_ends_the_run():
    with pytest.raises(SystemExit, match="no such command"):
        measure.command("none", ["no such command"], runs=1)


def test_a_command_is_measured_with_its_memory():
    figure = measure.command("help", ["--help"], runs=1)
    assert figure.seconds > 0
    assert figure.cpu_seconds > 0
    # Of the process that it was forked from as well, which runs these tests.
    assert 1e6 < figure.peak_bytes < 1e10


def test_figures_are_by_the_core_and_beside_bare_scans():
    bare = measure.Figure("bare scan", 2.0, 2.5, 10_000_000)
    whole = measure.Figure("reading", 5.0, 4.0, 20_000_000)
    quarter = measure.Figure("reading", 1.0, 1.0, 19_000_000)
    row = table.Row(whole, quarter, size=480_000_000, lines=100, peers=(bare, bare))
    last = table.throughput([row]).splitlines()[-1]
    assert last == "| reading | 480 | 5.00 | 20 | 4.00 | 120 | × 1.6, × 1.6 | 19 | 20 |"


@pytest.mark.long
def test_one_run_gives_every_figure(tmp_path, monkeypatch):
    reading = {name: task for name, task in TASKS.items() if name.startswith("SGLang")}
    monkeypatch.setattr(benchmarks, "TASKS", reading)
    text = benchmarks.measured(tmp_path, rows=60, runs=1, scratch=tmp_path)
    for shown in (*reading, "MB/s per core", "`forensics --help`"):
        assert shown in text
    assert sorted(p.name for p in tmp_path.glob("*.log")) == ["decode-00-20.log", "decode-00-5.log"]


def test_replays_have_a_row_with_their_throughput(monkeypatch):
    told = {"seconds": 2.0, "cpu_seconds": 3.5, "peak_bytes_of_workers": 7e6}
    told |= {"replayed_requests_a_second": 160_000}
    monkeypatch.setattr(sources, "measured", lambda *_: told)
    assert sources.part(16_000).splitlines()[-1] == "| 16,000 | 2.0 | 3.5 | 160,000 | 7 |"


def test_what_is_replayed_fits_its_pool_and_names_pages():
    cpu, peak, pages = sources.one_rank(seed=1, requests=2_000, responses=5, replays=2)
    assert cpu > 0
    assert peak > 1e6
    assert pages > 0


def test_the_picture_holds_each_task_beside_the_bare_scan():
    figures = [measure.Figure(name, 2.0 + at, 1.0, 1) for at, name in enumerate(triage.TASKS)]
    drawn = ET.fromstring(triage.picture({5_000: figures}))  # noqa: S314 -- our own
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "5,000 requests" in texts[0]
    assert texts[1:5] == [figures[0].name, "× 1.0", figures[1].name, "× 1.5"]
    bars = [bar for bar in drawn.iter("{http://www.w3.org/2000/svg}rect") if "x" in bar.attrib]
    first, second = (float(bar.get("width")) for bar in bars[:2])
    assert second / first == pytest.approx(1.5, rel=0.01)
    assert len({bar.get("fill") for bar in bars}) == 2
