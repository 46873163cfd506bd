"""Incident forensics for inference fleets: whose responses held whose data, from logs alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from forensics._version import __version__

if TYPE_CHECKING:
    from forensics.case import Case, read_logs
    from forensics.errors import ForensicsError
    from forensics.exposure import Exposure
    from forensics.frames import judge, prefill_p5
    from forensics.incident import Incident
    from forensics.incident import load as load_incident
    from forensics.runners import use

_WHERE = {
    "Case": ("forensics.case", "Case"),
    "Exposure": ("forensics.exposure", "Exposure"),
    "ForensicsError": ("forensics.errors", "ForensicsError"),
    "Incident": ("forensics.incident", "Incident"),
    "judge": ("forensics.frames", "judge"),
    "load_incident": ("forensics.incident", "load"),
    "prefill_p5": ("forensics.frames", "prefill_p5"),
    "read_logs": ("forensics.case", "read_logs"),
    "use": ("forensics.runners", "use"),
}

__all__ = [
    "Case",
    "Exposure",
    "ForensicsError",
    "Incident",
    "__version__",
    "judge",
    "load_incident",
    "prefill_p5",
    "read_logs",
    "use",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package does nothing else."""
    if name not in _WHERE:
        raise AttributeError(f"module 'forensics' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
