"""Prefill times: who finds what was never computed, and how fast times are scored."""

from __future__ import annotations

from pathlib import Path

from benchmarks import measure, table, timingdata, timingrivals, timingspeed

_SPEED = ("", "requests", "seconds", "CPU s", "times the reading", "peak MB")
_READING = next(iter(timingspeed.TASKS))


def measured(folder: Path, rows: int, requests: int = timingrivals.REQUESTS) -> str:
    """Return both tables as Markdown.

    Args:
        folder: keeps the generated file.
        rows: requests that are scored for their speed.
        requests: those of each incident in which the finders are compared.
    """
    scores = list(timingrivals.measured(requests))
    return "\n\n".join(
        (
            _said(requests),
            table.markdown(timingrivals.HEAD, timingrivals.cells(scores)),
            _SCORING,
            table.markdown(_SPEED, _speed(folder, rows)),
        )
    )


def _said(requests: int) -> str:
    shares = ", ".join(f"{share:.1%}" for share in timingrivals.SHARES)
    return (
        f"Prefill times of seeded incidents of {requests:,} requests each, of which {shares} were "
        "never computed; nothing but the client's count, the cached tokens and the time is logged. "
        "The two detectors of scikit-learn are told how many there are. Over the limit counts "
        "only requests that are over it, as the tier `probable` does."
    )


_SCORING = (
    "Scoring reads its columns three times, in parts, from Parquet; the reading beside it is one "
    "bare scan of the same columns. Ratios are of CPU time."
)


def _speed(folder: Path, rows: int) -> list[list[str]]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"prefill-times-{rows}.parquet"
    if not file.exists():
        unfinished = file.with_suffix(".part")
        timingdata.write(unfinished, rows)
        unfinished.rename(file)
    figures = [_figure(name, file) for name in timingspeed.TASKS]
    reading = next(figure for figure in figures if figure.name == _READING)
    return [_cells(figure, reading, rows) for figure in figures]


def _figure(name: str, file: Path) -> measure.Figure:
    return measure.task(name, file, 1, module="benchmarks.timingspeed")


def _cells(figure: measure.Figure, reading: measure.Figure, rows: int) -> list[str]:
    clusters = figure.name == _CLUSTERS
    return [
        figure.name,
        f"{timingspeed.FLAGGED if clusters else rows:,}",
        f"{figure.seconds:.2f}",
        f"{figure.cpu_seconds:.2f}",
        "" if clusters else f"× {figure.cpu_seconds / reading.cpu_seconds:.1f}",
        f"{figure.peak_bytes / 1e6:,.0f}",
    ]


_CLUSTERS = list(timingspeed.TASKS)[-1]
