"""Groups of windows as a drawing over range and slide, as in the window manager's Figure 7: a path for each group."""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from muntin.errors import ShowError
from muntin.share.subsume_text import headline, steps
from muntin.show.draw import NARROW, WIDE, Drawing, px
from muntin.show.label import clean, columns, cut
from muntin.show.palette import LIGHT, drawing_style
from muntin.show.svg import element

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from muntin.share.subsume_group import Group, Grouping
    from muntin.window.spec import Window

# Okabe and Ito's colours without yellow, which is too light for a line on white; after the last they start anew.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_LABELLED: Final = 80  # nodes at most that get names and quotients
_NAME: Final = 14  # columns at most
_TOLD: Final = 40  # windows of a group at most in the description
_CELL: Final = (62.0, 54.0)  # between two ranges and two slides
_SMALL_CELL: Final = (24.0, 24.0)  # the same without names
_APART: Final = 9.0  # between the nodes of several groups at one place
_HEAD: Final = 44.0
_MARGIN: Final = 24


def to_svg(grouping: Grouping) -> str:
    """Draw groups as an image that stands alone: ranges to the right, slides upwards, both in order but not to scale.

    A filled node is a seed, an open one encloses the one before it, and a dashed line leads to a window that rides on
    another, with the quotient of their slides.

    >>> from muntin import Window
    >>> from muntin.share.subsume import subsume_windows
    >>> to_svg(subsume_windows([Window(8, 2)])).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    if not grouping.groups:
        msg = "there is nothing to draw: the grouping has no windows. Register one first"
        raise ShowError(msg)
    plot = _Plot(grouping)
    # Lines first, so that none hides a node.
    marks = (*plot.axes(), *(mark for part in (plot.lines, plot.nodes) for group in grouping for mark in part(group)))
    told = "; ".join(
        f"group {group.number}: "
        + ", ".join(f"{clean(name)} {step}" for name, step in list(steps(group).items())[:_TOLD])
        for group in grouping.groups
    )
    drawing = Drawing(plot.width, plot.height, marks)
    return element(drawing, f"muntin groups: {plot.title}", told, margin=_MARGIN, style=drawing_style())


class _Plot:
    """The grid of a drawing, and what goes onto it."""

    def __init__(self, grouping: Grouping) -> None:
        windows = grouping.windows
        nodes = {(group.number, w.range, w.slide) for group in grouping.groups for w in group.windows}
        self.title = headline(grouping)
        self.unit = windows[0]
        self.named = len(nodes) <= _LABELLED
        self.radius = 7.0 if self.named else 4.0
        ranges, slides = sorted({w.range for w in windows}), sorted({w.slide for w in windows})
        column, row = _CELL if self.named else _SMALL_CELL
        ticks = max(columns(self.unit.text(size)) for size in ranges) * NARROW
        names = max(columns(_name([window])) for window in windows) * NARROW if self.named else 0
        column = max(column, ticks + 8, names + 24)
        self.cell = column, row
        self.left = 16 + NARROW * max(columns(self.unit.text(slide)) for slide in slides)
        self.base = _HEAD + row * len(slides)
        self.right = self.left + column * len(ranges) + names
        self.xs = {size: self.left + column * (i + 0.5) for i, size in enumerate(ranges)}
        self.ys = {slide: self.base - row * (i + 0.5) for i, slide in enumerate(slides)}
        self.width = max(self.right + 4, WIDE * columns(self.title))
        self.height = self.base + 36
        self._shift = _shifts(nodes)

    def axes(self) -> Iterator[str]:
        """Draw the title, the ticks and what they mean."""
        left, right, base = px(self.left), px(self.right), px(self.base)
        yield f'<text class="mu-head" x="0" y="14">{escape(self.title)}</text>'
        yield f'<text class="mu-small" x="0" y="{px(_HEAD - 8)}">slide</text>'
        yield f'<text class="mu-small mu-end" x="{right}" y="{px(self.base + 32)}">range</text>'
        for size, x in self.xs.items():
            yield f'<path class="mu-arc" d="M{px(x)} {px(_HEAD)}V{base}"/>'
            yield (
                f'<text class="mu-small" x="{px(x)}" y="{px(self.base + 16)}" text-anchor="middle">'
                f"{escape(self.unit.text(size))}</text>"
            )
        for slide, y in self.ys.items():
            yield f'<path class="mu-arc" d="M{left} {px(y)}H{right}"/>'
            text = escape(self.unit.text(slide))
            yield f'<text class="mu-small mu-end" x="{px(self.left - 6)}" y="{px(y + 4)}">{text}</text>'
        yield f'<path class="mu-edge" d="M{left} {px(_HEAD)}V{base}H{right}"/>'

    def lines(self, group: Group) -> Iterator[str]:
        """Draw the path of a group, and the ways to those that ride on its levels."""
        for below, level in pairwise(group.levels):
            yield self._line(group, below.window, level.window)
        for level in group.levels:
            # Windows that are the same as their host stand on its node.
            for each in {p.quotient: p for p in level.piggybacked if p.quotient > 1}.values():
                yield self._line(group, level.window, each.window, f"q={each.quotient}")

    def nodes(self, group: Group) -> Iterator[str]:
        """Draw the windows of a group."""
        at: dict[tuple[int, int], list[Window]] = {}
        for window in group.windows:
            at.setdefault((window.range, window.slide), []).append(window)
        levels = {(level.window.range, level.window.slide) for level in group.levels}
        told = steps(group)
        for shape, windows in at.items():
            kind = "seed" if windows[0] is group.seed else "enclosing" if shape in levels else "piggybacked"
            yield self._node(group, windows, kind, told)

    def _at(self, group: Group, window: Window) -> tuple[float, float]:
        shift = self._shift[group.number, window.range, window.slide]
        return self.xs[window.range] + shift, self.ys[window.slide] - shift

    def _line(self, group: Group, start: Window, end: Window, quotient: str = "") -> str:
        (x1, y1), (x2, y2) = self._at(group, start), self._at(group, end)
        dash = ' stroke-dasharray="4 3"' if quotient else ""
        way = f"L{px(x2)} {px(y2)}"
        if self._far(start, end):
            # A bow passes by the nodes that a straight line would seem to join.
            bow = min(0.12, 28 / math.hypot(x2 - x1, y2 - y1))
            way = f"Q{px((x1 + x2) / 2 - bow * (y2 - y1))} {px((y1 + y2) / 2 + bow * (x2 - x1))} {px(x2)} {px(y2)}"
        line = f'<path d="M{px(x1)} {px(y1)}{way}" fill="none" stroke="{_colour(group)}" stroke-width="1.6"{dash}/>'
        if not (quotient and self.named):
            return line
        # Beside the upper end: quotients of several riders do not meet there.
        return f'{line}<text class="mu-tag" x="{px(x2 + 5)}" y="{px(y2 + self.radius + 13)}">{quotient}</text>'

    def _far(self, start: Window, end: Window) -> bool:
        """Tell whether other nodes may lie between two."""
        right = abs(self.xs[start.range] - self.xs[end.range]) / self.cell[0]
        up = abs(self.ys[start.slide] - self.ys[end.slide]) / self.cell[1]
        return max(right, up) > 1.5

    def _node(self, group: Group, windows: Sequence[Window], kind: str, told: Mapping[str, str]) -> str:
        (x, y), colour = self._at(group, windows[0]), _colour(group)
        hint = "; ".join(f"{clean(w.id)} {w}, {told[w.id]}" for w in windows[:8])
        more = f"; and {len(windows) - 8:,} more" if len(windows) > 8 else ""
        fill = colour if kind == "seed" else LIGHT["paper"]
        dash = ' stroke-dasharray="2 2"' if kind == "piggybacked" else ""
        node = (
            f"<g><title>{escape(f'group {group.number}: {hint}{more}')}</title>"
            f'<circle cx="{px(x)}" cy="{px(y)}" r="{px(self.radius)}" fill="{fill}" stroke="{colour}" '
            f'stroke-width="1.6"{dash}/>'
        )
        if self.named:
            place = f'x="{px(x + self.radius + 1)}" y="{px(y - self.radius + 1)}"'
            node += f'<text class="mu-tag" {place}>{escape(_name(windows))}</text>'
        return node + "</g>"


def _colour(group: Group) -> str:
    return COLOURS[(group.number - 1) % len(COLOURS)]


def _name(windows: Sequence[Window]) -> str:
    """Name a node after its first window, and count the others."""
    extra = f" +{len(windows) - 1}" if len(windows) > 1 else ""
    return cut(clean(windows[0].id), _NAME) + extra


def _shifts(nodes: set[tuple[int, int, int]]) -> dict[tuple[int, int, int], float]:
    """Move the nodes that several groups have at one place aside, each a little further."""
    seen: dict[tuple[int, int], int] = {}
    shifts = {}
    for number, size, slide in sorted(nodes):
        shifts[number, size, slide] = _APART * seen.get((size, slide), 0)
        seen[size, slide] = seen.get((size, slide), 0) + 1
    return shifts
