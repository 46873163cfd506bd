"""``report.html``: the frozen document as one self-contained page.

Nothing is fetched: the charting library, its data, the styles and the one script that
draws are in the file, and a content security policy allows those scripts by their hash
and nothing else. Numbers are written as they stand in the document.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import jinja2
from markupsafe import Markup

from forensics.exposure import Exposure, as_json
from forensics.report import (
    casecharts,
    charts,
    coveragechart,
    lengths,
    sourceschart,
    tables,
    text,
    theme,
    timingchart,
)
from forensics.report.parts import numbered
from forensics.timing.factor import FACTOR
from forensics.wording import noun

TOP_RECIPIENTS: Final = 5

_TEMPLATES: Final = files("forensics.report") / "templates"


@dataclass(frozen=True)
class Picture:
    """A chart, ready for the template; the table of the same name has its numbers."""

    name: str
    alt: str
    figure: Markup | None
    height: int


PICTURES: Final[tuple[tuple[str, Callable[[Exposure], charts.Figure | None], str], ...]] = (
    ("timeline", casecharts.timeline, "Marks: what happened when, as stated and as found"),
    ("funnel", charts.funnel, "Bars: requests that reach each step"),
    (
        "lengths",
        lengths.draw,
        "Shaded grid and points: prompt length against the input limit of each prefill node",
    ),
    ("days", charts.days, "Stacked bars: requests per day by tier"),
    (
        "rejections",
        charts.rejections,
        "Stacked bars: rejected requests per day, stopped or served all the same",
    ),
    ("reasons", charts.reasons, "Marks: requests by reason and tier"),
    ("missing", charts.missing, "Bars: requests by missing value"),
    (
        "prefill",
        timingchart.prefill,
        "Lines and marks: 5th percentile of prefill time per day by prompt length, and its alarms",
    ),
    (
        "timing",
        timingchart.density,
        "Shaded grid and marks: prefill time against tokens to compute, with what was expected",
    ),
    ("clusters", timingchart.clusters, "Lines: clusters of odd prefill times by server"),
    (
        "triggers",
        casecharts.triggers,
        "Shaded grid: requests at or over the limit by tenant and day",
    ),
    ("lookback", sourceschart.lookback, "Lines: other tenants on the rank by time before the read"),
    ("page_owners", sourceschart.owners, "Bars: pages of one response by who wrote them, modelled"),
    ("clocks", casecharts.clocks, "Lines: each clock that runs, from its start to its end"),
    ("heat", coveragechart.draw, "Grid: each node by time, records, partly missing, missing"),
    ("coverage", charts.coverage, "Bars: hours with records by node"),
)


def pictures(exposure: Exposure) -> dict[str, Picture]:
    """Return every chart of the document, by name."""
    drawn = {}
    for name, chart, alt in PICTURES:
        figure = chart(exposure)
        if figure is None:
            drawn[name] = Picture(name, alt, None, 0)
        else:
            height = figure["layout"]["height"]
            drawn[name] = Picture(name, alt, text.json_block(figure), height)
    return drawn


@cache
def _asset(name: str) -> Markup:
    # Our own files, read from the package.
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704


@cache
def _plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    if "</script" in source.lower() or "<!--" in source:
        raise ValueError("this plotly.js cannot stand inside a script element")
    # A parser turns other line ends into \n, and the hash is taken of what it hands on.
    return Markup(source.replace("\r\n", "\n").replace("\r", "\n"))  # noqa: S704


@cache
def script_hash(source: str) -> str:
    """Return the source expression that allows exactly this inline script."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(scripts: tuple[str, ...]) -> str:
    """Return the content security policy for a page with these inline scripts."""
    hashes = " ".join(map(script_hash, scripts))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {hashes}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "font-src data:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


@cache
def environment() -> jinja2.Environment:
    """Return the template environment: escaping always on, an unknown name is an error."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("forensics.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=text.show,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.globals["span"] = text.span
    env.globals["noun"] = noun
    env.globals["factor"] = f"{FACTOR:g}"
    env.filters |= {"utc": text.utc, "setting": text.setting, "event": text.event}
    env.filters["tier"] = theme.tier
    return env


def render(exposure: Exposure) -> bytes:
    """Return the page; the same document gives the same bytes."""
    scripts = (_plotly(), _asset("report.js"))
    style = theme.variables() + "\n" + str(_asset("report.css"))
    page = (
        environment()
        .get_template("report.html.j2")
        .render(
            exposure=exposure,
            csp=policy(scripts),
            style=Markup(style),  # noqa: S704 - our own file and colours
            scripts=scripts,
            pictures=pictures(exposure),
            tables=tables.build(exposure),
            parts={part.id: part for part in numbered(exposure.scope.mechanism)},
            document_sha256=hashlib.sha256(as_json(exposure)).hexdigest(),
            top=sorted(exposure.recipients, key=tables.weight)[:TOP_RECIPIENTS],
            populations=theme.populations(exposure.scope.mechanism),
            tiers=tuple(theme.TIERS.values()),
        )
    )
    return page.encode()
