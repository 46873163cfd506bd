"""One request, and one tenant with its requests: picture, card, and the next line of code."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import polars as pl

from forensics.evidence.explaintenant import TenantExplanation, explain_tenant
from forensics.evidence.explaintext import Explained, tenant_lines
from forensics.explore.pictures import Picture, picture
from forensics.explore.tabling import Shown, table
from forensics.explore.timeline import timeline
from forensics.shown import shown

if TYPE_CHECKING:
    from forensics.case import Case


@dataclass(frozen=True)
class OneRequest:
    """A request over its hops, and each of its values with its place."""

    explained: Explained

    @property
    def timeline(self) -> Picture:
        """When each hop had it."""
        return picture(timeline(self.explained.attempts))

    def __repr__(self) -> str:
        return repr(self.explained)

    def _repr_html_(self) -> str:
        return self.timeline._repr_html_() + self.explained._repr_html_()


@dataclass(frozen=True)
class NoRequest:
    """Nothing to show: no request was asked for."""

    def __repr__(self) -> str:
        return "There is no such request."

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"


@overload
def request(case: Case, request_id: str) -> OneRequest: ...


@overload
def request(case: Case, request_id: None) -> NoRequest: ...


def request(case: Case, request_id: str | None) -> OneRequest | NoRequest:
    """Show one listed request: its timeline over the hops, and why it is in its tier.

    Args:
        case: the case.
        request_id: the request, by any of its ids; None, as the first of none is, shows that
            there is none.

    Raises:
        UsageError: no table of the case lists it.
    """
    return NoRequest() if request_id is None else OneRequest(case.explain(request_id))


@dataclass(frozen=True)
class OneTenant:
    """A tenant in both populations, which are never added up, and its listed requests."""

    found: TenantExplanation
    requests: pl.DataFrame

    def __repr__(self) -> str:
        return "\n".join(map(shown, tenant_lines(self.found)))

    def _repr_html_(self) -> str:
        from forensics.evidence.explaincard import tenant_card

        return tenant_card(self.found) + self.table._repr_html_()

    @property
    def table(self) -> Shown:
        """Its listed requests, the surest tier first."""
        return table(self.requests)


def tenant(case: Case, tenant_id: str | None) -> OneTenant:
    """Show what the case says of a tenant, and its listed requests.

    Args:
        case: the case.
        tenant_id: the tenant; None stands for requests that name none.

    Raises:
        UsageError: the case does not name it.
    """
    found = explain_tenant(case._as_report, tenant_id)
    own = pl.col("tenant_id").eq_missing(pl.lit(tenant_id, dtype=pl.String))
    listed = pl.concat(
        [case.affected.polars(), case.not_assessable.polars(), case.ruled_out.polars()]
    )
    return OneTenant(found, listed.filter(own))


def code(line: str) -> str:
    """Return a line of code as HTML."""
    look = "white-space:pre-wrap;display:block;padding:6px 8px;background:#f1f1f1;color:#1a1a1a"
    return f"<code style='{look}'>{html.escape(line)}</code>"
