"""Several windows in one chart: each a line of its values over time, named where it ends."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Final

from muntin.show.draw import NARROW, WIDE, Drawing, px
from muntin.show.label import clean, columns, cut
from muntin.show.svg import element
from muntin.studio.timeline import tick

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.studio.results import Series

_LENGTH, _HEIGHT = 640.0, 240.0
_LABEL: Final = 34
_SPACE: Final = 15.0
_COLOURS: Final = 6
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def chart(series: Sequence[Series], title: str) -> str:
    """Draw series with one scale of time and one of values.

    >>> from muntin.studio.results import Series
    >>> drawn = chart([Series("load", "tumbling_1m", ((0, 1.0), (60_000_000, 3.0)))], "n")
    >>> drawn.count("<circle"), "load tumbling_1m" in drawn
    (2, True)
    """
    drawn = [kept for each in series if (kept := _finite(each)).points]
    if not drawn:
        return ""
    times = [time for each in drawn for time, _ in each.points]
    values = [value for each in drawn for _, value in each.points]
    scale = _Scale(min(times), max(times), *_round(min(values), max(values)))
    marks = [*_values(scale), *_times(scale)]
    ends = _spread([scale.y(each.points[-1][1]) for each in drawn])
    for place, (each, y) in enumerate(zip(drawn, ends, strict=True)):
        marks += _series(each, scale, place % _COLOURS, y)
    names = max(columns(_name(each)) for each in drawn) * WIDE
    height = max(_HEIGHT + 26, *(y + 10 for y in ends))
    told = "; ".join(f"{_name(each)}: last {each.points[-1][1]:g}" for each in drawn)
    return element(Drawing(scale.left + _LENGTH + 14 + names, height, tuple(marks)), title, told, margin=8)


class _Scale:
    """Where times and values lie."""

    def __init__(self, first: int, last: int, low: float, high: float) -> None:
        self.first, self.last, self.low, self.high = first, max(last, first + 1), low, high
        self.steps = [low + (high - low) * part / 4 for part in range(5)]
        self.left = max(len(f"{step:.6g}") for step in self.steps) * NARROW + 10

    def x(self, time: int) -> float:
        return self.left + _LENGTH * (time - self.first) / (self.last - self.first)

    def y(self, value: float) -> float:
        return _HEIGHT * (self.high - value) / (self.high - self.low)


def _round(low: float, high: float) -> tuple[float, float]:
    """Widen a range of values to round numbers, a quarter of which is round too.

    >>> _round(3, 17), _round(5, 5)
    ((0.0, 20.0), (4.0, 6.0))
    """
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - 1, high + 1
    raw = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(raw))
    for step in (size * count for count in (1, 2, 2.5, 5, 10, 20)):
        bottom = math.floor(low / step) * step
        if bottom + 4 * step >= high:
            return bottom, bottom + 4 * step
    return low, high


def _values(scale: _Scale) -> Iterator[str]:
    for value in scale.steps:
        y = scale.y(value)
        yield f'<path class="mu-arc" d="M{px(scale.left)} {px(y)}h{px(_LENGTH)}"/>'
        yield f'<text class="mu-small mu-end" x="{px(scale.left - 6)}" y="{px(y + 4)}">{value:.6g}</text>'


def _times(scale: _Scale) -> Iterator[str]:
    step = tick(scale.last - scale.first, timed=True)
    for time in range(-(-scale.first // step) * step, scale.last + 1, step):
        moment = _EPOCH + timedelta(microseconds=time)
        text = f"{moment:%Y-%m-%d}" if step >= 86_400_000_000 else f"{moment:%H:%M:%S}"
        x = scale.x(time)
        yield f'<path class="mu-edge" d="M{px(x)} {px(_HEIGHT)}v4"/>'
        yield f'<text class="mu-small" text-anchor="middle" x="{px(x)}" y="{px(_HEIGHT + 18)}">{text}</text>'


def _series(each: Series, scale: _Scale, colour: int, end: float) -> Iterator[str]:
    points = [(scale.x(time), scale.y(value), value, time) for time, value in each.points]
    line = "L".join(f"{px(x)} {px(y)}" for x, y, _, _ in points)
    yield f'<path class="mu-line mu-line-{colour}" d="M{line}"/>'
    for x, y, value, time in points:
        moment = _EPOCH + timedelta(microseconds=time)
        said = escape(f"{_name(each)}: {value:g} at {moment:%Y-%m-%d %H:%M:%S}")
        yield f'<circle class="mu-dot-{colour}" cx="{px(x)}" cy="{px(y)}" r="2.5"><title>{said}</title></circle>'
    last = points[-1]
    here = scale.left + _LENGTH + 10
    yield f'<path class="mu-arc" d="M{px(last[0])} {px(last[1])}L{px(here - 2)} {px(end)}"/>'
    yield f'<text class="mu-name-{colour}" x="{px(here)}" y="{px(end + 4)}">{escape(_name(each))}</text>'


def _name(each: Series) -> str:
    return cut(clean(f"{each.query} {each.window}"), _LABEL)


def _finite(each: Series) -> Series:
    """Leave out what has no place on any scale."""
    return replace(each, points=tuple(point for point in each.points if math.isfinite(point[1])))


def _spread(places: Sequence[float]) -> list[float]:
    """Move names apart that would lie on one another, downwards, and keep their order.

    >>> _spread([10.0, 12.0, 80.0])
    [10.0, 25.0, 80.0]
    """
    found = list(places)
    last = -math.inf
    for place in sorted(range(len(found)), key=lambda i: places[i]):
        found[place] = last = max(found[place], last + _SPACE)
    return found
