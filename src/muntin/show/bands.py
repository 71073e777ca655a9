"""Intervals as bars on a line of time: which of them hold an event, and which of them cover another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Final

from muntin.show.draw import NARROW, WIDE, Drawing, px
from muntin.show.label import columns
from muntin.show.svg import element
from muntin.window.cover import dense_cover, sparse_cover
from muntin.window.slices import pane_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from muntin.window.spec import Window

_LENGTH: Final = 520.0  # pixels of the line
_THICK, _LANE, _GAP, _LEAST = 12.0, 16.0, 12.0, 28.0
_MARGIN: Final = 16


@dataclass(frozen=True, slots=True)
class _Row:
    """A label, what it says in small letters, the bars, and what stands at the right end."""

    label: str
    small: str
    bars: tuple[tuple[int, int, str], ...]
    count: str


def draw_event(windows: Sequence[Window], at: int, span: int) -> str:
    """Draw the intervals of windows in `[0, span)`, those that hold the event at a time filled, and the panes below.

    >>> from muntin import Window
    >>> drawn = draw_event([Window(20, 20), Window(60, 10)], at=65, span=120)
    >>> "one event, 7 intervals; 1 pane of 10" in drawn
    True
    """
    rows = [_row_of(window, at, span) for window in windows]
    width = pane_width(windows)
    pane = replace(windows[0], range=width, slide=width, id="panes")
    panes = _row_of(pane, at, span, kind="mu-factor", filled="mu-costly")
    held = sum(int(row.count) for row in rows)
    title = f"one event, {held} intervals; 1 pane of {pane.text(width)}"
    told = ", ".join(f"{row.label}: {row.count}" for row in rows)
    return _drawn([*rows, panes], span, title, f"intervals that hold the event: {told}", at=at)


def draw_cover(child: Window, parent: Window) -> str:
    """Draw one interval of a window, all intervals of another inside it, and the fewest that make it up.

    >>> from muntin import Window
    >>> drawn = draw_cover(Window(10, 2), Window(6, 2))
    >>> "10/2 from 6/2: all 3, or 2" in drawn, "tiled" in drawn
    (True, False)
    """
    everything = dense_cover(child, parent)
    few, tiles = (sparse_cover(child, parent, overlap=overlap) for overlap in (True, False))
    rows = [_Row(str(child), "one interval", ((0, child.range, "mu-bar"),), "")]
    for starts, small in ((everything, "every interval"), (few, "the fewest"), (tiles, "fewest, tiled")):
        if starts is not None and not (small == "the fewest" and few == tiles):
            bars = tuple((start, start + parent.range, "mu-box") for start in starts)
            rows.append(_Row(str(parent), small, bars, str(len(starts))))
    fewest = f", or {len(few)}" if few is not None and len(few) < len(everything) else ""
    title = f"{child} from {parent}: all {len(everything)}{fewest}"
    told = "; ".join(f"{row.small}: {', '.join(f'{a} to {b}' for a, b, _ in row.bars)}" for row in rows)
    return _drawn(rows, child.range, title, told)


def _row_of(window: Window, at: int, span: int, *, kind: str = "mu-box", filled: str = "mu-bar") -> _Row:
    around = window.intervals(-window.range, span + window.range)
    inside = [(start, end) for start, end in around if start < span and end > 0]
    bars = tuple((a, b, filled if a <= at < b else kind) for a, b in inside)
    return _Row(str(window), window.id, bars, str(sum(a <= at < b for a, b in inside)))


def _drawn(rows: Sequence[_Row], span: int, title: str, told: str, *, at: int | None = None) -> str:
    left = max(max(columns(row.label) * WIDE, columns(row.small) * NARROW) for row in rows) + 16
    scale = _LENGTH / span
    marks: list[str] = [f'<text class="mu-head" x="0" y="12">{escape(title)}</text>']
    bars: list[str] = []
    top = y = 34.0
    for row in rows:
        bars.append(f'<text class="mu-head" x="0" y="{px(y + 11)}">{escape(row.label)}</text>')
        bars.append(f'<text class="mu-small" x="0" y="{px(y + 25)}">{escape(row.small)}</text>')
        end = f'x="{px(left + _LENGTH + 12)}" y="{px(y + 11)}"'
        bars.append(f'<text class="mu-head" {end}>{row.count}</text>')
        lanes = 0
        for lane, (a, b, kind) in _laid_out(row.bars):
            lanes = max(lanes, lane + 1)
            low, high = left + max(a, 0) * scale, left + min(b, span) * scale
            bars.append(
                f'<rect class="{kind}" x="{px(low + 1)}" y="{px(y + lane * _LANE)}" width="{px(high - low - 2)}" '
                f'height="{px(_THICK)}" rx="2"/>'
            )
        y += max(lanes * _LANE, _LEAST) + _GAP
    if at is not None:
        x = px(left + at * scale)
        marks.append(f'<text class="mu-small" text-anchor="middle" x="{x}" y="{px(top - 7)}">event</text>')
        bars.append(f'<path class="mu-edge" d="M{x} {px(top - 3)}V{px(y - _GAP)}"/>')
    width = max(left + _LENGTH + 12 + max(columns(row.count) for row in rows) * WIDE, columns(title) * WIDE)
    return element(Drawing(width, y - _GAP, (*marks, *bars)), title, told, margin=_MARGIN)


def _laid_out(bars: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, tuple[int, int, str]]]:
    """Put bars in order of time into the fewest lanes in which none lies on another."""
    ends: list[int] = []
    for bar in bars:
        lane = next((lane for lane, end in enumerate(ends) if end <= bar[0]), len(ends))
        ends[lane : lane + 1] = [bar[1]]
        yield lane, bar
