"""Windows and the slices under them on a line of time: where intervals begin and end, and what they have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from muntin.duration import UNITS
from muntin.errors import MuntinError
from muntin.show.draw import NARROW, WIDE, Drawing, px
from muntin.show.label import clean, columns, cut
from muntin.show.number import number
from muntin.show.svg import element
from muntin.window.edges import signed
from muntin.window.slices import cutty, pairs, panes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from muntin.window.slices import Slicing
    from muntin.window.spec import Window

_KINDS: Final = {"panes": panes, "pairs": pairs, "Cutty": cutty}
_LENGTH: Final = 600.0  # pixels of the line
_EDGES: Final = 240  # edges at most on the line, if that can be chosen
_APART: Final = 2.4  # pixels between edges from which on they can be told apart
_ROWS: Final = 24  # windows at most
_LANES: Final = 6  # intervals at most that one window shows below one another
# Formula F1 has up to 2^n terms for n slides that share no divisor: what takes long is not counted for a page.
_SLIDES: Final = 16
_TERMS: Final = 50_000  # at most, over all windows
_LABEL: Final = 26  # columns
_THICK, _LANE, _GAP, _HEAD = 10.0, 13.0, 9.0, 26.0
_TICKS: Final = 9


@dataclass(frozen=True, slots=True)
class Counted:
    """How many slices a way of cutting makes, and how many each window is put together from, on average."""

    kind: str
    per_period: str
    per_window: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A drawing of a stretch of time, what it shows, and the counts over the whole period."""

    svg: str
    caption: str
    period: str
    counts: tuple[Counted, ...]


def timeline(windows: Sequence[Window], factors: Sequence[Window] = (), *, margin: float = 2) -> Timeline:
    """Draw windows, the factor windows of their plan, and slices by panes, pairs and Cutty.

    >>> from muntin import Window
    >>> drawn = timeline([Window(14, 8), Window(3, 3)])
    >>> drawn.period, [(each.kind, each.per_period) for each in drawn.counts]
    ('24', [('panes', '24'), ('pairs', '12'), ('Cutty', '10')])
    """
    distinct = tuple(dict.fromkeys(windows))
    slicings = {kind: cutting(*distinct) for kind, cutting in _KINDS.items()}
    first = distinct[0]
    period = math.lcm(*(window.slide for window in distinct))
    span = _stretch(distinct, slicings["pairs"], period)
    drawing = _draw(distinct, [window for window in factors if window not in distinct], slicings, span)
    shown = "one period" if span == period else "a stretch"
    caption = f"{shown} of {_long(first, span)}; upright lines are the edges where some window begins or ends"
    left = len(distinct) - _ROWS
    caption += f"; {number(left)} more windows are not drawn" if left > 0 else ""
    told = ", ".join(f"{window} every {window.text(window.slide)}" for window in distinct[:_ROWS])
    return Timeline(
        element(drawing, "Windows and slices on a line of time", told, margin=margin),
        f"{caption}.",
        _long(first, period),
        tuple(_counted(kind, slicing, distinct, period) for kind, slicing in slicings.items()),
    )


