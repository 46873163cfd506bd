"""A notebook as one page to hand on: run anew under pseudonyms, with its figures and tables.

The page opens without a network and asks nobody for anything. Lists to choose from need a
kernel; where they stood, the page has what they showed. It is searched for the names of all
tenants before it is written: pseudonyms are those of the notices that were made with the key.
Request ids, nodes and paths stay; whoever must not see them must not get the page.

Run as ``python -m forensics.explore.export NOTEBOOK -o PAGE --key KEY -p logs PATH ...``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from forensics.errors import ForensicsError, OutputExistsError, UsageError
from forensics.explore.page import made, refuse
from forensics.output import write_private


def export(
    notebook: str | Path,
    page: str | Path,
    key: str | Path,
    parameters: Mapping[str, Any] | None = None,
) -> Path:
    """Run a notebook under pseudonyms and write it as a page.

    Args:
        notebook: with a cell that is tagged ``parameters``; it is not changed.
        page: the new page.
        key: the file of the key of the pseudonyms; made where it is absent.
        parameters: values that replace those of that cell; paths are from the notebook's folder.

    Returns:
        The page.

    Raises:
        OutputExistsError: the page is there already.
        UsageError: a cell failed; the error names its place and quotes nothing.
        PrivacyError: the page holds the name of a tenant, or would fetch something.
    """
    source, place = Path(notebook), Path(page)
    if place.exists():
        raise OutputExistsError(f"{place} exists")
    with tempfile.TemporaryDirectory(prefix="nb-") as private:
        seen = Path(private, "names.json")
        ran = _executed(source, Path(key).resolve(), seen, Path(private), parameters or {})
        names = json.loads(seen.read_bytes()) if seen.exists() else []
    written = made(ran, source.stem)
    refuse(written, names, source.read_text("utf-8"))
    write_private(place, written.encode())
    return place


def _executed(
    source: Path, key: Path, seen: Path, private: Path, parameters: Mapping[str, Any]
) -> Any:
    """Run a notebook's cells behind one that is not part of it, and return it without that."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from traitlets.config import Config

    book = nbformat.read(source, as_version=4)
    own = [cell for cell in book.cells if cell.cell_type == "code"]
    first = f"from forensics.explore import pseudonyms\npseudonyms.use({str(key)!r}, {str(seen)!r})"
    book.cells.insert(_behind_parameters(book), _stated(parameters))
    book.cells.insert(0, nbformat.v4.new_code_cell(first))
    ipc = {"transport": "ipc", "connection_file": str(private / "kernel.json")}
    client = NotebookClient(
        book,
        timeout=None,
        kernel_name="python3",
        resources={"metadata": {"path": str(source.parent)}},
        config=Config(KernelManager=ipc),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        # Its text holds the cell's output, which names tenants.
        raise UsageError(f"{source}: {_failed(own)} failed ({error.ename})") from None
    del book.cells[0]
    return book


def _failed(cells: list[Any]) -> str:
    """Return which of a notebook's own cells of code holds an error, counted as Jupyter does."""
    for number, cell in enumerate(cells, 1):
        if any(output.output_type == "error" for output in cell.outputs):
            return f"cell [{number}]"
    return "the cell of the parameters that were given"


def _behind_parameters(book: Any) -> int:
    for at, cell in enumerate(book.cells):
        if "parameters" in cell.metadata.get("tags", []):
            return at + 1
    raise UsageError("the notebook has no cell that is tagged `parameters`")


def _stated(parameters: Mapping[str, Any]) -> Any:
    import nbformat

    lines = [f"{name} = {value!r}" for name, value in parameters.items()]
    return nbformat.v4.new_code_cell("\n".join(lines))


@click.command()
@click.argument("notebook", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="the new page")
@click.option("--key", required=True, type=click.Path(path_type=Path), help="of the pseudonyms")
@click.option(
    "-p", "parameters", multiple=True, nargs=2, help="name and value; paths from NOTEBOOK's folder"
)
def main(notebook: Path, out: Path, key: Path, parameters: tuple[tuple[str, str], ...]) -> None:
    """Run NOTEBOOK under pseudonyms and write it as one page."""
    try:
        export(notebook, out, key, dict(parameters))
    except ForensicsError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
