"""What each watch would have seen, in sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forensics.checklist import HEADROOM
from forensics.timing.soonest import Signal, State, Watch
from forensics.wording import count

_UNITS: dict[Signal, str] = {
    "pool against context": "epochs",
    "p5 alarm": "hours of long prompts",
    "transfer mismatch": "hand-offs",
}
_MAIN: dict[tuple[Signal, State], str] = {
    ("pool against context", "fired"): f"A pool below {HEADROOM} x the window would have blocked "
    "the deploy {when}.",
    ("pool against context", "quiet"): f"No prefill pool was below {HEADROOM} x its window.",
    ("pool against context", "cannot tell"): "No prefill epoch with both pool and window is known: "
    "what a check at deploy would have said cannot be told.",
    ("canary", "fired"): "A canary saw a foreign marker {when}.",
    ("canary", "quiet"): "No canary record shows a foreign marker.",
    ("canary", "cannot tell"): "No canary record was read: whether one would have seen it, and "
    "when, cannot be told.",
    ("p5 alarm", "fired"): "The 5th percentile of long prompts fell below half of what was usual "
    "in an hour that ended {when}.",
    ("p5 alarm", "quiet"): "In no hour did the 5th percentile of long prompts fall below half of "
    "what was usual.",
    ("p5 alarm", "cannot tell"): "No hour of long prompts has enough hours before it to know what "
    "is usual.",
    ("transfer mismatch", "fired"): "A hand-off of another number of pages than were reserved was "
    "logged {when}.",
    ("transfer mismatch", "quiet"): "Every hand-off with both counts brought as many pages as were "
    "reserved.",
    ("transfer mismatch", "cannot tell"): "No hand-off was logged with both counts of its pages.",
}


def sentence(watch: Watch) -> str:
    """Return what the watch would have seen, what came before, and its false alarms."""
    said = _MAIN[watch.signal, watch.state].format(when=_when(watch))
    return " ".join(part for part in (said, _before(watch), _false(watch)) if part)


def _when(watch: Watch) -> str:
    if watch.first_at is None:
        return "before the first record" if watch.before is not None else "at an unknown time"
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=watch.first_at)
    return f"at {at:%Y-%m-%d %H:%M:%S} UTC"


def _before(watch: Watch) -> str:
    if watch.state == "cannot tell":
        return ""
    if not watch.affected:
        return "No response with a known time is affected."
    if watch.before is None:
        return "How many affected responses came before it cannot be told."
    came = f"{watch.before:,} of {count(watch.affected, 'affected response')} came"
    return f"{came} before it." if watch.state == "fired" else f"{came} without it."


def _false(watch: Watch) -> str:
    if watch.clean is None:
        told = watch.state == "fired"
        return "It is itself what confirms a response: no such alarm is false." if told else ""
    if watch.state == "cannot tell":
        return ""
    if not watch.clean:
        return f"None of the {_UNITS[watch.signal]} could be told clean, nor an alarm false."
    clean = f"{watch.clean:,} clean {_UNITS[watch.signal]}"
    return f"False alarms: {watch.false_alarms:,} of {clean}."
