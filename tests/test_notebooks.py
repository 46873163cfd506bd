"""Notebooks run from top to bottom, are stored without outputs and show no content."""

import ast
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRILL = ROOT / "notebooks" / "05_after_the_fix.ipynb"
SAMPLES = ROOT / "data" / "samples"
CONTENT = re.compile(r"SYNTHETIC|canary-[0-9a-f]{32}|drill-key")
"""What the dirty sample's fields of content hold, and what the drill's prompts are made of."""


def parameters(notebook) -> list:
    return [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]


def stated(notebook) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(parameters(notebook)[0].source, {}, names)  # noqa: S102 -- what papermill does
    return names


def with_parameters(notebook, **values):
    """Put a cell after the parameters, as papermill does."""
    at = notebook.cells.index(parameters(notebook)[0]) + 1
    source = "\n".join(f"{name} = {str(value)!r}" for name, value in values.items())
    notebook.cells.insert(at, nbformat.v4.new_code_cell(source))
    return notebook


ALONE = """\
%reset -sf
import functools, forensics
if not hasattr(forensics.read_logs, "cache_info"):
    forensics.read_logs = functools.cache(forensics.read_logs)
"""
"""Each notebook finds nothing of those before it. What all of them read is read once: a case
does not change after reading."""


class Kernel:
    """One kernel for all notebooks, as its start and its imports take longer than they do."""

    def __init__(self, sockets: str, folder: Path) -> None:
        # Through sockets in a folder of their own, so that no port is opened.
        place = f"{sockets}/kernel.json"
        self.manager = AsyncKernelManager(
            kernel_name="python3", transport="ipc", connection_file=place
        )
        run_sync(self.manager.start_kernel)(cwd=str(folder))

    def execute(self, notebook) -> None:
        """Run all cells, in a namespace of their own."""
        notebook.cells.insert(0, nbformat.v4.new_code_cell(ALONE))
        NotebookClient(notebook, km=self.manager, timeout=240).execute()

    def stop(self) -> None:
        run_sync(self.manager.shutdown_kernel)(now=True)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> Iterator[Kernel]:
    # Not under tmp_path: the path of a socket has about a hundred characters at most.
    with tempfile.TemporaryDirectory(prefix="nb-") as sockets:
        started = Kernel(sockets, tmp_path_factory.mktemp("notebooks"))
        yield started
        started.stop()


def shown(notebook) -> str:
    """Everything that a reader of the executed notebook could see."""
    return json.dumps([cell.get("outputs", []) for cell in notebook.cells], ensure_ascii=False)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def test_there_is_a_notebook_to_start_with():
    assert NOTEBOOKS
    assert NOTEBOOKS[0].stem == "00_start_here"


def test_it_is_stored_without_outputs(notebook):
    kept = [c.id for c in notebook.cells if c.get("outputs") or c.get("execution_count")]
    assert kept == []


def test_it_is_valid_and_has_one_parameters_cell(notebook):
    nbformat.validate(notebook)
    assert len(parameters(notebook)) == 1
    names = list(stated(notebook))
    assert names in (["logs", "incident", "out"], ["out", "window", "pool", "fixed_pool"])


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


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p != DRILL], ids=lambda path: path.stem)
def test_it_runs_and_shows_no_content(path, kernel, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    dirty, out = SAMPLES / "glm53-dirty", tmp_path / "out"
    logs = {"logs": dirty / "logs", "incident": dirty / "incident.toml", "out": out}
    kernel.execute(with_parameters(notebook, **logs))
    assert (out / "report.html").exists()
    assert "incomplete" in check_shown(notebook)


NOBODY = [path for path in NOTEBOOKS if path != DRILL]


@pytest.mark.few(3)
@pytest.mark.parametrize("path", NOBODY[::-1], ids=lambda path: path.stem)
def test_it_runs_where_nobody_is_affected(path, kernel, tmp_path):
    log = tmp_path / "all-clear.ndjson"
    told = {"request_id": "a", "tenant_id": "t", "received_at": "2026-09-01T10:00:00Z"}
    told |= {"prompt_tokens": 100, "http_status": 200, "completion_tokens": 3}
    log.write_text(json.dumps(told | {"reserved_pages": 2, "transferred_pages": 2}) + "\n")
    notebook = nbformat.read(path, as_version=4)
    with_parameters(notebook, logs=log, out=tmp_path / "out")
    at = notebook.cells.index(parameters(notebook)[0]) + 1
    notebook.cells[at].source += "\nincident = None"
    kernel.execute(notebook)
    assert "Traceback" not in shown(notebook)


def test_the_drill_is_red_before_the_fix_and_green_after_it(kernel, tmp_path):
    notebook = nbformat.read(DRILL, as_version=4)
    kernel.execute(with_parameters(notebook, out=tmp_path / "out"))
    assert (tmp_path / "out" / "report" / "report.html").exists()
    check_shown(notebook)
    checks = {
        cell.source.rpartition("explore.table(")[2].removesuffix(".checks())"): passed(cell)
        for cell in notebook.cells
        if cell.source.endswith(".checks())")
    }
    assert checks == {
        "broken": ["no", "no", "no", "no"],
        "half": ["no", "yes", "yes", "yes"],
        "fixed": ["yes", "yes", "yes", "yes"],
    }


def check_shown(notebook) -> str:
    """See that no content is shown and nothing is fetched to show what is; return it."""
    seen = shown(notebook)
    assert CONTENT.findall(seen) == []
    assert "text/html" in seen
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*https?:", seen) == []
    assert re.findall(r"import [^;]* from '?https?:", seen) == []
    return seen


def passed(cell) -> list[str]:
    """What a table of checks says of each, in its text form."""
    return re.findall(r"^│ \w+ +┆ (yes|no) ", cell.outputs[0].data["text/plain"], re.MULTILINE)
