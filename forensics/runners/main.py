"""The program that started a run is left alone by the processes that work for it.

A new process of Python imports the program anew, so that functions of it can be called there.
Ours are functions of this package: there it would do all over again what the user's script does
outside of ``if __name__ == "__main__"``, or end at once where the program came from standard input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_NAMES = ("__spec__", "__file__")
"""By these a new process finds the program."""


@contextmanager
def left_alone(function: Any) -> Iterator[None]:
    """Let processes that start within the block import no program, if the function needs none."""
    main = sys.modules.get("__main__")
    if main is None or not _is_own(function):
        yield
        return
    before = {name: vars(main)[name] for name in _NAMES if name in vars(main)}
    vars(main).update(dict.fromkeys(before))
    try:
        yield
    finally:
        vars(main).update(before)


def _is_own(function: Any) -> bool:
    called = getattr(function, "function", function)
    return getattr(called, "__module__", "").partition(".")[0] == _PACKAGE
