"""Metrics in a file that node_exporter's textfile collector picks up."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One metric: its values by label set, ``""`` or ``{name="value"}``."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    values: Mapping[str, int]


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Write metrics, whole: the collector may read at any moment."""
    text = "".join(map(_text, metrics))
    descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # Readable by the collector, which runs as another user: it holds a few numbers.
        Path(made).chmod(0o644)
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def _text(metric: Metric) -> str:
    head = f"# HELP {metric.name} {metric.help}.\n# TYPE {metric.name} {metric.kind}\n"
    return head + "".join(f"{metric.name}{label} {n}\n" for label, n in metric.values.items())
