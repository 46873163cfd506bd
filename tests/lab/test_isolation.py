"""The laboratory must not lean on the analysis that is tried on its data."""

import ast
import sys
from pathlib import Path

import pytest

import forensics.lab

FILES = sorted(Path(forensics.lab.__file__).parent.rglob("*.py"))
ALLOWED = {*sys.stdlib_module_names, "aiohttp", "numpy", "zstandard"}


def imported(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names


def foreign(names: set[str]) -> set[str]:
    return {
        name
        for name in names
        if name.split(".")[0] not in ALLOWED
        and not name.startswith("forensics.lab.")
        and name != "forensics.lab"
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_imports_only_itself_the_standard_library_and_what_it_stands_on(path):
    assert foreign(imported(path.read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import polars",
        "from forensics import schema",
        "import forensics.schema",
        "from .. import x",
    ],
)
def test_the_check_sees_foreign_imports(source):
    assert foreign(imported(source))


def test_randomness_comes_from_seeded_generators_alone():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {a.name for a in node.names} & {"random", "secrets", "uuid", "time"}
            if isinstance(node, ast.ImportFrom) and node.module == "random":
                assert [alias.name for alias in node.names] == ["Random"]
