"""What the README says is what the program does."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from forensics import cli, incident
from forensics.cli import run
from forensics.errors import Exit
from forensics.schema import TIERS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = {name: cli.commands.get_command(None, name) for name in cli.COMMANDS}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    return re.split(r"^#+ ", README.split(f" {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def table(title: str) -> list[list[str]]:
    """The cells of the section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def commands_shown() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("forensics ")]


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """A working folder with the samples where the README has them, and nothing else."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


KEPT: list[tuple[str, Path]] = []
"""What the command printed, and the folder that it wrote."""


@pytest.fixture
def printed(clone, capfd) -> str:
    """What `make report` prints: the command, then the path as the Makefile echoes it."""
    if KEPT:  # written once: it takes seconds, and the tests only read it
        Path("out").mkdir()
        Path("out/glm53").symlink_to(KEPT[0][1])
        return KEPT[0][0]
    sample = "data/samples/glm53"
    arguments = [f"{sample}/logs", "-i", f"{sample}/incident.toml", "-o", "out/glm53", "--force"]
    assert run(["report", *arguments]) == Exit.COMPLETE
    out, err = capfd.readouterr()
    KEPT.append((f"{err}{out}out/glm53/report.html\n", Path("out/glm53").resolve()))
    return KEPT[0][0]


def test_the_summary_is_what_the_command_prints(printed):
    assert blocks("text") == [printed]


def test_the_makefile_calls_it_like_that():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    call = "forensics report $(SAMPLE)/logs -i $(SAMPLE)/incident.toml -o $(OUT) --force"
    assert call in makefile
    assert "OUT ?= out/glm53\n" in makefile
    assert "SAMPLE := data/samples/glm53\n" in makefile
    assert '\techo "$(OUT)/report.html"\n' in makefile


def test_prose_holds_no_number_that_the_command_does_not_print(printed):
    prose = README.replace(section("Exit codes"), "")
    # Code and paths have tests of their own; the rest are names, and the 5th percentile.
    skipped = r"^```.*?^```$|`[^`]*`|\]\([^)]*\)|\[[^]]*\.ipynb"
    prose = re.sub(skipped, "", prose, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"3\.11, 3\.12 or 3\.13|Apache-2\.0|5th", "", prose)
    number = r"\d[\d.,]*\d|\d"
    assert set(re.findall(number, prose)) - set(re.findall(number, printed)) == set()


def test_limits_are_those_of_the_report(printed):
    document = json.loads(Path("out/glm53/report.json").read_bytes())
    stated = re.findall(r"^\* (.*)$", section("Limits of this version"), re.MULTILINE)
    found = [limitation["sentence"] for limitation in document["limitations"]]
    assert stated[: len(found)] == found


def test_the_files_listed_are_the_files_written(printed):
    cells = " ".join(row[0] for row in table("What `report` writes"))
    listed = set(re.findall("`(.*?)`", cells))
    assert listed == {path.name for path in Path("out/glm53").iterdir()}


@pytest.mark.parametrize("line", commands_shown())
def test_every_command_shown_can_be_called_like_that(line, clone):
    _, name, *arguments = shlex.split(line, comments=True)
    context = COMMANDS[name].make_context(name, arguments)
    assert isinstance(context, click.Context)


def test_every_command_there_is_is_shown():
    shown = {shlex.split(line)[1] for line in commands_shown()}
    assert shown == set(COMMANDS)


def test_exit_codes_are_those_of_the_program():
    stated = {int(code): name.replace(" ", "_").upper() for code, name, _ in table("Exit codes")}
    assert stated == {int(code): code.name for code in Exit}


def test_tiers_are_those_of_the_program():
    assert [row[0].replace(" ", "_") for row in table("How sure: tiers")] == list(TIERS)


def test_the_incident_file_can_be_read():
    (example,) = blocks("toml")
    assert incident.parse(tomllib.loads(example)).scope.models == ("glm-5.3",)


@pytest.mark.long
def test_the_python_block_runs(clone, capsys):
    (example,) = blocks("python")
    names = {}
    exec(example, names)  # noqa: S102 -- our own example
    assert len(names["judged"]) == len(names["affected"])
    assert (clone / "out" / "from_python" / "report.html").exists()
    assert capsys.readouterr().out == f"{names['case']}\n"


def test_every_file_it_points_to_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_picture_is_small_enough_for_a_first_screen():
    assert (ROOT / "docs" / "report.png").stat().st_size < 300_000
