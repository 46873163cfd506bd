"""A finished page inside of a notebook, in a frame of its own: neither changes the other."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Framed:
    """A page of a report or a notice, as its reader opens it."""

    path: Path
    height: int

    def _repr_html_(self) -> str:
        # Without scripts, and with the page's own policy, which counts in a frame alone.
        page = html.escape(self.path.read_text("utf-8"))
        look = f"width:99%;height:{self.height}px;border:1px solid #dcdcdc;display:block"
        return f"<iframe sandbox srcdoc='{page}' style='{look}'></iframe>"


def framed(path: str | Path, height: int = 900) -> Framed:
    """Show a page, ``height`` pixels of it; the rest is reached by scrolling."""
    return Framed(Path(path), height)
