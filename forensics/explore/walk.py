"""From a tenant to its requests, and from one of them to its timeline over the hops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.explore import views
from forensics.explore.one import OneRequest, OneTenant, code, request, tenant

if TYPE_CHECKING:
    from forensics.case import Case


class Walk:
    """A list of tenants, those with most affected responses first, and one of its requests."""

    def __init__(self, case: Case) -> None:
        import ipywidgets

        self._case = case
        self._filling = False
        wide = {"width": "520px"}
        self.tenant = ipywidgets.Dropdown(options=views.options(_tenants(case)), layout=wide)
        self.request = ipywidgets.Dropdown(layout=wide)
        self._line, self._about = ipywidgets.HTML(), ipywidgets.Output()
        self._next, self._one = ipywidgets.HTML(), ipywidgets.Output()
        picks = (("tenant", self.tenant), ("request", self.request))
        first, second = (ipywidgets.HBox([ipywidgets.Label(name), box]) for name, box in picks)
        parts = [first, self._line, self._about, second, self._next, self._one]
        self.widget = ipywidgets.VBox(parts)
        self.tenant.observe(self._other_tenant, "value")
        self.request.observe(self._other_request, "value")
        self._other_tenant()

    @property
    def of_tenant(self) -> OneTenant | None:
        """The tenant that is looked at; None where the case lists none."""
        return tenant(self._case, self.tenant.value) if self.tenant.options else None

    @property
    def of_request(self) -> OneRequest | None:
        """The request that is looked at; None where the tenant has none in the lists."""
        return request(self._case, self.request.value) if self.request.options else None

    @property
    def lines(self) -> list[str]:
        """The lines of code that show the same."""
        shown = [f"explore.tenant(case, {self.tenant.value!r})"] if self.tenant.options else []
        if self.request.options:
            shown.append(f"explore.request(case, {self.request.value!r})")
        return shown

    def _other_tenant(self, _: Any = None) -> None:
        found = self.of_tenant
        if found is None:
            self._line.value = "no tenant is listed"
            return
        self._line.value = code(self.lines[0])
        views.show(self._about, found._repr_html_())
        ids = dict.fromkeys(found.requests["request_id"].drop_nulls())
        self._filling = True
        self.request.options = views.options(ids)
        # New options alone leave an empty list without a choice.
        self.request.index = 0 if ids else None
        self._filling = False
        self._other_request()

    def _other_request(self, _: Any = None) -> None:
        if self._filling:
            return
        found = self.of_request
        if found is None:
            self._next.value = "none of its requests is listed"
            views.show(self._one)
            return
        self._next.value = code(self.lines[-1])
        views.show(self._one, found._repr_html_())

    def _both(self) -> list[OneTenant | OneRequest]:
        return [found for found in (self.of_tenant, self.of_request) if found is not None]

    def __repr__(self) -> str:
        return "\n".join([*self.lines, *map(repr, self._both())])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        markup = "".join(found._repr_html_() for found in self._both())
        lines = "".join(map(code, self.lines))
        return views.bundle(self.widget, repr(self), lines + markup, **kwargs)


def walk(case: Case) -> Walk:
    """Go from a tenant to its listed requests, and to one request's timeline over the hops."""
    return Walk(case)


def _tenants(case: Case) -> list[str | None]:
    rows = case.tenants.polars().filter(population="recipient")
    order = ["n_confirmed", "n_probable", "n_possible"]
    return rows.sort([*order, "tenant_id"], descending=[True] * 3 + [False])["tenant_id"].to_list()
