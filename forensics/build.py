"""Which build this is: one hash of every file of the package.

The version alone does not tell: two builds of one version can word a page differently, and
only the one that wrote it makes the same bytes again.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_LEFT_OUT = ("__pycache__",)


@cache
def build() -> str:
    """Return the hash of all files of the package, by name and bytes."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).parts):
        parts = path.relative_to(root).parts
        if path.is_file() and not set(parts) & set(_LEFT_OUT):
            data = path.read_bytes()
            found.update(f"{'/'.join(parts)}\0{len(data)}\0".encode() + data)
    return found.hexdigest()
