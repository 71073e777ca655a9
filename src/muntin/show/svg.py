"""A plan as SVG: for each group of aggregates, the windows before and after."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from muntin.show.draw import NARROW, WIDE, Drawing, draw_after, draw_before, px
from muntin.show.label import columns, wrap
from muntin.show.model import view
from muntin.show.number import number
from muntin.show.palette import drawing_style

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muntin.logical.plan import Plan
    from muntin.show.model import GroupView, PlanView

_MARGIN: Final = 24
_BETWEEN: Final = 56
_LEAST: Final = 640  # width of the page at least, for the title
_CAPTION: Final = 400  # width of the captions at least
_TOLD: Final = 40  # windows at most in the description


def to_svg(plan: Plan, *, stacked: bool = False) -> str:
    """Draw a plan as an image that stands alone, on white; after beside before, or `stacked` below it.

    >>> from muntin import agg, optimize, tumbling
    >>> to_svg(optimize([tumbling("20m")], agg.min)).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    shown = view(plan, before=True)
    several = len(shown.groups) > 1
    blocks = [_block(group, several=several, stacked=stacked) for group in shown.groups]
    width = max(_LEAST, *(block.width for block in blocks))
    reason = [] if several else [(shown.groups[0].reason, False)]
    head = _lines([(shown.title, True), (f"{shown.optimizer}: {totals(shown)}", False), *reason], width)
    page = _stacked([head, *blocks], 28)
    words = "; ".join(f"{', '.join(group.aggregates)}: {told(group)}" for group in shown.groups)
    return element(page, f"muntin plan: {shown.title}", words, margin=_MARGIN, style=drawing_style())


def element(drawing: Drawing, title: str, description: str, *, margin: float = 2, style: str = "") -> str:
    """Wrap marks into an svg element; with a style of its own it stands alone."""
    width, height = px(drawing.width + 2 * margin), px(drawing.height + 2 * margin)
    corner = px(-margin)
    paper = f'<rect class="mu-paper" x="{corner}" y="{corner}" width="{width}" height="{height}"/>'
    own = [f"<style>\n{style}</style>", paper] if style else []
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mu-draw" role="img" aria-label="{escape(title)}" '
        f'viewBox="{corner} {corner} {width} {height}" width="{width}" height="{height}">'
    )
    told = [f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>"]
    return "\n".join([start, *told, *own, *drawing.marks, "</svg>"])


def totals(shown: PlanView | GroupView) -> str:
    """Say what was read, what is read now, and what is proved."""
    read = f"{number(shown.baseline)} items read before, {number(shown.cost)} after"
    return ", ".join(filter(None, [read, shown.saving, shown.proof]))


def told(group: GroupView) -> str:
    """Describe a forest in words, for those who cannot see it."""
    nodes = group.after.nodes
    words = [
        f"{node.shape.label}{' (factor window)' if node.factor else ''} reads {number(node.reads)} of {node.reads_from}"
        for node in nodes[:_TOLD]
    ]
    rest = len(nodes) - len(words)
    return ", ".join(words + ([f"and {number(rest)} more"] if rest else []))


def before_caption(group: GroupView) -> str:
    """Say what the drawing before shows."""
    if not group.before.edges:
        return "Each window reads the events; none covers another."
    arcs = "arcs: nearest covers only" if group.before.reduced else "arcs show what covers what"
    return f"Each window reads the events; {arcs}."


def after_caption(group: GroupView) -> str:
    """Say what the drawing after shows."""
    if any(node.factor for node in group.after.nodes):
        return "Dashed: factor windows, computed only to be read by others."
    return "Each window reads the cheapest of what it can read."


def _block(group: GroupView, *, several: bool, stacked: bool) -> Drawing:
    before = _panel(draw_before(group), f"before: {number(group.baseline)} items", before_caption(group))
    after = _panel(draw_after(group), f"after: {number(group.cost)} items", after_caption(group))
    if stacked:
        pair = _stacked([before, after], 28)
    else:
        marks = (*before.marks, _moved(after, before.width + _BETWEEN, 0))
        pair = Drawing(before.width + _BETWEEN + after.width, max(before.height, after.height), marks)
    if not several:
        return pair
    said = [(f"{', '.join(group.aggregates)}: {totals(group)}", True), (group.reason, False)]
    return _stacked([_lines(said, max(pair.width, _LEAST)), pair], 18)


def _panel(drawing: Drawing, heading: str, caption: str) -> Drawing:
    return _stacked([_lines([(heading, True), (caption, False)], max(drawing.width, _CAPTION)), drawing], 12)


def _lines(texts: Iterable[tuple[str, bool]], width: float) -> Drawing:
    """Set lines of text, strong or small, wrapped to a width."""
    marks: list[str] = []
    y, widest = 0.0, 0.0
    for text, strong in texts:
        size = WIDE if strong else NARROW
        for line in wrap(text, int(width / size)):
            y += 19 if strong else 16
            widest = max(widest, columns(line) * size)
            kind = "mu-head" if strong else "mu-small"
            marks.append(f'<text class="{kind}" x="0" y="{px(y - 5)}">{escape(line)}</text>')
    return Drawing(widest, y, tuple(marks))


def _stacked(drawings: Iterable[Drawing], gap: float) -> Drawing:
    """Put drawings below one another."""
    marks: list[str] = []
    y, widest = 0.0, 0.0
    for drawing in drawings:
        marks.append(_moved(drawing, 0, y))
        widest = max(widest, drawing.width)
        y += drawing.height + gap
    return Drawing(widest, y - gap, tuple(marks))


def _moved(drawing: Drawing, x: float, y: float) -> str:
    return f'<g transform="translate({px(x)} {px(y)})">\n' + "\n".join(drawing.marks) + "\n</g>"
