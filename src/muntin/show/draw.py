"""The two drawings of a group: before, each window reads the events; after, the forest that was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Final

from muntin.show.label import columns, cut
from muntin.show.layout import SOURCE, Box, Layout, column, indented, tree
from muntin.show.model import WHOLE_GRAPH, EdgeView
from muntin.show.number import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from muntin.logical.cost import Number
    from muntin.show.model import GraphView, GroupView, NodeView

# The widest of the common monospaced fonts, at 13 and 11 pixels: text fits its box in all of them.
WIDE: Final = 13 * 0.61
NARROW: Final = 11 * 0.61
_PAD: Final = 10
_BETWEEN: Final = 16
_LABEL: Final = 20  # columns at most
_NAME: Final = 24
_DIGITS: Final = 9
_COST_DIGITS: Final = 12
_ARCS: Final = 230  # width at most of the arcs beside the column
_LAYERED: Final = 1000  # width from which on a forest is drawn as an indented list
_INDENTS: Final = 1400  # width at most of all indents together
_TURN: Final = 8.0
_LEGIBLE: Final = 14  # distance between arcs from which on they carry their multiplier


@dataclass(frozen=True, slots=True)
class Drawing:
    """Marks on a rectangle that starts at 0, 0."""

    width: float
    height: float
    marks: tuple[str, ...]


def draw_before(group: GroupView) -> Drawing:
    """Draw the windows in one column, each reading the events, with arcs from those that cover them."""
    nodes, edges = group.before.nodes, group.before.edges
    sources = [EdgeView(None, node.id, node.reads) for node in nodes]
    layout = _column(nodes, sources)
    place: dict[str | None, int] = {node.id: i for i, node in enumerate(nodes)}
    spans = [place[edge.child] - place[edge.parent] for edge in edges]
    step = min(26.0, _ARCS / max(spans, default=1))
    arcs = [_arc(layout, edge, step * span + 4) for edge, span in zip(edges, spans, strict=True)]
    tags: list[str] = []
    width = layout.width + (step * max(spans) + 6 if spans else 0)
    if step >= _LEGIBLE and spans:
        tags = [_arc_tag(layout, edge, step * span + 4) for edge, span in zip(edges, spans, strict=True)]
        width += max(len(times_sign(edge.reads)) for edge in edges) * NARROW
    marks = [*arcs, *_ways(layout, sources), *tags, *_boxes(nodes, layout, group)]
    return Drawing(width, layout.height, tuple(marks))


def draw_after(group: GroupView) -> Drawing:
    """Draw the forest to the right of the events, with what each window reads on the way to it."""
    layout = _forest(group.after)
    ways = _ways(layout, group.after.edges)
    return Drawing(layout.width, layout.height, (*ways, *_boxes(group.after.nodes, layout, group)))


def times_sign(reads: Number) -> str:
    """Write a multiplier.

    >>> times_sign(2)
    '×2'
    """
    return f"×{number(reads, _DIGITS)}"


def px(value: float) -> str:
    """Write a coordinate.

    >>> px(12.0), px(123456.25)
    ('12', '123456.2')
    """
    return f"{value:.1f}".removesuffix(".0")


def _column(nodes: Sequence[NodeView], sources: Sequence[EdgeView]) -> Layout:
    width, gap = max(map(_box_width, nodes)), _gap(sources)
    # The events stay in sight at the top of a long column.
    return indented(nodes, width, gap) if len(nodes) > WHOLE_GRAPH else column(nodes, width, gap)


def _forest(graph: GraphView) -> Layout:
    depths = range(max(node.depth for node in graph.nodes) + 1)
    widths, gaps = [0.0 for _ in depths], [0.0 for _ in depths]
    for node, edge in zip(graph.nodes, graph.edges, strict=True):
        widths[node.depth] = max(widths[node.depth], _box_width(node))
        gaps[node.depth] = max(gaps[node.depth], _gap([edge]))
    if SOURCE + sum(widths) + sum(gaps) <= _LAYERED:
        return tree(graph.nodes, widths, gaps)
    return indented(graph.nodes, max(widths), min(max(gaps), _INDENTS / len(depths)))


def _gap(edges: Iterable[EdgeView]) -> float:
    """Leave room for the longest multiplier on the way."""
    return 40 + max(len(times_sign(edge.reads)) for edge in edges) * NARROW


def _box_width(node: NodeView) -> float:
    label, cost, name, product = _words(node)
    first = (columns(label) + columns(cost)) * WIDE
    second = (columns(name) + columns(product)) * NARROW
    return round(max(first, second) + _BETWEEN + 2 * _PAD)


def _words(node: NodeView) -> tuple[str, str, str, str]:
    parts = ([node.copies] if node.copies > 1 else []) + [node.instances, node.reads]
    product = " × ".join(number(part, _DIGITS) for part in parts)
    return cut(node.shape.label, _LABEL), number(node.cost, _COST_DIGITS), cut(node.name, _NAME), product


def _boxes(nodes: Iterable[NodeView], layout: Layout, group: GroupView) -> Iterator[str]:
    # Bars before and after have one scale, so that they can be compared.
    most = max(node.cost for graph in (group.before, group.after) for node in graph.nodes)
    source = layout.boxes[None]
    yield (
        f'<rect class="mu-source" x="{px(source.x)}" y="{px(source.y)}" width="{px(source.width)}" '
        f'height="{px(source.height)}" rx="{px(source.height / 2)}"/>'
        f'<text x="{px(source.x + source.width / 2)}" y="{px(source.middle + 4)}" text-anchor="middle">events</text>'
    )
    for node in nodes:
        yield _box(node, layout.boxes[node.id], most)


def _box(node: NodeView, box: Box, most: Number) -> str:
    label, cost, name, product = _words(node)
    left, right = px(box.x + _PAD), px(box.right - _PAD)
    bar = max(1.0, int(Fraction(node.cost) / Fraction(most) * 1000) / 1000 * (box.width - 2 * _PAD))
    hint = f"{node.shape.label} {', '.join(node.ids) if node.factor else node.name}"
    told = f"{number(node.instances)} × {number(node.reads)} items from {node.reads_from}, {node.share} of the cost"
    kind = "mu-factor" if node.factor else "mu-box"
    return (
        f"<g><title>{escape(f'{hint}: {told}')}</title>"
        f'<rect class="{kind}" x="{px(box.x)}" y="{px(box.y)}" width="{px(box.width)}" height="{px(box.height)}" '
        'rx="6"/>'
        f'<text class="mu-head" x="{left}" y="{px(box.y + 17)}">{escape(label)}</text>'
        f'<text class="mu-end" x="{right}" y="{px(box.y + 17)}">{escape(cost)}</text>'
        f'<text class="mu-small" x="{left}" y="{px(box.y + 32)}">{escape(name)}</text>'
        f'<text class="mu-small mu-end" x="{right}" y="{px(box.y + 32)}">{escape(product)}</text>'
        f'<rect class="{"mu-costly" if node.factor else "mu-bar"}" x="{left}" y="{px(box.y + box.height - 6)}" '
        f'width="{px(bar)}" height="2.5"/></g>'
    )


def _ways(layout: Layout, edges: Iterable[EdgeView]) -> Iterator[str]:
    reached: dict[str | None, float] = {}
    for edge in edges:
        start, end = layout.boxes[edge.parent], layout.boxes[edge.child]
        if layout.indented:
            # A stem goes on where the one to the child above ended: drawn over one another they would look bolder.
            yield _elbow(start, end, reached.get(edge.parent, start.y + start.height)) + _arrival(end, edge)
            reached[edge.parent] = end.middle - _TURN
        else:
            yield _curve(start, end, edge) + _arrival(end, edge)


def _curve(start: Box, end: Box, edge: EdgeView) -> str:
    # The bend comes before the multiplier, which then stands above a level line.
    level = end.x - 12 - len(times_sign(edge.reads)) * NARROW
    bend = (start.right + level) / 2
    return (
        f'<path class="mu-edge" d="M{px(start.right)} {px(start.middle)}C{px(bend)} {px(start.middle)} '
        f'{px(bend)} {px(end.middle)} {px(level)} {px(end.middle)}H{px(end.x - 5)}"/>'
    )


def _elbow(start: Box, end: Box, top: float) -> str:
    stem = start.x + min(18.0, (end.x - start.x) / 2)
    turn = min(_TURN, end.x - stem)
    return (
        f'<path class="mu-edge" d="M{px(stem)} {px(top)}V{px(end.middle - _TURN)}'
        f'q0 {px(_TURN)} {px(turn)} {px(_TURN)}H{px(end.x - 5)}"/>'
    )


def _arrival(end: Box, edge: EdgeView) -> str:
    """Draw the tip of an arrow, and before it how many items come that way."""
    return (
        f'<path class="mu-tip" d="M{px(end.x)} {px(end.middle)}l-7 -3.5v7z"/>'
        f'<text class="mu-tag mu-end" x="{px(end.x - 9)}" y="{px(end.middle - 4)}">{times_sign(edge.reads)}</text>'
    )


def _arc(layout: Layout, edge: EdgeView, reach: float) -> str:
    start, end = layout.boxes[edge.parent], layout.boxes[edge.child]
    # A cubic whose two handles lie at one distance reaches three quarters of it.
    handle = px(start.right + reach * 4 / 3)
    top, bottom = start.middle + 9, end.middle - 9
    return (
        f'<path class="mu-arc" d="M{px(start.right)} {px(top)}C{handle} {px(top)} {handle} {px(bottom)} '
        f'{px(end.right + 5)} {px(bottom)}"/>'
        f'<path class="mu-faint" d="M{px(end.right)} {px(bottom)}l7 -3v6z"/>'
    )


def _arc_tag(layout: Layout, edge: EdgeView, reach: float) -> str:
    start, end = layout.boxes[edge.parent], layout.boxes[edge.child]
    x, y = start.right + reach - 3, (start.middle + end.middle) / 2 + 4
    return f'<text class="mu-tag mu-quiet" x="{px(x)}" y="{px(y)}">{times_sign(edge.reads)}</text>'
