"""Where times cannot decide, in a sentence for each source of times."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from forensics.wording import count


def sentences(sources: pl.DataFrame) -> Iterator[str]:
    """Yield what cannot be told from the times of each source.

    Args:
        sources: those of :class:`forensics.timing.stage.Timing`.
    """
    if not sources.height:
        yield "No record has a prefill time: timing cannot decide anything here."
    for source, requests, known, tested in sources.iter_rows():
        timed = f"{source}: of {count(requests, 'request')} with a prefill time"
        if not known:
            yield f"{timed}, none has its prompt and cached tokens: timing cannot decide there."
        elif not tested:
            yield f"{timed}, {known:,} have their tokens: too few to know what is usual."
        elif known < requests:
            unknown = requests - known
            yield f"{timed}, {unknown:,} lack prompt or cached tokens: timing cannot decide those."
