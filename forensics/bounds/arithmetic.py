"""The lowest and highest count that the records themselves allow: it assumes least."""

from __future__ import annotations

from forensics.bounds.twice import Twice
from forensics.exposure import Bound

METHOD = "arithmetic"
COUNTED = "requests that servers counted and their logs lack"


def arithmetic(
    counts: dict[str, int],
    unseen: dict[str, int],
    sampling_rate: float,
    by_length: int = 0,
    twice: Twice = Twice(),  # noqa: B008 -- frozen
) -> Bound:
    """Return the lowest and highest number of affected responses among the requests seen.

    Args:
        counts: requests per tier.
        unseen: kinds of records that could each be one more affected response, and how many.
        sampling_rate: share of requests that was logged at all.
        by_length: requests that the limit alone rules out: no record of prefill counts anything.
        twice: of how many a gateway's record and an engine's may both be counted.
    """
    certain = counts.get("confirmed", 0) + counts.get("probable", 0)
    low = max(certain - twice.certain, min(certain, 1))
    more = {
        "possible": counts.get("possible", 0),
        "not assessable": counts.get("not_assessable", 0),
        **unseen,
    }
    high = certain + sum(more.values()) - twice.counted
    parts = ", ".join(f"{n:,} {name}" for name, n in more.items() if n)
    if parts:
        found = (
            f"Between {low:,} and {high:,} responses: {low:,} confirmed or probable at the least; "
            f"at the most also {parts}."
        )
    else:
        found = f"{low:,} responses at the least and at the most: no record read is undecided."
    sentence = (
        f"{found}{_less(twice)} Arithmetic bound over the records that were given; it assumes that "
        "each unreadable record is one request at most, and says nothing of requests that no "
        "record is left of."
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
    return Bound(low=low, high=high, method=METHOD, sentence=sentence)


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
