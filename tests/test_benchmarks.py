"""The benchmarks measure what they say, on data that is what it seems."""

import pytest

import forensics
from benchmarks import data, measure, table
from benchmarks.tasks import TASKS

ROWS = 300


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "LONG_SHARE", 0.05)
    data.write(tmp_path / "requests.ndjson", ROWS)
    return tmp_path / "requests.ndjson"


def test_the_data_are_the_same_each_time(file, tmp_path):
    data.write(tmp_path / "again.ndjson", ROWS)
    assert (tmp_path / "again.ndjson").read_bytes() == file.read_bytes()


def test_each_record_can_be_read_and_some_are_affected(file):
    case = forensics.read_logs(file)
    assert len(case.requests) == ROWS
    assert case.exposure().headline.incomplete == []
    assert 0 < len(case.affected) < ROWS


@pytest.mark.parametrize("name", TASKS)
def test_each_task_runs(name, file):
    assert TASKS[name](file)() is not None


def test_a_child_that_fails_ends_the_run():
    with pytest.raises(SystemExit, match="no such command"):
        measure.command("none", ["no such command"], runs=1)


def test_a_command_is_measured_with_its_memory():
    figure = measure.command("help", ["--help"], runs=1)
    assert figure.seconds > 0
    assert figure.cpu_seconds > 0
    assert 1e6 < figure.peak_bytes < 1e9


def test_ratios_are_to_each_bare_scan():
    figures = [
        measure.Figure("bare scan", 2.0, 2.0, 10_000_000),
        measure.Figure("report", 5.0, 6.0, 20_000_000),
    ]
    last = table.throughput(figures, rows=100, size=10_000_000).splitlines()[-1]
    assert last == "| report | 5.00 | 20 | 2 | 6.0 | 20 | 2.5 |"
