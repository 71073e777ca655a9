"""Charts of measurements as SVG: panels of points over named places, one scale for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PANEL_WIDTH: Final = 530
PANEL_HEIGHT: Final = 260
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 26, 44  # room for the scale, the title and the names within a panel
HEAD: Final = 74
FOOT: Final = 30
# The colours of Okabe and Ito, which colour-blind readers can tell apart; the marks differ as well.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
MARKS: Final = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.6L4.4,3.4H-4.4z",
    "M0,-5L5,0L0,5L-5,0z",
    "M0,4.6L4.4,-3.4H-4.4z",
)


@dataclass(frozen=True, slots=True)
class Series:
    """One figure per place, None where there is none; a whisker goes from it to the one in `highs`."""

    name: str
    values: tuple[float | None, ...]
    highs: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """Series over the same places; a place's name may have two lines. `goals` are drawn across, with a name."""

    title: str
    places: tuple[str, ...]
    series: tuple[Series, ...]
    lines: bool = False
    goals: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels, two in a row, under one scale: of powers of ten where `log`, else from `start` on."""

    title: str
    measure: str
    panels: tuple[Panel, ...]
    log: bool = False
    start: float = 0


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a figure stands between the bottom (0) and the top (1) of a panel."""

    ticks: tuple[float, ...]
    log: bool

    def place(self, value: float) -> float:
        turn = math.log10 if self.log else float
        low, high = turn(self.ticks[0]), turn(self.ticks[-1])
        return min(1.0, max(0.0, (turn(value) - low) / (high - low)))


def draw(chart: Chart, *, caption: str, description: str) -> str:
    """Draw a chart as an SVG document that stands alone on white.

    >>> chart = Chart("Time", "ms", (Panel("MIN", ("5", "10"), (Series("factor", (1.0, 2.0)),)),))
    >>> draw(chart, caption="", description="")[:38]
    '<svg xmlns="http://www.w3.org/2000/svg'
    """
    rows = -(-len(chart.panels) // 2)
    width = PANEL_WIDTH * min(2, len(chart.panels)) + 16
    height = HEAD + PANEL_HEIGHT * rows + FOOT
    scale = _scale(chart)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif" font-size="11.5" '
        'fill="#222">',
        f"<title>{escape(chart.title)}</title>",
        f"<desc>{escape(description)}</desc>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600">{escape(chart.title)}</text>',
        *_legend(chart),
        *(
            line
            for i, panel in enumerate(chart.panels)
            for line in _panel(panel, chart, scale, 8 + i % 2 * PANEL_WIDTH, HEAD + i // 2 * PANEL_HEIGHT)
        ),
        *_fitted(caption, 16, height - 10, width - 32),
        "</svg>",
    ]
    return "\n".join(body) + "\n"


def _scale(chart: Chart) -> _Scale:
    figures = [
        value
        for panel in chart.panels
        for series in panel.series
        for value in (*series.values, *series.highs)
        if value is not None
    ] + [value for panel in chart.panels for _, value in panel.goals]
    if chart.log:
        low = math.floor(math.log10(min(figures)))
        high = max(low + 1, math.ceil(math.log10(max(figures))))
        return _Scale(tuple(10.0**power for power in range(low, high + 1)), log=True)
    span = max(*figures, chart.start + 1e-9) - chart.start
    rough = 10.0 ** math.floor(math.log10(span / 4))
    step = next(step for step in (rough, 2 * rough, 5 * rough, 10 * rough) if span / step <= 8)
    return _Scale(tuple(chart.start + step * i for i in range(math.ceil(span / step) + 1)), log=False)


def _legend(chart: Chart) -> Iterator[str]:
    names = list(dict.fromkeys(series.name for panel in chart.panels for series in panel.series))
    x = 16.0
    yield f'<text x="{x}" y="52" fill="#555">{escape(chart.measure)}</text>'
    x += 6.2 * len(chart.measure) + 24
    for index, name in enumerate(names):
        yield f'<path d="{MARKS[index]}" transform="translate({x:.1f},48)" fill="{COLOURS[index]}"/>'
        yield f'<text x="{x + 9:.1f}" y="52">{escape(name)}</text>'
        x += 6.4 * len(name) + 34


def _panel(panel: Panel, chart: Chart, scale: _Scale, left: float, top: float) -> Iterator[str]:
    names = list(dict.fromkeys(series.name for each in chart.panels for series in each.series))
    x0, x1 = left + LEFT, left + PANEL_WIDTH - RIGHT
    y0, y1 = top + PANEL_HEIGHT - BOTTOM, top + TOP
    step = (x1 - x0) / len(panel.places)

    def y(value: float) -> float:
        return y0 - scale.place(value) * (y0 - y1)

    yield f'<text x="{x0}" y="{top + 14}" font-weight="600">{escape(panel.title)}</text>'
    for tick in scale.ticks:
        yield f'<line x1="{x0}" y1="{y(tick):.1f}" x2="{x1}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{x0 - 7}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#555">{tick:,.10g}</text>'
    for i, place in enumerate(panel.places):
        for row, part in enumerate(place.split("\n")):
            yield (
                f'<text x="{x0 + step * (i + 0.5):.1f}" y="{y0 + 16 + 13 * row}" text-anchor="middle" fill="#555">'
                f"{escape(part)}</text>"
            )
    for label, value in panel.goals:
        yield (
            f'<line x1="{x0}" y1="{y(value):.1f}" x2="{x1}" y2="{y(value):.1f}" stroke="#888" stroke-dasharray="4 3"/>'
            f'<text x="{x0 + 2}" y="{y(value) - 4:.1f}" fill="#666" font-size="10.5" paint-order="stroke" '
            f'stroke="#fff" stroke-width="3">{escape(label)}</text>'
        )
    for series in panel.series:
        index = names.index(series.name)
        # Side by side, so that figures that are almost the same do not hide one another.
        shift = (index - (len(names) - 1) / 2) * min(13.0, step * 0.7 / len(names))
        xs = [x0 + step * (i + 0.5) + shift for i in range(len(panel.places))]
        yield from _points(series, index, xs, [None if v is None else y(v) for v in series.values], panel.lines)
        for at, low, high in zip(xs, series.values, series.highs, strict=False):
            if low is not None and high is not None:
                yield (
                    f'<path d="M{at:.1f},{y(low):.1f}V{y(high):.1f}m-3,0h6" stroke="{COLOURS[index]}" fill="none" '
                    'stroke-width="1.3"/>'
                )


def _points(series: Series, index: int, xs: list[float], ys: list[float | None], lines: bool) -> Iterator[str]:
    """Draw a mark for each figure, joined where the places are steps of one quantity."""
    colour = COLOURS[index]
    points = [(x, y, value) for x, y, value in zip(xs, ys, series.values, strict=True) if y is not None]
    for one, other in pairwise(points) if lines else ():
        yield (
            f'<line x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}" stroke="{colour}" '
            'stroke-opacity="0.45"/>'
        )
    for x, y, value in points:
        yield (
            f'<path d="{MARKS[index]}" transform="translate({x:.1f},{y:.1f})" fill="{colour}">'
            f"<title>{escape(series.name)}: {value:.4g}</title></path>"
        )


def _fitted(text: str, x: float, y: float, width: float) -> Iterator[str]:
    """Write one line, squeezed where it would run out of the picture."""
    if text:
        squeezed = f' textLength="{width:.0f}" lengthAdjust="spacingAndGlyphs"' if len(text) * 5.4 > width else ""
        yield f'<text x="{x}" y="{y}" font-size="10" fill="#666"{squeezed}>{escape(text)}</text>'
