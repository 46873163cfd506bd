"""Prompt length against the limit: what was near it above, all requests by day below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, TypeAlias

from forensics.exposure import Exposure, Point
from forensics.report import lengths, theme
from forensics.report.plates.ink import WIDTH, Plate, Shape, box, line, mark, room, shade, words
from forensics.report.plates.time import Axis, moment
from forensics.wording import count

_LEFT, _RIGHT = 48.0, WIDTH - 72.0
_KEY, _NEAR, _GAP, _ALL = 16.0, 170.0, 12.0, 92.0
_WHITE: Final = "#ffffff"
_STANDS: Final = 1.5
"""Points apart that marks of one tier must stand; nearer ones would cover each other."""
Scale: TypeAlias = Callable[[float], float]
Look: TypeAlias = tuple[int, str, str]
"""Tokens at which a line stands, its colour and its dashes."""


def draw(exposure: Exposure) -> Plate | None:
    """Return the picture, or None where no request has a length and a time."""
    span, close = lengths.spanned(exposure), lengths.near_limit(exposure)
    cells = [cell for cell in exposure.lengths if cell.low_tokens > 0]
    if span is None or close is None or not (cells or exposure.points):
        return None
    axis = Axis(moment(span[0]), moment(span[1]), _LEFT, _RIGHT)
    bottom = _KEY + _NEAR
    shapes = [*_near(exposure, axis, close), *_key(exposure)]
    if cells:
        bottom += _GAP + _ALL
        shapes += _all(exposure, axis, bottom)
    below = [*axis.drawn(_KEY, bottom), *shapes]
    caption = (
        "Prompt length (tokens, log scale) against the limit over time (UTC). Above: requests "
        "that were at or over the limit, or are listed. Below: all requests by day and length, "
        "the darker the more"
    )
    return Plate(caption, bottom + (36 if cells else 18), tuple(below))


def _near(exposure: Exposure, axis: Axis, close: dict[str, Any]) -> Iterator[Shape]:
    low, high = (10**edge for edge in close["range"])
    scale = _scale(low, high, _KEY + _NEAR, _KEY)
    for value, said in zip(close["tickvals"], close["ticktext"], strict=True):
        yield line([(_LEFT - 3, scale(value)), (_RIGHT, scale(value))], theme.GRID)
        yield words((_LEFT - 5, scale(value)), said, "right")
    for (value, colour, dash), spans in _steady(exposure, axis).items():
        for left, right in spans:
            yield line([(left, scale(value)), (right, scale(value))], colour, 1.2, dash)
    if exposure.scope.threshold_tokens:
        y = scale(exposure.scope.threshold_tokens)
        yield line([(_LEFT, y), (_RIGHT, y)], theme.LIMIT, 1.2, "dashed")
    for point in _apart(exposure.points, axis, scale):
        yield from mark(*point)
    for word, value in lengths.named_limits(exposure):
        yield words((_RIGHT + 5, scale(value)), f"{word} {value:,}", size=7)


def _steady(exposure: Exposure, axis: Axis) -> dict[Look, list[list[float]]]:
    """Return where each limit and window of any node stood, runs that touch put together."""
    found: dict[Look, list[list[float]]] = {}
    for left, right, look in sorted(_stands(exposure, axis)):
        spans = found.setdefault(look, [])
        if spans and left <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], right)
        else:
            spans.append([left, right])
    return found


def _stands(exposure: Exposure, axis: Axis) -> Iterator[tuple[float, float, Look]]:
    for epoch in (one for node in lengths.prefill_epochs(exposure).values() for one in node):
        left = axis.at(moment(epoch.effective_at)) if epoch.effective_at else axis.left
        right = axis.at(moment(epoch.until)) if epoch.until else axis.right
        for value, colour, dash in (
            (epoch.context_tokens, theme.WINDOW, "dotted"),
            (epoch.input_limit_tokens, theme.LIMIT, "solid"),
        ):
            if value and right > left:
                yield left, right, (value, colour, dash)


def _apart(
    points: list[Point], axis: Axis, scale: Scale
) -> Iterator[tuple[tuple[float, float], str]]:
    """Yield where marks stand, the surest last; of those that cover each other one."""
    seen = set()
    for tier in reversed(theme.TIERS):
        for point in points:
            if point.tier != tier or not point.at or not point.prompt_tokens:
                continue
            at = axis.at(moment(point.at)), scale(point.prompt_tokens)
            place = (tier, round(at[0] / _STANDS), round(at[1] / _STANDS))
            if place not in seen:
                seen.add(place)
                yield at, tier


def _key(exposure: Exposure) -> Iterator[Shape]:
    """Yield what marks and lines mean, in one row above the picture."""
    x, there = _LEFT, {point.tier for point in exposure.points}
    for name, style in theme.TIERS.items():
        if name in there:
            yield from mark((x + 3, 6), name)
            yield words((x + 10, 6), style.word)
            x += 22 + room(style.word)
    for word, colour, dash in (
        ("input limit of a prefill node", theme.LIMIT, "solid"),
        ("advertised window", theme.WINDOW, "dotted"),
        *((("threshold", theme.LIMIT, "dashed"),) if exposure.scope.threshold_tokens else ()),
    ):
        yield line([(x, 6), (x + 22, 6)], colour, 1.2, dash)
        yield words((x + 26, 6), word)
        x += 38 + room(word)


def _all(exposure: Exposure, axis: Axis, bottom: float) -> Iterator[Shape]:
    counts = [cell for cell in exposure.lengths if cell.low_tokens > 0]
    low, high = min(c.low_tokens for c in counts), 2 * max(c.low_tokens for c in counts)
    scale, most = _scale(low, high, bottom, bottom - _ALL), max(c.requests for c in counts)
    for power in range(math.ceil(math.log10(low)), 1 + math.floor(math.log10(high))):
        yield words((_LEFT - 5, scale(10**power)), f"{10**power:,}", "right")
    for cell in counts:
        left, right = axis.at(moment(cell.day)), axis.at(_end(cell.day))
        top, foot = scale(2 * cell.low_tokens), scale(cell.low_tokens)
        yield box((left, top), right - left, foot - top, shade(_share(cell.requests, most)), _WHITE)
    for place in range(len(str(most))):
        at = (_LEFT + 80 * place, bottom + 20)
        yield box(at, 12, 8, shade(_share(10**place, most)))
        yield words((at[0] + 16, at[1] + 4), count(10**place, "request"))


def _share(count: int, most: int) -> float:
    return math.log10(count) / max(math.log10(most), 1.0)


def _end(day: str) -> datetime:
    return moment(lengths.after(day))


def _scale(low: float, high: float, bottom: float, top: float) -> Scale:
    """Return where a length stands between two edges, by its logarithm."""
    span = math.log(high / low) or 1.0
    return lambda value: bottom + (top - bottom) * math.log(value / low) / span
