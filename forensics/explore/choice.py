"""A choice of requests: the rows that it leaves, and the line of code that leaves them too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import polars as pl


@dataclass(frozen=True)
class Choice:
    """Which requests are looked at; whatever is empty leaves all of them.

    Attributes:
        tiers: tiers of which they are.
        tenants: tenants of which they are; None stands for requests that name none.
        nodes: prefill or decode nodes that they ran on, with their rank.
        models: models that they asked for.
        since: from when, in UTC; a request without a time is left out then.
        until: before when.

    Example:
        >>> Choice(tiers=("confirmed", "probable"), nodes=("decode-01",)).code()
        'case.requests.polars().filter(pl.col("tier").is_in(["confirmed", "probable"]), \
(pl.col("prefill_node").is_in(["decode-01"]) | pl.col("decode_node").is_in(["decode-01"])))'
    """

    tiers: tuple[str, ...] = ()
    tenants: tuple[str | None, ...] = ()
    nodes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def of(self, requests: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a table of requests that are chosen, in their order."""
        return requests.filter(*(condition for _, condition in self._conditions()))

    def code(self, table: str = "case.requests") -> str:
        """Return the line that does the same to a table of the case."""
        inside = ", ".join(text for text, _ in self._conditions())
        return f"{table}.polars().filter({inside})" if inside else f"{table}.polars()"

    def _conditions(self) -> Iterator[tuple[str, pl.Expr]]:
        """Yield each condition as it is written, and as it is applied."""
        if self.tiers:
            yield _among("tier", self.tiers)
        if self.tenants:
            yield _either(*_named("tenant_id", self.tenants))
        if self.nodes:
            yield _either(_among("prefill_node", self.nodes), _among("decode_node", self.nodes))
        if self.models:
            yield _among("model", self.models)
        if self.since is not None:
            text, moment = _moment(self.since)
            yield f'pl.col("received_at") >= {text}', pl.col("received_at") >= moment
        if self.until is not None:
            text, moment = _moment(self.until)
            yield f'pl.col("received_at") < {text}', pl.col("received_at") < moment


_Condition = tuple[str, pl.Expr]


def _among(column: str, values: tuple[str, ...]) -> _Condition:
    listed = ", ".join(map(_text, values))
    return f'pl.col("{column}").is_in([{listed}])', pl.col(column).is_in(list(values))


def _named(column: str, values: tuple[str | None, ...]) -> list[_Condition]:
    known = tuple(value for value in values if value is not None)
    found = [_among(column, known)] if known else []
    if None in values:
        found.append((f'pl.col("{column}").is_null()', pl.col(column).is_null()))
    return found


def _either(first: _Condition, second: _Condition | None = None) -> _Condition:
    if second is None:
        return first
    return f"({first[0]} | {second[0]})", first[1] | second[1]


def _moment(time: datetime) -> _Condition:
    parts = [time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond]
    while len(parts) > 3 and not parts[-1]:
        parts.pop()
    written = ", ".join(map(str, parts))
    return f'pl.datetime({written}, time_zone="UTC")', pl.datetime(*parts, time_zone="UTC")


def _text(value: str) -> str:
    """Return a text as a literal in which nothing that is hidden or beyond ASCII stands raw."""
    body = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{body}"'
