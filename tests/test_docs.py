"""The documentation is what the code says, its links lead somewhere, its examples run."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from forensics import cli
from forensics.cli import run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    # In a process of its own, as `make docs` is: what other tests changed in this one is not told.
    made = "import generate, json; print(json.dumps(generate.pages()))"
    done = subprocess.run(
        [sys.executable, "-c", made], cwd=DOCS, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def blocks(page: str, *kinds: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [block for kind, block in BLOCK.findall(text) if kind in kinds]


def test_generated_pages_are_up_to_date(generated):
    stale = [name for name, text in generated.items() if (DOCS / name).read_text() != text]
    assert stale == [], "run `make docs`"


def test_no_generated_page_is_left_over(generated):
    there = {f"reference/{path.name}" for path in (DOCS / "reference").iterdir()}
    assert there == {name for name in generated if name.startswith("reference/")}


TEXTS = ("meaning", "how it is read", "what it can do")
"""Heads of the columns of a generated page that hold what somebody has to write."""


def told_in(page: str) -> dict[str, str]:
    """What the tables of a generated page say of each name in their first column."""
    told, at = {}, 1
    for line in (line for line in page.splitlines() if line.startswith("|")):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        heads = [number for number, cell in enumerate(cells) if cell in TEXTS]
        if heads:
            (at,) = heads
        elif cells[0].startswith("`"):
            told[cells[0].strip("`")] = cells[at]
    return told


def test_every_column_has_a_text(generated):
    told = told_in(generated["reference/columns.md"])
    assert {"request_id", "pool_tokens", "marker", "count", "transferred_pages"} <= set(told)
    assert [name for name, text in told.items() if not text] == []


def test_every_finding_says_what_it_means_and_what_it_does_not_prove(generated):
    page = generated["reference/findings.md"]
    weights = told_in(page)
    assert len(weights) > 3
    assert [weight for weight, text in weights.items() if not text] == []
    sections = page.split("\n## ")[1:]
    assert len(sections) > 40
    for section in sections:
        assert re.search(r"^\*Means:\* \w", section, re.MULTILINE), section.split("\n")[0]
        assert re.search(r"^\*Does not prove:\* \w", section, re.MULTILINE), section.split("\n")[0]


def test_every_part_of_the_report_has_a_text(generated):
    structs = generated["reference/report.md"].split("\n## ")[1:]
    assert len(structs) > 40
    assert [one.split("\n")[0] for one in structs if one.split("\n")[2].startswith("|")] == []


def test_every_public_name_has_a_text(generated):
    page = generated["reference/python.md"]
    assert page.count("\n## ") > 20
    assert re.findall(r"^## (.+)\n\n```text\n\n```$", page, re.MULTILINE) == []


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str | None]]:
    """Each command and each option below one, with the help that was written for it."""
    yield name, command.help
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{name} {option.opts[0]}", option.help
    if isinstance(command, click.Group):
        for inner, below in command.commands.items():
            yield from helps(below, f"{name} {inner}")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_and_option_has_a_help(name):
    command = cli.commands.get_command(click.Context(cli.commands), name)
    assert command is not None
    assert [told for told, text in helps(command, name) if not (text or "").strip()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", BLOCK.sub("", text))
    for link in links:
        name, _, part = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if part:
            heads = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in heads}


SCRIPTS = {"nightly.md"}
"""Pages whose commands are lines of a script, where a comment is none of the arguments."""


@pytest.mark.parametrize(
    "page",
    [DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md", *PAGES],
    ids=lambda path: path.stem,
)
def test_a_command_to_be_copied_ends_with_no_comment(page):
    """In zsh as people type in it a comment is more arguments: more logs, another target."""
    lines = [
        line
        for kind, block in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind in ("sh", "text") and page.name not in SCRIPTS
        for line in block.splitlines()
    ]
    commands = [line for line in lines if re.match(r"(forensics|make|python|pip|tar|\./)\b", line)]
    assert [line for line in commands if re.search(r"\s#", line)] == []


def test_every_page_can_be_reached_from_the_first():
    linked = re.findall(r"\]\(([^)#]+)", (DOCS / "README.md").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(DOCS)) for page in PAGES} - {"README.md"}
    assert pages == set(linked)


def test_an_allocator_of_the_page_replays(capsys):
    names: dict[str, object] = {}
    exec(blocks("how-to/allocator.md", "python")[0], names)  # noqa: S102
    assert capsys.readouterr().out == blocks("how-to/allocator.md", "text")[0]
    from forensics.attribution.allocators.stepwise import Free

    free = Free([(9, 1, -1)])
    names["give_back"](free, [(1, 2, 0), (5, 1, 0), (7, 1, 0)])
    assert list(free) == [(5, 1, 0), (7, 1, 0), (9, 1, -1), (1, 2, 0)]


def test_a_finding_of_the_page_fires_where_it_says(tmp_path, monkeypatch, capsys, case_of):
    first, second = blocks("how-to/finding.md", "python")
    names: dict[str, object] = {}
    exec(first, names)  # noqa: S102
    slow = {"request_id": "a", "prefill_ms": 2_500.0, "transferred_pages": 2}
    quick = {"request_id": "b", "prefill_ms": 900.0, "transferred_pages": 2}
    unknown = {"request_id": "c", "prefill_ms": 900.0}
    rows = case_of(slow, quick, unknown).requests.polars()
    fired = rows.filter(names["SLOW_HANDOFF"].expression)["request_id"].to_list()
    assert fired == ["a"]
    assert "forensics.read_logs(" in second


@pytest.mark.long
def test_the_nightly_script_ends_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (script,) = blocks("how-to/nightly.md", "sh")
    first, *nightly = script.splitlines()
    nights = ("2026-09-09", "2026-09-10")
    lines = [line.replace("$(date -u +%F)", night) for night in nights for line in nightly]
    for line in (first, *lines, f"forensics diff {' '.join(f'reports/{n}' for n in nights)}"):
        command, _, comment = line.partition("    # exit ")
        program, *arguments = shlex.split(command)
        assert program == "forensics"
        assert run(arguments) == int(comment or 0), command


@pytest.mark.long
def test_the_finding_of_the_page_on_its_case(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(["sample", "glm53", "-o", "fleet"])
    capsys.readouterr()
    exec("\n".join(blocks("how-to/finding.md", "python")), {})  # noqa: S102
    assert capsys.readouterr().out == blocks("how-to/finding.md", "text")[0]
