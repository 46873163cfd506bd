"""environment.yml and pyproject.toml must ask for the same things."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

# conda-forge's name -> PyPI's, where they differ; names that the map leaves out are the
# same on both sides.
PYPI_NAMES: dict[str, str] = {}

# In environment.yml alone: what pip users have before they install anything.
CONDA_ONLY = {"python", "pip"}


def split(requirement: str) -> tuple[str, str]:
    """A requirement's normalised name and its version bounds."""
    match = re.fullmatch(r"([A-Za-z0-9._-]+)\s*([<>=!~].*)?", requirement.strip())
    assert match, f"a plain name and bounds were expected: {requirement!r}"
    name = re.sub(r"[-_.]+", "-", match[1]).lower()
    return name, ",".join(sorted((match[2] or "").replace(" ", "").split(",")))


def conda_side(environment: dict) -> dict[str, str]:
    entries = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pairs = map(split, entries)
    return {PYPI_NAMES.get(name, name): bounds for name, bounds in pairs if name not in CONDA_ONLY}


def pypi_side(project: dict) -> dict[str, str]:
    return dict(map(split, project["dependencies"] + project["optional-dependencies"]["notebooks"]))


def differences(conda: dict[str, str], pypi: dict[str, str]) -> list[str]:
    """One line for each name that is missing on a side or has other bounds there."""
    return [
        f"{name}: environment.yml {conda.get(name, 'lacks it')}, "
        f"pyproject.toml {pypi.get(name, 'lacks it')}"
        for name in sorted(conda.keys() | pypi.keys())
        if conda.get(name) != pypi.get(name)
    ]


@pytest.fixture
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.fixture
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_both_files_ask_for_the_same(environment, project):
    assert differences(conda_side(environment), pypi_side(project)) == []


def test_no_dependency_is_listed_twice(environment, project):
    listed = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    assert len(conda_side(environment)) == len(listed) - len(CONDA_ONLY)
    declared = project["dependencies"] + project["optional-dependencies"]["notebooks"]
    assert len(pypi_side(project)) == len(declared)


def test_a_dependency_removed_from_either_file_is_noticed(environment, project):
    conda, pypi = conda_side(environment), pypi_side(project)
    for name in conda.keys() | pypi.keys():
        without = {other: bounds for other, bounds in conda.items() if other != name}
        assert differences(without, pypi), name
        without = {other: bounds for other, bounds in pypi.items() if other != name}
        assert differences(conda, without), name


def test_both_files_ask_for_the_same_python(environment, project):
    bounds = dict(split(e) for e in environment["dependencies"] if isinstance(e, str))["python"]
    assert bounds == split("python" + project["requires-python"])[1]


def test_conda_installs_the_package_itself_last(environment):
    assert environment["channels"][0] == "conda-forge"
    assert environment["dependencies"][-1] == {"pip": ["-e .[notebooks]"]}


def test_every_mapped_name_is_in_use(environment):
    names = {split(entry)[0] for entry in environment["dependencies"] if isinstance(entry, str)}
    assert PYPI_NAMES.keys() <= names
