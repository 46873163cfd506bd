"""The judge of times and the laws that draw them know nothing of each other."""

import ast
from pathlib import Path

import pytest

import forensics.lab
import forensics.timing


def imports(package) -> set[str]:
    names = set()
    for path in Path(package.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize(
    ("package", "other"),
    [(forensics.timing, "forensics.lab"), (forensics.lab, "forensics.timing")],
    ids=["timing", "lab"],
)
def test_neither_imports_the_other(package, other):
    found = imports(package)
    assert any(name.startswith(package.__name__) for name in found)
    assert not [name for name in found if name.startswith(other)]


def test_no_library_of_machine_learning_is_needed():
    heads = {name.split(".")[0] for name in imports(forensics.timing)}
    assert heads.isdisjoint({"scipy", "sklearn"})
