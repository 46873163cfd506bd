"""Notebooks run from top to bottom, are stored without outputs and show no content."""

import ast
import json
import re
import shutil
import tempfile
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SAMPLES = ROOT / "data" / "samples"
CANARY = "SYNTHETIC-CANARY"
"""What the dirty sample's fields of content hold, in every record."""


def parameters(notebook) -> list:
    return [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]


def with_parameters(notebook, **values):
    """Put a cell after the parameters, as papermill does."""
    at = notebook.cells.index(parameters(notebook)[0]) + 1
    source = "\n".join(f"{name} = {str(value)!r}" for name, value in values.items())
    notebook.cells.insert(at, nbformat.v4.new_code_cell(source))
    return notebook


def execute(notebook, folder: Path) -> None:
    """Run all cells; through sockets in a folder of their own, so that no port is opened."""
    # Not under tmp_path: the path of a socket has about a hundred characters at most.
    with tempfile.TemporaryDirectory(prefix="nb-") as sockets:
        connection = {"transport": "ipc", "connection_file": f"{sockets}/kernel.json"}
        client = NotebookClient(
            notebook,
            timeout=240,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            config=Config(KernelManager=connection),
        )
        begun = time.perf_counter()
        client.execute()
    seconds = time.perf_counter() - begun
    print(f"{seconds:.1f} s, the start of the kernel included")  # noqa: T201


def shown(notebook) -> str:
    """Everything that a reader of the executed notebook could see."""
    return json.dumps([cell.get("outputs", []) for cell in notebook.cells], ensure_ascii=False)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of notebooks and samples side by side: relative paths hold, nothing is left here."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "samples").symlink_to(SAMPLES)
    return tmp_path


def test_there_is_a_notebook_to_start_with():
    assert NOTEBOOKS
    assert NOTEBOOKS[0].stem == "00_start_here"


def test_it_is_stored_without_outputs(notebook):
    kept = [c.id for c in notebook.cells if c.get("outputs") or c.get("execution_count")]
    assert kept == []


def test_it_is_valid_and_has_one_parameters_cell(notebook):
    nbformat.validate(notebook)
    (cell,) = parameters(notebook)
    names = {}
    exec(cell.source, {}, names)  # noqa: S102 -- our own cell, and this is what papermill does
    assert list(names) == ["logs", "incident", "out"]


def test_it_opens_with_what_it_answers_and_ends_with_what_it_does_not_prove(notebook):
    first, last = notebook.cells[0], notebook.cells[-1]
    assert first.cell_type == last.cell_type == "markdown"
    assert "answers" in first.source
    assert last.source.startswith("## What this does not prove")
    assert "## Where to go next" in last.source


def test_it_has_no_logic(notebook):
    imports = (ast.Import, ast.ImportFrom)
    calls = (*imports, ast.Module, ast.Expr, ast.Assign, ast.expr, ast.keyword, ast.expr_context)
    branches = (ast.IfExp, ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    code = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    nodes = [n for n in ast.walk(ast.parse(code)) if not isinstance(n, (ast.alias, ast.operator))]
    logic = [n for n in nodes if not isinstance(n, calls) or isinstance(n, branches)]
    assert [type(node).__name__ for node in logic] == []


def test_prose_states_no_number(notebook):
    prose = " ".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert [word for word in prose.split() if any(map(str.isdigit, word))] == []


@pytest.mark.long
def test_each_runs_where_it_lies(notebook, copy):
    check_where_it_lies(notebook, copy)


def check_where_it_lies(notebook, copy: Path) -> None:
    names = {}
    exec(parameters(notebook)[0].source, {}, names)  # noqa: S102 -- our own cell
    execute(notebook, copy / "notebooks")
    assert (copy / "notebooks" / names["out"] / "report.html").exists()
    assert "text/html" in shown(notebook)
    assert re.findall(r"<(?:script|link|img)[^>]*https?:", shown(notebook)) == []


def test_nothing_of_the_content_is_shown(notebook, copy, tmp_path):
    dirty = SAMPLES / "glm53-dirty"
    logs = {"logs": dirty / "logs", "incident": dirty / "incident.toml", "out": tmp_path / "out"}
    execute(with_parameters(notebook, **logs), copy / "notebooks")
    assert "incomplete" in shown(notebook)
    assert CANARY not in shown(notebook)
