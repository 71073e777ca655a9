"""A few figures as bars: the smallest chart that can be read at a glance."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from muntin.show.draw import NARROW, WIDE, Drawing, px
from muntin.show.label import columns
from muntin.show.palette import drawing_style
from muntin.show.svg import element

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH: Final = 420
_THICK, _STEP, _HEAD = 26, 44, 50


def bars(title: str, note: str, figures: Sequence[tuple[str, float, str]]) -> str:
    """Draw named figures as an SVG that stands alone; each comes with its text, the last is drawn as ours.

    >>> bars("Time", "", [("native", 8.0, "8 s"), ("muntin", 2.0, "2 s")]).count("<rect")
    3
    """
    most = max(value for _, value, _ in figures)
    left = max(columns(name) for name, _, _ in figures) * WIDE + 14
    marks = [f'<text class="mu-head" x="0" y="14">{escape(title)}</text>']
    marks.append(f'<text class="mu-small" x="0" y="32">{escape(note)}</text>')
    widest = max(columns(title) * WIDE, columns(note) * NARROW)
    for place, (name, value, text) in enumerate(figures):
        y = _HEAD + place * _STEP
        length = _LENGTH * value / most
        kind = "mu-bar" if place == len(figures) - 1 else "mu-faint"
        middle = px(y + _THICK / 2 + 4.5)
        marks.append(f'<text x="0" y="{middle}">{escape(name)}</text>')
        marks.append(
            f'<rect class="{kind}" x="{px(left)}" y="{px(y)}" width="{px(max(length, 2))}" height="{_THICK}" rx="3"/>'
        )
        marks.append(f'<text class="mu-head" x="{px(left + length + 10)}" y="{middle}">{escape(text)}</text>')
        widest = max(widest, left + length + 10 + columns(text) * WIDE)
    height = _HEAD + (len(figures) - 1) * _STEP + _THICK
    told = "; ".join(f"{name}: {text}" for name, _, text in figures)
    return element(Drawing(widest, height, tuple(marks)), title, told, margin=24, style=drawing_style())
