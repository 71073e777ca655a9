"""Incremental structures as they stand: the nodes of a FlatFAT and the stacks of TwoStacks, with what they hold."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from muntin.incremental.structure import EMPTY
from muntin.show.draw import WIDE, Drawing, px
from muntin.show.label import clean, columns, cut
from muntin.show.svg import element

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from muntin.incremental.flatfat import FlatFAT
    from muntin.incremental.twostacks import TwoStacks

_BOX: Final = (58.0, 26.0)
_GAP, _LEVEL, _HEAD, _MARGIN = 12.0, 54.0, 26.0, 16
_TEXT: Final = 6  # columns at most of what a node holds


def draw_tree(tree: FlatFAT[Any], changed: Collection[int] = ()) -> str:
    """Draw a FlatFAT, root on top; the places that changed and all nodes above them are dashed.

    >>> from muntin.incremental.flatfat import FlatFAT
    >>> drawn = draw_tree(FlatFAT.new(max, [3, 9, 4, 1]), changed=[2])
    >>> drawn.count("mu-factor"), "FlatFAT over 4 places; 3 nodes written" in drawn
    (3, True)
    """
    nodes, leaves = tree.nodes, tree.capacity
    written = {leaves + place - 1 >> height for place in changed for height in range(leaves.bit_length())}
    wide, high = _BOX
    spots: dict[int, tuple[float, float]] = {}
    for node in range(2 * leaves - 1, 0, -1):
        leaf = node >= leaves
        x = (node - leaves) * (wide + _GAP) if leaf else (spots[2 * node][0] + spots[2 * node + 1][0]) / 2
        spots[node] = x, _HEAD + (node.bit_length() - 1) * _LEVEL
    ways = [
        f'<path class="mu-edge" d="M{px(spots[node][0] + wide / 2)} {px(spots[node][1])}'
        f'L{px(spots[node // 2][0] + wide / 2)} {px(spots[node // 2][1] + high)}"/>'
        for node in range(2, 2 * leaves)
    ]
    boxes = [_box(*spots[node], nodes[node - 1], "mu-factor" if node in written else "mu-box") for node in spots]
    title = f"FlatFAT over {leaves} places" + (f"; {len(written)} nodes written" if written else "")
    width = max(leaves * (wide + _GAP) - _GAP, columns(title) * WIDE)
    height = spots[leaves][1] + high
    told = f"places {_said(nodes[leaves - 1 :])}; root {_text(nodes[0])}"
    return _element(title, told, width, height, [*ways, *boxes])


def draw_stacks(window: TwoStacks[Any]) -> str:
    """Draw both stacks of TwoStacks, the oldest partial at the left: aggregates in front, partials at the back.

    >>> from muntin import agg
    >>> from muntin.incremental.twostacks import TwoStacks
    >>> window = TwoStacks(agg.max)
    >>> for price in (3, 9, 4, 1):
    ...     window.insert(price)
    >>> window.evict()
    >>> window.insert(7)
    >>> "TwoStacks: 3 in front, 1 at the back; both tops make 9" in draw_stacks(window)
    True
    """
    # Of the front the top is the oldest, which leaves first; of the back it is the newest.
    front, back = window.front[::-1], window.back
    wide, _ = _BOX
    marks: list[str] = []
    x = 0.0
    for name, held, kind in (("front: to its end", front, "mu-box"), ("back: one by one", back, "mu-source")):
        marks.append(f'<text class="mu-small" x="{px(x)}" y="{px(_HEAD + 6)}">{name}</text>')
        start = x
        for each in held:
            marks.append(_box(x, _HEAD + 14, each, kind))
            x += wide + _GAP
        x = max(x, start + columns(name) * 7) + _GAP
    title = f"TwoStacks: {len(front)} in front, {len(back)} at the back"
    if len(window):
        title += f"; both tops make {_text(window.query())}"
    told = f"front {_said(front)}; back {_said(back)}"
    return _element(title, told, max(x - 2 * _GAP, columns(title) * WIDE), _HEAD + 14 + _BOX[1], marks)


def _box(x: float, y: float, held: object, kind: str) -> str:
    wide, high = _BOX
    rect = f'<rect class="{kind}" x="{px(x)}" y="{px(y)}" width="{px(wide)}" height="{px(high)}" rx="5"/>'
    text = f'<text text-anchor="middle" x="{px(x + wide / 2)}" y="{px(y + 17)}">{escape(_text(held))}</text>'
    return rect + text


def _text(held: object) -> str:
    return "⊥" if held is EMPTY else cut(clean(str(held)), _TEXT)


def _said(held: Sequence[object]) -> str:
    return ", ".join(map(_text, held)) or "empty"


def _element(title: str, told: str, width: float, height: float, marks: Sequence[str]) -> str:
    head = f'<text class="mu-head" x="0" y="12">{escape(title)}</text>'
    return element(Drawing(width, height, (head, *marks)), title, told, margin=_MARGIN)
