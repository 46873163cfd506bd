"""Takes off a notebook what its run left: outputs, counts, and what tools noted of the run.

From standard input to standard output, as git calls a filter; with nothing but Python's own
library, so that it takes no time and works in any clone.
"""

import json
import sys
from typing import Any


def stripped(book: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook as it was before it ran; a cell keeps its id, text and tags."""
    kept = book["metadata"]
    language = {"name": kept.get("language_info", {}).get("name", "python")}
    metadata = {"language_info": language}
    if "kernelspec" in kept:
        metadata["kernelspec"] = kept["kernelspec"]
    return book | {"metadata": metadata, "cells": [_cell(cell) for cell in book["cells"]]}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    tags = cell["metadata"].get("tags")
    plain = cell | {"metadata": {"tags": tags} if tags else {}}
    if cell["cell_type"] == "code":
        plain |= {"outputs": [], "execution_count": None}
    return plain


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
