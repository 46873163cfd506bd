"""Takes off a notebook all but what a person wrote: its cells' texts, ids and tags.

Outputs, counts, what tools noted of the run, and attachments, which are pictures of outputs.

From standard input to standard output, as git calls a filter; with nothing but Python's own
library, so that it takes no time and works in any clone.
"""

import json
import sys
from typing import Any

_KERNEL = ("display_name", "language", "name")


def stripped(book: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook as it was before it ran; a cell keeps its id, text and tags."""
    kept = book["metadata"]
    metadata = {"language_info": {"name": kept.get("language_info", {}).get("name", "python")}}
    if "kernelspec" in kept:
        metadata["kernelspec"] = _only(kept["kernelspec"], _KERNEL)
    made = _only(book, ("nbformat", "nbformat_minor"))
    return made | {"metadata": metadata, "cells": [_cell(cell) for cell in book["cells"]]}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    tags = cell["metadata"].get("tags")
    plain = _only(cell, ("cell_type", "id", "source"))
    plain["metadata"] = {"tags": tags} if tags else {}
    if cell["cell_type"] == "code":
        plain |= {"outputs": [], "execution_count": None}
    return plain


def _only(found: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}


def strip(data: bytes) -> bytes:
    """Return the bytes of a notebook as git keeps them."""
    made = stripped(json.loads(data))
    text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True)
    return text.encode() + b"\n"


def main() -> None:
    """Strip one notebook; what is none is an error that quotes nothing of it."""
    try:
        made = strip(sys.stdin.buffer.read())
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit("strip: this is no notebook; nothing was taken off it")
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
