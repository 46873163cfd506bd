"""The lowest and highest count that the records themselves allow: it assumes least."""

from __future__ import annotations

from forensics.bounds.twice import Twice
from forensics.exposure import Bound
from forensics.wording import count

METHOD = "arithmetic"
COUNTED = "request(s) that servers counted and their logs lack"


def arithmetic(
    counts: dict[str, int],
    unseen: dict[str, int],
    sampling_rate: float,
    by_length: int = 0,
    twice: Twice = Twice(),  # noqa: B008 -- frozen
    unread: int = 0,
) -> Bound:
    """Return the lowest and highest number of affected responses among the requests seen.

    Args:
        counts: requests per tier.
        unseen: kinds of records that could each be one more affected response, and how many.
        sampling_rate: share of requests that was logged at all.
        by_length: requests that the limit alone rules out: no record of prefill counts anything.
        twice: of how many a gateway's record and an engine's may both be counted.
        unread: files, or rests of files, of which nobody knows how many requests they hold.
    """
    certain = counts.get("confirmed", 0) + counts.get("probable", 0)
    low = max(certain - twice.certain, min(certain, 1))
    open_ = {name: counts.get(name, 0) for name in ("possible", "not_assessable")}
    high = certain + sum(open_.values()) + sum(unseen.values()) - twice.counted
    parts = [f"{n:,} {name.replace('_', ' ')}" for name, n in open_.items() if n]
    parts += [count(n, name) for name, n in unseen.items() if n]
    found = _unbounded(low, parts, unread) if unread else _between(low, high, ", ".join(parts))
    other = "other " if unread else ""
    sentence = (
        f"{found}{_less(twice)} Arithmetic bound over the records that were given; it assumes that "
        f"each {other}unreadable record is one request at most, and says nothing of requests that "
        "no record is left of."
    )
    if unseen.get(COUNTED):
        sentence += (
            f" Of those it holds the {unseen[COUNTED]:,} that servers counted, as if each were "
            "affected and none of them another that is counted here."
        )
    if max(0, by_length):
        sentence += (
            f" It takes the limit at its word for {by_length:,} below it of which no record of "
            "prefill with a count of tokens or pages was given."
        )
    if sampling_rate < 1:
        sentence += (
            f" The logs hold a sample ({sampling_rate:g} of all requests), so both ends count "
            "sampled requests only; the total is larger."
        )
    return Bound(low=low, high=None if unread else high, method=METHOD, sentence=sentence)


def _between(low: int, high: int, more: str) -> str:
    if not more:
        lowest = count(low, "response")
        return f"{lowest} at the least and at the most: no record read is undecided."
    return (
        f"Between {low:,} and {high:,} responses: {low:,} confirmed or probable at the least; "
        f"at the most also {more}."
    )


def _unbounded(low: int, more: list[str], unread: int) -> str:
    known = f" What is known to be undecided: {', '.join(more)}." if more else ""
    return (
        f"At least {count(low, 'response')}: those confirmed or probable. There is no highest "
        f"number: {count(unread, 'file')} could not be read, or not as a whole, and may hold any "
        f"number of requests (unreadable.csv).{known}"
    )


def _less(twice: Twice) -> str:
    """Say by how much the ends are below what was counted, and why."""
    ends = (("least", twice.certain), ("most", twice.counted))
    parts = [f"{number:,} fewer at the {end}" for end, number in ends if number]
    if not parts:
        return ""
    return (
        f" That is {' and '.join(parts)} than are listed: two records of one size and time may "
        "be of one request, and their ids do not tell."
    )
