"""Outputs of notebooks never enter git: the filter takes them off, the hook refuses the rest."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECRET = "tenant-of-an-output"
CELL = {
    "cell_type": "code",
    "execution_count": 3,
    "id": "kept-id",
    "metadata": {"tags": ["parameters"], "execution": {"started": "2026-08-27"}},
    "outputs": [{"output_type": "stream", "name": "stdout", "text": SECRET}],
    "source": ["1"],
}
TEXT = {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["text"]}
EMPTY = {"cell_type": "raw", "metadata": {}, "source": []}
RAN = {
    "cells": [
        CELL,
        TEXT | {"attachments": {"pasted.png": {"image/png": SECRET}}, "outputs": [SECRET]},
        EMPTY | {"attachments": {"a": {"text/plain": SECRET}}},
    ],
    "metadata": {
        "widgets": {"state": SECRET},
        "language_info": {"name": "python", "version": "3"},
        "kernelspec": {"name": "python3", "metadata": {"seen": SECRET}},
    },
    "nbformat": 4,
    "nbformat_minor": 5,
    "seen": SECRET,
}
BYPASS = ("-c", "filter.notebooks.clean=cat")


class Clone:
    """A repository with this one's attributes and hooks, and a notebook that was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        shutil.copy(ROOT / ".gitattributes", folder)
        self.git("init", "-q")
        self.git("config", "user.name", "a")
        self.git("config", "user.email", "a@example.org")
        (folder / "a.ipynb").write_text(json.dumps(RAN))

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60
        )

    def set_up(self) -> None:
        command = [self.folder / ".ci" / "hooks", sys.executable]
        subprocess.run(command, check=True, timeout=60)

    def write(self, name: str, text: str | None = None) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(RAN) if text is None else text)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


@pytest.mark.parametrize("name", ["a.ipynb", "B.IPYNB", "some/folder/c.IpynB"])
def test_adding_a_notebook_takes_its_outputs_off(clone, name):
    clone.set_up()
    clone.write(name)
    clone.git("add", name)
    added = clone.git("show", f":{name}").stdout
    assert SECRET not in added
    left, *others = json.loads(added)["cells"]
    assert left == CELL | {
        "execution_count": None, "metadata": {"tags": ["parameters"]}, "outputs": []
    }  # fmt: skip
    assert others == [TEXT, EMPTY]
    assert SECRET in (clone.folder / name).read_text()
    assert clone.git("commit", "-qm", "a").returncode == 0


@pytest.mark.parametrize("name", ["a.ipynb", "B.IPYNB", "d/c.ipynb", "a.ipynb.bak", "e/f [1].json"])
def test_what_got_past_the_filter_is_refused(clone, name):
    clone.set_up()
    clone.write(name)
    clone.git(*BYPASS, "add", name)
    refused = clone.git("commit", "-qm", "a")
    assert refused.returncode != 0
    assert "holds outputs" in refused.stderr
    assert Path(name).stem.split()[0] in refused.stderr
    assert SECRET not in refused.stderr


def test_what_speaks_of_notebooks_and_holds_no_output_is_let_in(clone):
    clone.set_up()
    clone.write("a.py", 'BOOK = {"nbformat": 4}')
    clone.write("schema.json", '{"properties": {"nbformat": {}}}')
    clone.git("add", "a.py", "schema.json", "a.ipynb")
    clone.git("mv", "a.ipynb", "copy.json")
    assert clone.git("commit", "-qm", "a").stderr == ""
    assert clone.git("show", "--name-only", "--format=").stdout.split() == [
        "a.py", "copy.json", "schema.json"
    ]  # fmt: skip


def test_a_merge_of_outputs_is_refused(clone):
    clone.git(*BYPASS, "add", "a.ipynb")
    clone.git("commit", "-qm", "theirs, before any hook")
    clone.git("branch", "theirs")
    clone.git("checkout", "-q", "--orphan", "ours")
    clone.git("rm", "-rqf", "--cached", ".")
    clone.git("add", ".gitattributes")
    clone.git("commit", "-qm", "ours")
    (clone.folder / "a.ipynb").unlink()
    clone.set_up()
    refused = clone.git("merge", "--allow-unrelated-histories", "-m", "both", "theirs")
    assert refused.returncode != 0
    assert "a.ipynb holds outputs" in refused.stderr


def test_a_hook_of_somebody_else_stays(clone):
    hook = clone.folder / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 0\n")
    clone.set_up()
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def test_the_notebooks_of_this_repository_pass_the_filter_unchanged():
    command = ["git", "check-attr", "filter", "notebooks/00_start_here.ipynb"]
    if shutil.which("git") and (ROOT / ".git").exists():
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert told.stdout.endswith("filter: notebooks\n")
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert paths
    script = importlib.util.spec_from_file_location("strip", ROOT / ".ci" / "strip.py")
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    assert [p.name for p in paths if module.strip(p.read_bytes()) != p.read_bytes()] == []


def test_what_is_no_notebook_is_not_taken_for_one(clone):
    clone.set_up()
    (clone.folder / "a.ipynb").write_text(f"<<<<<<< {SECRET}")
    refused = clone.git("add", "a.ipynb")
    assert refused.returncode != 0
    assert "no notebook" in refused.stderr
    assert SECRET not in refused.stderr
