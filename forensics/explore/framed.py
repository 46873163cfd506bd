"""A finished page inside of a notebook, in a frame of its own: neither changes the other."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

_NONE = "There is no such page."


@dataclass(frozen=True)
class Framed:
    """A page of a report or a notice, as its reader opens it."""

    path: Path | None
    height: int

    def __repr__(self) -> str:
        return _NONE if self.path is None else f"Framed({str(self.path)!r})"

    def _repr_html_(self) -> str:
        if self.path is None:
            return f"<p>{_NONE}</p>"
        # Without scripts, and with the page's own policy, which counts in a frame alone.
        page = html.escape(self.path.read_text("utf-8"))
        look = f"width:99%;height:{self.height}px;border:1px solid #dcdcdc;display:block"
        return f"<iframe sandbox srcdoc='{page}' style='{look}'></iframe>"


def framed(path: str | Path | None, height: int = 900) -> Framed:
    """Show a page, ``height`` pixels of it; the rest is reached by scrolling.

    None is said to be no page: where nobody is affected nobody is told.
    """
    return Framed(None if path is None else Path(path), height)
