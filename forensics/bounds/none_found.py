"""What it means that none was found: never that there is none."""

from __future__ import annotations

from forensics.bounds.statistical import none_in_review, none_in_sample
from forensics.exposure import ShareBound


def none_found(judged: int, unjudged: int) -> list[ShareBound]:
    """Return which share can be affected where none of the requests that were judged is.

    Args:
        judged: requests in scope that were ruled out.
        unjudged: requests in scope that could not be judged.
    """
    if not judged:
        return []
    one = none_in_review(judged)
    high = float(one.high or 0.0)
    said = (
        f"None of {judged:,} requests that could be judged is affected: of requests like these at "
        f"the most {high:.2%} are ({one.level:.0%}, {one.sided}, {one.method}), if "
        f"{one.assumption}."
    )
    found = [ShareBound("none found", 0.0, high, one.level, one.sided, one.method, said)]
    if unjudged:
        rest = none_in_sample(judged + unjudged, judged)
        most = min(int(rest.high or 0), unjudged)
        said = (
            f"Of the {unjudged:,} requests that could not be judged at the most {most:,} are "
            f"affected ({rest.level:.0%}, {rest.sided}, {rest.method}), if {rest.assumption}: "
            "missing records are hardly ever missing at random, so up to all of them can be."
        )
        share = most / unjudged
        found.append(
            ShareBound("not judged", 0.0, share, rest.level, rest.sided, rest.method, said)
        )
    return found
