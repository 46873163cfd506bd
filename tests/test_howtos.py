"""The how-to pages: what is copied from each, from the top, does what the page says."""

import json
import re
import shlex
import textwrap
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import forensics
from forensics.cli import run
from tests import pages

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
HERE = "tcp://localhost:8786"
"""Where the page on clusters has its scheduler."""


def text(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


def pythons(page: str) -> list[str]:
    blocks = re.findall(r"^```python\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
    return list(map(textwrap.dedent, blocks))


def copied(page: str, **put: str) -> list[str]:
    """Run what the page has as commands, with some words put in place; return these lines."""
    told = []
    for block in pages.blocks(text(page)):
        for command, code in block.steps if block.kind == "sh" else ():
            program, *arguments = shlex.split(command)
            assert program == "forensics"
            assert run([put.get(word, word) for word in arguments]) == code, command
            told.append(command)
    return told


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it, where the commands are typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_the_watch_of_the_page_tells_each_finding_once(there: Path) -> None:
    assert len(copied("watch.md")) == 2
    lines = [json.loads(line) for line in (there / "found.ndjson").read_text().splitlines()]
    case = forensics.read_logs("fleet/logs", incident="fleet/incident.toml")
    assert {line["event"] for line in lines} == {"finding"}
    told = [line["request_id"] for line in lines]
    assert sorted(told) == sorted(case.affected.polars()["request_id"])


@pytest.mark.long
def test_the_notebook_of_the_page_shows_what_can_be_chosen(there: Path, capsys: Any) -> None:
    pytest.importorskip("ipywidgets")
    assert len(copied("notebooks.md")) == 1
    (block,) = pythons("notebooks.md")
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 -- our own example
    assert "affected_requests.parquet" in repr(names["explore"].filters(names["case"].affected))


@pytest.mark.long
def test_the_cluster_of_the_page_gives_what_this_machine_gives(there: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp",
        local_directory=str(there / "dask"), dashboard_address=None,
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        assert len(copied("cluster.md", **{HERE: address})) == 2
        first, _ = pythons("cluster.md")
        assert HERE in first
        names: dict[str, Any] = {}
        try:
            exec(first.replace(HERE, address), names)  # noqa: S102 -- our own example
        finally:
            forensics.use(None)
            names["Client"].current().close()
    ran = json.loads(Path("case/report.json").read_bytes())["headline"]["sentence"]
    assert names["case"].exposure().headline.sentence == ran


def test_the_runner_of_the_page_needs_no_more_than_it_says(case_of: Any) -> None:
    _, block = pythons("cluster.md")
    spread = SimpleNamespace(parallelize=lambda shards, _: Spread(shards))
    try:
        exec(block, {"spark": spread, "forensics": forensics})  # noqa: S102 -- our own example
        case = case_of({"request_id": "a", "prompt_tokens": 3, "http_status": 200})
    finally:
        forensics.use(None)
    assert case.requests.polars()["request_id"].to_list() == ["a"]


class Spread:
    """As much of a distributed list as the page asks for."""

    def __init__(self, shards: list[Any]) -> None:
        self.collect = partial(list, shards)

    def map(self, function: Any) -> "Spread":
        return Spread(list(map(function, self.collect())))


def test_every_page_has_its_commands_run() -> None:
    """A page with something to copy is named by a test that copies it."""
    tests = Path(__file__).parent
    ran = "".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    left = {"offline.md"}  # needs a machine without a network: `make bundle` does it before it ends
    there = {path.name for path in PAGES.glob("*.md")}
    assert {name for name in there - left if f'{name}"' not in ran} == set()
