"""Commands on finished folders use what other modules offer, not what those keep to themselves."""

import ast
from pathlib import Path

import pytest

import forensics

PACKAGE = Path(forensics.__file__).parent


@pytest.mark.parametrize("part", ["evidence", "ingest", "checking", "commands"])
def test_no_private_name_of_another_module_is_imported(part):
    private = [
        (path.name, alias.name)
        for path in sorted((PACKAGE / part).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("forensics")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "__version__"
    ]
    assert private == []
