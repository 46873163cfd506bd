"""The incident file that goes with a run: case, scope, trigger, timeline, log zone."""

from __future__ import annotations

from forensics.lab.clock import Micros, rfc3339
from forensics.lab.records import LabRun


def incident_toml(run: LabRun, case_id: str, title: str, detected: Micros, zone: str | None) -> str:
    """Return `incident.toml`; the timeline has the events that the run really had."""
    config = run.config
    day = 86_400_000_000
    window = (config.start // day * day, -(-config.end // day) * day)
    timeline = [("introduced", config.start), ("detected", detected)]
    if config.outage is not None and config.fix_at is not None:
        timeline += [
            ("model_off", config.outage[0]),
            ("fixed", config.fix_at),
            ("restored", config.outage[1]),
        ]
    lines = [
        "[case]",
        f'id = "{case_id}"',
        f'title = "{title}"',
        "",
        "[scope]",
        f'models = ["{config.model}"]',
        f'window = ["{_whole(window[0])}", "{_whole(window[1])}"]',
        "",
        "[trigger]",
        'mechanism = "read"',
        "",
        "[timeline]",
        *(f'{name} = "{_whole(instant)}"' for name, instant in timeline),
    ]
    if zone is not None:
        lines += ["", "[logs]", f'timezone = "{zone}"']
    return "\n".join(lines) + "\n"


def _whole(instant: Micros) -> str:
    return rfc3339(instant)[:19] + "Z"
