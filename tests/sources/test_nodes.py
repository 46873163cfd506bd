"""Machines that write files of one name are not one node."""

from pathlib import Path

import pytest

import forensics
from forensics.cli import run
from forensics.sources.files import expand
from forensics.sources.nodes import told_apart

START = (
    "[{at}] server_args={{'disaggregation_mode': '{role}', 'page_size': 64, "
    "'context_length': 1048576}}\n"
    "[{at} DP0 TP0 EP0] max_total_num_tokens={pool}, chunked_prefill_size=16384, "
    "max_prefill_tokens=16384, max_running_requests=32, context_len=1048576, "
    "available_gpu_mem=12.31 GB\n"
    "[{at}] The server is fired up and ready to roll!\n"
)
ANSWER = (
    "[2026-08-28 03:14:01 DP0 TP0 EP0] ReqTimeStats(rid=d, bootstrap_room=5001, "
    "input_len=700000, cached_input_len=0, output_len=40, attempts=0, type=decode): "
    "bootstrap_duration=14.00ms, alloc_wait_duration=1.00ms, transfer_duration=86.72ms, "
    "queue_duration=15.56ms, forward_duration=1000.00ms, entry_time=1787886840.000\n"
)
SMALL = START.format(at="2026-08-28 02:50:00", role="prefill", pool=681_280)
LARGE = START.format(at="2026-08-28 03:00:00", role="prefill", pool=2_000_000)
DECODE = START.format(at="2026-08-28 02:40:00", role="decode", pool=2_000_000) + ANSWER


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def fleet(folder: Path, stem: str) -> Path:
    names = (f"prefill-0/{stem}.log", f"prefill-1/{stem}.log", f"decode-0/{stem}.log")
    return written(folder, dict(zip(names, (SMALL, LARGE, DECODE), strict=True)))


def nodes(folder: Path) -> dict[str, str]:
    found = {Path(s.name).relative_to(folder).as_posix(): s.node for s in expand(folder)}
    backwards = expand(*reversed([s.name for s in expand(folder)]))
    assert {Path(s.name).relative_to(folder).as_posix(): s.node for s in backwards} == found
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("stem", ["app", "x-json", "0", "engine"])
def test_the_pool_of_one_machine_clears_no_request_of_another(tmp_path: Path, stem: str) -> None:
    case = forensics.read_logs(fleet(tmp_path / "logs", stem))
    (row,) = case.affected.polars().to_dicts()
    assert (row["tier"], row["reasons"]) == ("possible", ["limit_uncertain"])
    assert len(set(case.capacity.polars()["node"])) == 3


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a/app2.log", "b/app2.log"], ["a-app2", "b-app2"]),
        (["a/logs/app2.log", "b/logs/app2.log"], ["a-app2", "b-app2"]),
        (["a/x/app2.log", "b/x/app2.log"], ["a-x-app2", "b-x-app2"]),
        (["a/logs/server.log", "b/logs/server.log"], ["a", "b"]),
        (["a/app2.log", "a/app2.log.1", "a/app2-2026-08-28.log.gz"], ["app2"] * 3),
        (["a/app2.log", "a/logs/app2.log.1", "a/metrics/app2.prom"], ["app2"] * 3),
        (["2026-08-28/p-0.log", "2026-08-29/p-0.log"], ["p-0", "p-0"]),
        (["p-0/2026/08/28/app.log", "p-0/2026/08/29/app.log"], ["p-0", "p-0"]),
        (["a/p-0.log", "b/p-1.log"], ["p-0", "p-1"]),
        (["a/p-0.log", "a/p-0/sglang-request-metrics-20260828_03.log"], ["p-0", "p-0"]),
        (["a/p-0.log", "a/p-0/traces.jsonl", "a/logs/p-0.log.1"], ["p-0"] * 3),
        (["a/p-0.log", "b/p-0/traces.jsonl"], ["a-p-0", "b-p-0"]),
    ],
)
def test_folders_are_told_only_where_names_do_not_tell(
    tmp_path: Path, names: list[str], told: list[str]
) -> None:
    folder = written(tmp_path, {name: f"line of file {n}\n" for n, name in enumerate(names)})
    assert nodes(folder) == dict(zip(names, told, strict=True))


def test_a_copy_of_a_log_or_of_its_start_is_of_the_same_node(tmp_path: Path) -> None:
    whole = {"p-0.log": SMALL + LARGE, "backup/p-0.log": SMALL + LARGE, "old/p-0.log": SMALL}
    assert set(nodes(written(tmp_path, whole)).values()) == {"p-0"}


def test_a_set_that_is_gone_on_with_keeps_machines_apart(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs", "x-json")
    for part in ("prefill-0", "prefill-1", "decode-0", ""):
        assert run(["ingest", str(logs / part), "-o", str(tmp_path / "set"), "-q"]) in (0, 3)
    case = forensics.read_logs(tmp_path / "set")
    assert case.affected.polars()["tier"].to_list() == ["possible"]
    assert case.capacity.polars()["node"].n_unique() == 3, "the last run added nothing"


def test_a_file_without_a_folder_does_not_take_the_name_that_a_set_gave() -> None:
    assert told_apart(["x.log"], {"p-0/x.log": "x"}, {}) == {"x.log": "top-x"}
    assert told_apart(["p-0/x.log.1"], {"p-0/x.log": "x"}, {}) == {"p-0/x.log.1": "x"}
