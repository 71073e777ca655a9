"""Where boxes go: a tidy tree that grows to the right, an indented one for deep plans, and a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from muntin.show.model import NodeView

HEIGHT: Final = 44
ROW: Final = HEIGHT + 12
SOURCE: Final = 68  # width of the box of the events


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float = HEIGHT

    @property
    def right(self) -> float:
        """The x of the right side."""
        return self.x + self.width

    @property
    def middle(self) -> float:
        """The y of the horizontal axis."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Layout:
    """The box of every window by id, that of the events under None, and the size of it all."""

    boxes: Mapping[str | None, Box]
    width: float
    height: float
    indented: bool = False


def tree(nodes: Sequence[NodeView], widths: Sequence[float], gaps: Sequence[float]) -> Layout:
    """Lay out a forest, events first: each leaf has a row of its own, each parent the middle of its children.

    `nodes` come parents first; `widths` are those of the boxes at each depth, `gaps` those of the ways to them.
    """
    children: dict[str | None, list[str]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node.id)
    rows: dict[str | None, float] = {}
    leaves = 0
    for node in nodes:
        if node.id not in children:
            rows[node.id] = leaves
            leaves += 1
    for node in reversed(nodes):
        if node.id in children:
            rows[node.id] = _centre(rows, children[node.id])
    starts = [SOURCE + gaps[0]]
    for width, gap in zip(widths, gaps[1:], strict=False):
        starts.append(starts[-1] + width + gap)
    boxes: dict[str | None, Box] = {
        node.id: Box(starts[node.depth], rows[node.id] * ROW, widths[node.depth]) for node in nodes
    }
    boxes[None] = Box(0, _centre(rows, children[None]) * ROW, SOURCE)
    return Layout(boxes, starts[-1] + widths[-1], leaves * ROW - (ROW - HEIGHT))


def indented(nodes: Sequence[NodeView], width: float, step: float) -> Layout:
    """Lay out a forest as a list, events first: each window has a row of its own, a step to the right of its parent."""
    boxes: dict[str | None, Box] = {
        node.id: Box(step * (node.depth + 1), (place + 1) * ROW, width) for place, node in enumerate(nodes)
    }
    boxes[None] = Box(0, 0, SOURCE)
    deepest = max(node.depth for node in nodes)
    return Layout(boxes, step * (deepest + 1) + width, len(nodes) * ROW + HEIGHT, indented=True)


def column(nodes: Sequence[NodeView], width: float, gap: float) -> Layout:
    """Lay out windows below one another, to the right of the events."""
    boxes: dict[str | None, Box] = {node.id: Box(SOURCE + gap, place * ROW, width) for place, node in enumerate(nodes)}
    boxes[None] = Box(0, (len(nodes) - 1) / 2 * ROW, SOURCE)
    return Layout(boxes, SOURCE + gap + width, len(nodes) * ROW - (ROW - HEIGHT))


def _centre(rows: Mapping[str | None, float], ids: Sequence[str]) -> float:
    return (rows[ids[0]] + rows[ids[-1]]) / 2
