"""Work for runners, in a module of its own that a child process imports quickly."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CANARY = "CANARY-of-a-prompt"


@dataclass(frozen=True)
class Piece:
    """Some work: its name says what becomes of it, its folder what became of it before."""

    name: str
    folder: Path
    size: int = 5


def work(piece: Piece, progress: Any = None) -> str:
    """Do what the name of the piece says."""
    if progress is not None:
        progress(piece.size, 1)
    if piece.name == "raises":
        raise ValueError(CANARY)
    if piece.name == "refuses":
        from forensics.errors import UsageError

        raise UsageError("not like this")
    if piece.name == "is missing":
        (piece.folder / "nowhere").read_bytes()
    before = piece.folder / f"{piece.name} begun"
    if piece.name == "is always killed" or (piece.name == "is killed once" and not before.exists()):
        before.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{piece.name} done"
