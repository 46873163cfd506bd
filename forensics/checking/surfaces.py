"""Where the values that verdicts need can be had from: logs, end points, settings by hand.

Which engine writes what is listed by ``forensics formats``; this says what to ask the owner
of a node for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forensics.checking.document import Source
from forensics.checking.retention import (
    BY_HAND,
    PROMETHEUS,
    ROTATED,
    RUNNING,
    SITE,
    STDOUT,
    Kept,
)


@dataclass(frozen=True)
class Surface:
    """One place a value can be had from; ``engine`` is None where any engine may have it."""

    engine: str | None
    name: str
    how: str
    kept: Kept


_RECORDS = (
    Surface(
        "sglang",
        "node log with time stats",
        "0.4.10 or later, if it ran with --enable-request-time-stats-logging; in what the node "
        "printed",
        STDOUT,
    ),
    Surface(
        "sglang",
        "request log, level 0 or 1",
        "if it ran with --log-requests; printed, or in the folder of --log-requests-target; "
        "levels 2 (the default) and 3 hold prompts",
        STDOUT,
    ),
    Surface(
        "sglang",
        "exporter files",
        "0.5.6 or later, if it ran with --export-metrics-to-file; they hold prompts unless it also "
        "ran with "
        "--log-requests --log-requests-level 0 or 1",
        ROTATED,
    ),
    Surface(
        None,
        "trace spans",
        "if it ran with tracing: the root spans of both engines",
        SITE,
    ),
    Surface(
        None,
        "the engine's records of requests",
        "any log with an id that both sides share, the prompt's token count and the tokens "
        "generated",
        SITE,
    ),
)
_LIMIT = (
    Surface(
        "sglang",
        "start-up log",
        "the lines max_total_num_tokens=, KV Cache is allocated and server_args= of each start",
        STDOUT,
    ),
    Surface(
        None,
        "/server_info",
        "ask the running engine; it speaks for that start alone; holds keys in clear",
        RUNNING,
    ),
    Surface(
        None,
        "metrics of the pool",
        "query what was scraped (SGLang: sglang:max_total_num_tokens, by rank)",
        PROMETHEUS,
    ),
    Surface(
        None,
        "[[capacity]] in incident.toml",
        "pool_tokens, page_tokens and context_tokens of the prefill nodes, if known otherwise",
        BY_HAND,
    ),
)
_OUTCOME = (
    Surface(None, "decode node's records of requests", "with the tokens generated", STDOUT),
    Surface(
        None,
        "gateway log",
        "if one stands in front: the status the client got, or completion tokens",
        SITE,
    ),
)
_TENANT = (
    Surface(
        None,
        "gateway log",
        "if one stands in front: account, team or API-key alias, and an id that an engine's record "
        "has too",
        SITE,
    ),
    Surface(
        "sglang",
        "request log, level 0 or 1",
        "if a header or label names the tenant (SGLANG_LOG_REQUEST_HEADERS)",
        STDOUT,
    ),
    Surface(
        None,
        "[logs] tenant_from in incident.toml",
        "where the records name the tenant in a field of another name",
        BY_HAND,
    ),
)
_ZONE = (
    Surface(
        None,
        "[logs] timezone in incident.toml",
        "the zone that the nodes' clocks ran in, if it is the same for all",
        BY_HAND,
    ),
)
_DAYS = (
    Surface(None, "the nodes' logs of those days", "rotated and archived files too", STDOUT),
    Surface(None, "log store", "an export of the same streams", SITE),
)

SURFACES: dict[str, tuple[Surface, ...]] = {
    "prefill side": _RECORDS,
    "decode side": _RECORDS,
    "both sides": _RECORDS,
    "requests": _RECORDS,
    "prefill limit": _LIMIT,
    "outcome": _OUTCOME,
    "tenants": _TENANT,
    "time zone": _ZONE,
    "days": _DAYS,
}
"""By need, in order of how much they show."""


def sources(need: str, engines: Iterable[str]) -> list[Source]:
    """Return the sources for a need on these engines, those that are soon gone first."""
    known = set(engines)
    fitting = [
        surface
        for surface in SURFACES[need]
        if surface.engine is None or not known or surface.engine in known
    ]
    return [
        Source(s.name, s.how, s.kept.sentence, s.kept.short, s.kept.days)
        for s in sorted(fitting, key=lambda s: not s.kept.short)
    ]
