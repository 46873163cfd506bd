"""The built wheel and sdist: what is in them, and that the wheel needs no source tree."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests import pages

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """Both distributions, built from this tree by the backend itself."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


def source_files() -> set[str]:
    """What is under version control of the package: no caches, no editor's files."""
    files = (path for path in (ROOT / "forensics").rglob("*") if path.is_file())
    return {str(p.relative_to(ROOT)) for p in files if "__pycache__" not in p.parts}


@pytest.mark.long
def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == source_files()
    assert "forensics/py.typed" in names


@pytest.mark.long
def test_the_sdist_holds_the_project_and_no_leftovers(built):
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames()}
    assert source_files() <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests/conftest.py"} <= names
    odd = re.compile(r"__pycache__|\.pyc$|^(out|dist|build|\.venv|\.git)/|\.ipynb_checkpoints")
    assert [name for name in names if odd.search(name)] == []


@pytest.mark.long
def test_the_tutorial_runs_from_the_wheel_alone(built, tmp_path):
    unpacked, work = tmp_path / "installed", tmp_path / "work"
    work.mkdir()
    with zipfile.ZipFile(built["wheel"]) as wheel:
        wheel.extractall(unpacked)  # noqa: S202 -- it was built here
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    python = [sys.executable, "-P", "-c"]
    where = subprocess.run(
        [*python, "import forensics; print(forensics.__file__)"],
        cwd=work, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(unpacked)
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = [block for block in pages.blocks(page) if block.kind == "sh"]
    for command, code in (step for block in shown for step in block.steps):
        done = subprocess.run(
            [*python, "from forensics.cli import main; main()", *shlex.split(command)[1:]],
            cwd=work, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, (command, done.stderr[-500:])