def _stretch(windows: Sequence[Window], slicing: Slicing, period: int) -> int:
    """Choose how much time to show: whole periods in which each window ends once, or less if they are too crowded."""
    longest = max(window.range for window in windows)
    whole = period * -(-longest // period)
    dense = sum(Fraction(1, comb.step) for comb in slicing.combs)
    if whole * dense <= _EDGES:
        return whole
    few = max(int(_EDGES / 2 / dense), 1)
    # Long windows need not be seen whole where short ones would melt into a band.
    return max(few, min(window.slide for window in windows))


def _draw(windows: Sequence[Window], factors: Sequence[Window], slicings: dict[str, Slicing], span: int) -> Drawing:
    shown = [(window, False) for window in windows[:_ROWS]] + [(window, True) for window in factors[:_ROWS]]
    names = [_words(window, factor) for window, factor in shown]
    left = max(max(columns(a) * WIDE, columns(b) * NARROW) for a, b in [*names, ("panes", "")]) + 14
    line = _Line(left, span)
    rows: list[str] = []
    y = _HEAD
    for (window, factor), words in zip(shown, names, strict=True):
        lanes = min(_overlaps(window), _LANES)
        rows += _row(line, window, lanes, y, words, factor=factor)
        y += max(lanes * _LANE, 26.0) + _GAP
    bottom = y
    y += 6
    right = 0.0
    for kind, slicing in slicings.items():
        marks, width = _slices(line, slicing, kind, y)
        rows += marks
        right = max(right, width)
        y += _THICK + _GAP + 6
    edges = list(slicings["pairs"].edges_between(0, span + 1))
    grid: list[str] = []
    if (len(edges) - 1) * _APART <= _LENGTH:
        grid = [f'<path class="mu-arc" d="M{px(line.at(t))} {px(_HEAD - 6)}V{px(bottom)}"/>' for t in edges]
    marks = [*_axis(line, windows[0]), *grid, *rows]
    return Drawing(left + _LENGTH + 10 + right, y - _GAP, tuple(marks))


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a time lies on the drawing."""

    left: float
    span: int

    def at(self, time: int) -> float:
        """Give the place of a time, within the line."""
        # Whole numbers divide exactly, however many digits they have.
        return self.left + _LENGTH * (min(max(time, 0), self.span) / self.span)

    def bar(self, kind: str, start: int, end: int, y: float) -> str:
        """Draw a stretch of time."""
        a, b = self.at(start), self.at(end)
        return f'<rect class="{kind}" x="{px(a)}" y="{px(y)}" width="{px(max(b - a, 0.5))}" height="{px(_THICK)}"/>'


def _words(window: Window, factor: bool) -> tuple[str, str]:
    return cut(str(window), _LABEL), "factor" if factor else cut(clean(window.id), _LABEL)


def _overlaps(window: Window) -> int:
    """Count the rows that the intervals of a window need so that none lies on another."""
    return -(-window.range // window.slide)


def _row(line: _Line, window: Window, lanes: int, y: float, words: tuple[str, str], *, factor: bool) -> Iterator[str]:
    label, name = words
    yield f'<text class="mu-head" x="0" y="{px(y + 10)}">{escape(label)}</text>'
    yield f'<text class="mu-small" x="0" y="{px(y + 23)}">{escape(name)}</text>'
    kind = "mu-factor" if factor else "mu-box"
    if _overlaps(window) <= _LANES:
        starts = range(_first(window), line.span, window.slide)
    else:
        # Of windows that overlap many times over, the first few intervals stand for all.
        begin = window.offset
        starts = range(begin, min(line.span, begin + lanes * window.slide), window.slide)
    for start in starts:
        place = (start - window.offset) // window.slide % lanes
        hint = f"{window.text(start)} to {window.text(start + window.range)}" if start >= 0 else str(window)
        bar = line.bar(kind, start, start + window.range, y + place * _LANE)
        yield f"<g><title>{escape(hint)}</title>{bar}</g>"


def _first(window: Window) -> int:
    """Find the first interval that reaches into the line."""
    return window.offset - (window.range + window.offset - 1) // window.slide * window.slide


def _slices(line: _Line, slicing: Slicing, kind: str, y: float) -> tuple[list[str], float]:
    """Draw the slices of one kind, and how many there are on the line."""
    marks = [f'<text class="mu-head" x="0" y="{px(y + 9)}">{kind}</text>']
    count = _count(slicing, line.span)
    if count * _APART > _LENGTH:
        marks.append(line.bar("mu-source", 0, line.span, y))
    else:
        edges = [0, *(edge for edge in slicing.edges_between(1, line.span)), line.span]
        marks += [
            line.bar("mu-bar" if place % 2 == 0 else "mu-source", a, b, y)
            for place, (a, b) in enumerate(pairwise(edges))
        ]
    text = number(count, 9)
    marks.append(f'<text class="mu-small" x="{px(line.left + _LENGTH + 10)}" y="{px(y + 9)}">{text}</text>')
    return marks, columns(text) * NARROW


def _count(slicing: Slicing, span: int) -> int:
    """Count the edges on the line, or an upper bound of them where that would take long."""
    bound = sum(comb.count(0, span) for comb in slicing.combs)
    return bound if bound > 100_000 else slicing.count_between(0, span)


def _axis(line: _Line, window: Window) -> Iterator[str]:
    step = tick(line.span, timed=window.timed)
    y = _HEAD - 6
    yield f'<path class="mu-edge" d="M{px(line.left)} {px(y)}H{px(line.left + _LENGTH)}"/>'
    for time in range(0, line.span + 1, step):
        x = line.at(time)
        text = window.text(time) if time else "0"
        near_end = x > line.left + _LENGTH - columns(text) * NARROW / 2
        anchor = "end" if near_end else "middle" if time else "start"
        yield f'<path class="mu-edge" d="M{px(x)} {px(y)}v-4"/>'
        yield f'<text class="mu-small" text-anchor="{anchor}" x="{px(x)}" y="{px(y - 8)}">{cut(text, 12)}</text>'


def tick(span: int, *, timed: bool) -> int:
    """Choose a round distance so that at most nine fit a span.

    >>> tick(120, timed=False), tick(7_200_000_000, timed=True) // 60_000_000
    (20, 15)
    """
    least = -(-span // _TICKS)
    if timed:
        for unit, steps in (
            ("microsecond", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
            ("millisecond", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
            ("second", (1, 2, 5, 10, 15, 30)),
            ("minute", (1, 2, 5, 10, 15, 30)),
            ("hour", (1, 2, 3, 6, 12)),
        ):
            for count in steps:
                if UNITS[unit] * count >= least:
                    return UNITS[unit] * count
    base = UNITS["day"] if timed else 1
    while True:
        for count in (1, 2, 5):
            if base * count >= least:
                return base * count
        base *= 10


def _counted(kind: str, slicing: Slicing, windows: Sequence[Window], period: int) -> Counted:
    unknown = Counted(kind, "too many to count", ("",) * len(windows))
    if len({comb.step for comb in slicing.combs}) > _SLIDES:
        return unknown
    try:
        if len(signed(slicing.combs)) * len(windows) > _TERMS:
            return unknown
        means = tuple(number(slicing.per_window(window)) for window in windows)
        return Counted(kind, number(slicing.count_between(0, period)), means)
    except MuntinError:
        return unknown


def _long(window: Window, length: int) -> str:
    """Write a length that may be too long to be written out."""
    if length < 10**15:
        return window.text(length)
    return f"{number(length // UNITS['day'])}d" if window.timed else number(length)
