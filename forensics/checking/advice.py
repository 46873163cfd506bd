"""The next-best logs: what to fetch or set, how many undecided requests it would settle, how soon.

What is soon gone comes first, then what settles most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import msgspec
import polars as pl

from forensics.capacity import server_of
from forensics.checking import surfaces, whatif
from forensics.checking.document import Advice, Day, Gap, NodeDay
from forensics.checking.gaps import named
from forensics.checking.judged import Judged, whole_number
from forensics.checking.presence import day_of
from forensics.checking.survey import Survey
from forensics.wording import count

_ACTIONS = {
    "prefill side": "Fetch prefill's records of these requests",
    "decode side": "Fetch decode's records of these requests",
    "both sides": "Fetch prefill's and decode's records of these requests",
    "prefill limit": "Find the pool or limit of the prefill nodes",
    "outcome": "Find out which of these requests were answered",
    "time zone": "State the zone of the nodes' clocks",
    "tenants": "Find the tenants of these requests",
    "days": "Fetch the logs of the days that are missing",
    "requests": "Fetch the records of requests of both sides",
}
_NOT_ALL = {
    "prefill limit": "below the limit is ruled out, at or over it stays possible until prefill's "
    "side is read",
}


def advise(
    survey: Survey, found: Judged, gaps: list[Gap], days: list[NodeDay], today: date
) -> list[Advice]:
    """Return what to do next, in the order of doing it."""
    items = [
        *_settling(survey, found, days, today),
        *_naming(survey, found, today),
    ]
    items += _filling(survey, found, gaps, today, {item.need for item in items})
    return sorted(items, key=_rank)


def _rank(item: Advice) -> tuple[bool | int | str, ...]:
    figures = (item.settles, item.judges, item.confirms, item.names)
    effect = any(figures) or item.need in _UNTOLD
    soon_gone = any(source.short_lived for source in item.sources)
    return (not effect, not soon_gone, *(-figure for figure in figures), item.need)


_UNTOLD = ("days", "requests")
"""What these would do cannot be told from what is here."""


def _settling(survey: Survey, found: Judged, days: list[NodeDay], today: date) -> Iterator[Advice]:
    """Yield what would settle undecided requests, or get them judged."""
    for effect in whatif.effects(found.rows, survey.incident):
        settled = found.rows.filter(effect.settled)
        judged = found.rows.filter(effect.judged & ~effect.settled)
        more = found.lost_weight if effect.need == "prefill side" else 0.0
        settles = whole_number(float(settled["weight"].sum()) + more)
        judges = whole_number(float(judged["weight"].sum()))
        cleared = found.by_length.filter(pl.col("lost_side") == _LOST_SIDE.get(effect.need, ""))
        confirms = whole_number(float(cleared["weight"].sum()))
        if settles or judges or confirms:
            yield _item(
                survey,
                effect.need,
                today,
                settles=settles,
                judges=judges,
                confirms=confirms,
                of=found.estimated,
                oldest=_oldest(pl.concat([settled, judged, cleared])),
                nodes=_silent(effect.need, days),
            )


def _naming(survey: Survey, found: Judged, today: date) -> Iterator[Advice]:
    """Yield where the tenants could come from, if requests that may be affected lack them."""
    rows = found.nameless
    if rows.height:
        names = whole_number(rows.height * survey.factor)
        yield _item(survey, "tenants", today, names=names, of=found.estimated, oldest=_oldest(rows))


def _filling(
    survey: Survey, found: Judged, gaps: list[Gap], today: date, besides: set[str]
) -> Iterator[Advice]:
    """Yield what fills gaps of which no request of the sample says how many it would settle."""
    by_need: dict[str, list[Gap]] = {}
    for gap in gaps:
        need = _FILLED_BY.get(gap.code)
        if need is not None and need not in besides:
            by_need.setdefault(need, []).append(gap)
    for need, own in by_need.items():
        nodes = sorted({node for gap in own for node in gap.nodes})
        days = [gap.first_day for gap in own if gap.first_day is not None]
        oldest = min(days, default=None)
        yield _item(survey, need, today, of=found.estimated, oldest=oldest, nodes=nodes)


_FILLED_BY = {
    "no_requests": "requests",
    "window": "days",
    "node_days": "days",
    "no_limit": "prefill limit",
    "no_tenants": "tenants",
    "zone_unknown": "time zone",
}


def _item(  # noqa: PLR0913 -- one figure each
    survey: Survey,
    need: str,
    today: date,
    *,
    of: int,
    settles: int = 0,
    judges: int = 0,
    confirms: int = 0,
    names: int = 0,
    oldest: Day | None = None,
    nodes: list[str] | None = None,
) -> Advice:
    engines = survey.analysis.capacity.epochs["engine"].drop_nulls().unique().sort().to_list()
    age = None if oldest is None else (today - date.fromisoformat(oldest)).days
    item = Advice(
        need=need,
        action=_ACTIONS[need],
        sentence="",
        settles=settles,
        judges=judges,
        confirms=confirms,
        names=names,
        of=of,
        exact=survey.whole,
        nodes=nodes or [],
        sources=surfaces.sources(need, engines),
        oldest_day=oldest,
        age_days=age,
    )
    return msgspec.structs.replace(item, sentence=_sentence(item))


def _sentence(item: Advice) -> str:
    """Say what an item would do, for how many requests, and how old the oldest is."""
    about = "" if item.exact else "about "
    parts = []
    if item.settles:
        parts.append(f"would settle {about}{item.settles:,} of {item.of:,} undecided requests")
    if item.judges:
        rest = _NOT_ALL.get(item.need, "the others stay possible")
        parts.append(
            f"would get {about}{item.judges:,} of {item.of:,} undecided requests judged ({rest})"
        )
    if item.confirms:
        parts.append(
            f"would show of {about}{count(item.confirms, 'request')} ruled out by length alone "
            "what was computed"
        )
    if item.names:
        parts.append(f"would name the tenant of {about}{count(item.names, 'request')}")
    if not parts:
        parts.append(_WITHOUT_COUNT.get(item.need, "would settle none of the requests read"))
    silent = item.need in _SIDES and bool(item.nodes)
    where = f" ({named(item.nodes)})" if item.nodes and not silent else ""
    return (
        f"{item.action}{where}: {'; '.join(parts)}.{_silence(item) if silent else ''}{_age(item)}"
    )


_WITHOUT_COUNT = {
    "days": "how many requests they hold cannot be told from the days that are here",
    "requests": "without them nothing can be judged",
    "prefill limit": "would settle none of the requests read; it judges those of which prefill's "
    "record is missing",
    "tenants": "none of the requests read that name no tenant may be affected",
    "time zone": "its times may be off by up to 14 hours until then",
}


def _silence(item: Advice) -> str:
    """Say that a node's log is here and does not have them: fetching it again is no use."""
    return (
        f" The log of {named(item.nodes)} is here and has none: look for what else the node "
        "wrote; what was not switched on then cannot be had now."
    )


