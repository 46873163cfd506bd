"""By how much the count could be wrong: the arithmetic bound, which assumes least."""

from __future__ import annotations

from forensics.exposure import Bound

METHOD = "arithmetic"


def arithmetic(
    counts: dict[str, int], unreadable: int, unpaired: int, sampling_rate: float
) -> Bound:
    """Return the lowest and highest number of affected responses among the requests seen.

    Args:
        counts: requests per tier.
        unreadable: records that could not be read; each could be one affected response.
        unpaired: gateway records set aside because an engine's record may stand for them.
        sampling_rate: share of requests that was logged at all.
    """
    low = counts.get("confirmed", 0) + counts.get("probable", 0)
    possible, unknown = counts.get("possible", 0), counts.get("not_assessable", 0)
    high = low + possible + unknown + unreadable + unpaired
    parts = [
        f"{possible:,} possible",
        f"{unknown:,} not assessable",
        f"{unreadable:,} unreadable records",
    ]
    if unpaired:
        parts.append(f"{unpaired:,} gateway records that pair with no engine record")
    sentence = (
        f"Between {low:,} and {high:,} responses: {low:,} confirmed or probable at the least; "
        f"at the most also {', '.join(parts)}. Arithmetic bound over the records that were given; "
        "it assumes that each unreadable record is one request at most, and says nothing of "
        "requests that no record is left of."
    )
    if sampling_rate < 1:
        sentence += (
            f" The logs hold a sample ({sampling_rate:g} of all requests), so both ends count "
            "sampled requests only; the total is larger."
        )
    return Bound(low=low, high=high, method=METHOD, sentence=sentence)
