"""The table of files in the samples' README: size and SHA-256 of every file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

BEGIN, END = "<!-- files: begin -->", "<!-- files: end -->"


def file_table(root: Path) -> str:
    """Return a Markdown table of every file in the folders under `root`, sorted by path."""
    files = sorted(path for path in root.glob("*/**/*") if path.is_file())
    rows = [
        f"| `{path.relative_to(root).as_posix()}` | {path.stat().st_size} | "
        f"`{sha256(path.read_bytes()).hexdigest()}` |"
        for path in files
    ]
    return "\n".join(["| file | bytes | SHA-256 |", "|---|---:|---|", *rows])


def with_table(readme: str, table: str) -> str:
    """Return `readme` with the text between its two marks replaced by `table`."""
    head, rest = readme.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"