def _age(item: Advice) -> str:
    """Say how long ago the oldest day was, against the default of what forgets by time."""
    if item.oldest_day is None or item.age_days is None or item.age_days < 0:
        return ""
    text = f" The oldest of them is of {item.oldest_day}, {count(item.age_days, 'day')} ago."
    for source in item.sources:
        if source.kept_days is not None:
            left = source.kept_days - item.age_days
            text += (
                f" {source.name}: gone by now unless kept longer than {source.kept_days} days."
                if left < 0
                else f" {source.name}: {count(left, 'day')} left by default."
            )
    return text


def _oldest(rows: pl.DataFrame) -> Day | None:
    first = rows["received_at"].min()
    return day_of(first) if isinstance(first, int) else None


_LOST_SIDE = {"prefill side": "prefill", "decode side": "decode", "both sides": "engine"}
_SIDES = {
    "prefill side": {"prefill"},
    "decode side": {"decode"},
    "both sides": {"prefill", "decode"},
}


def _silent(need: str, days: Iterable[NodeDay]) -> list[str]:
    """Return the nodes that are here and could have written what is needed, but did not."""
    sides = _SIDES.get(need, set())
    quiet = {row.node for row in days if row.lines and not row.counts and sides & set(row.sides)}
    return sorted({server_of(node) for node in quiet})
